//! Which failure ends the program with which code: the kind that the first error of its chain states.

use std::error::Error;

use specimen_catalog::{citation::UnknownWork, convert::ConvertError, entry::UnknownName, hub::HubError};
use specimen_datasets::DatasetError;
use specimen_experiments::error::{PlanError, SpecError};
use specimen_foundation::failure::{Failure, FailureKind};
use specimen_measure::MeasureError;
use specimen_record::RecordError;
use specimen_report::{ReportError, verdicts::VerdictError};

use {
    specimen_extract::{extractor::ExtractError, weights_lookup::LookupError},
    specimen_models::seam::model_error::ModelError,
    specimen_runner::error::RunError,
    specimen_train::error::TrainError,
    specimen_weights::{LoadError, cuda::CudaError},
};

/// A failure that a subcommand finds itself.
#[derive(Debug, thiserror::Error)]
pub enum CliError {
    /// Arguments that make no sense.
    #[error("{0}")]
    Usage(String),
    /// A spec that cannot be used.
    #[error("{0}")]
    Spec(String),
    /// Data that is not there or not what it should be.
    #[error("{0}")]
    Missing(String),
    /// Some items failed; what was answered is valid without them.
    #[error("{0}")]
    Failed(String),
    /// A machine that does not do what it should.
    #[error("{0}")]
    Environment(String),
    /// Results that are not what they should be.
    #[error("{0}")]
    Mismatch(String),
}

impl Failure for CliError {
    fn kind(&self) -> Option<FailureKind> {
        Some(match self {
            Self::Usage(_) => FailureKind::Usage,
            Self::Spec(_) => FailureKind::Spec,
            Self::Missing(_) => FailureKind::Missing,
            Self::Failed(_) => FailureKind::Failed,
            Self::Environment(_) => FailureKind::Environment,
            Self::Mismatch(_) => FailureKind::Mismatch,
        })
    }
}

/// Reads the kind from a cause of one type; absent for a cause of another type.
type KindOf = fn(&(dyn Error + 'static)) -> Option<FailureKind>;

/// One line for every type of the workspace that is a [`Failure`]; `harness/tidy` compares the list with the sources.
const TYPES: &[KindOf] = &[
    kind_as::<CliError>,
    kind_as::<SpecError>,
    kind_as::<PlanError>,
    kind_as::<DatasetError>,
    kind_as::<RecordError>,
    kind_as::<ReportError>,
    kind_as::<VerdictError>,
    kind_as::<MeasureError>,
    kind_as::<ConvertError>,
    kind_as::<HubError>,
    kind_as::<UnknownName>,
    kind_as::<UnknownWork>,
    kind_as::<std::io::Error>,
    kind_as::<RunError>,
    kind_as::<ModelError>,
    kind_as::<ExtractError>,
    kind_as::<LoadError>,
    kind_as::<CudaError>,
    kind_as::<TrainError>,
    kind_as::<LookupError>,
];

fn kind_as<E: Failure + 'static>(cause: &(dyn Error + 'static)) -> Option<FailureKind> {
    cause.downcast_ref::<E>().and_then(Failure::kind)
}

/// The kind of a failure: that of the first error in its chain that states one, else [`Bug`](FailureKind::Bug).
pub fn kind_of(error: &anyhow::Error) -> FailureKind {
    let of_cause = |cause| TYPES.iter().find_map(|kind| kind(cause));
    error.chain().find_map(of_cause).unwrap_or(FailureKind::Bug)
}

#[cfg(test)]
mod tests {
    use anyhow::{Context, anyhow};
    use specimen_experiments::parse::SpecText;

    use super::*;

    fn io() -> std::io::Error {
        std::io::ErrorKind::PermissionDenied.into()
    }

    #[test]
    fn a_spec_that_cannot_be_read_or_parsed_is_an_invalid_spec() {
        let absent = SpecText::read("no/such/spec.toml".as_ref()).expect_err("the file is absent");
        assert_eq!(kind_of(&absent.into()), FailureKind::Spec);
        let broken = SpecText::parse("s.toml", "name = ").expect_err("the text is not TOML");
        assert_eq!(kind_of(&broken.into()), FailureKind::Spec);
    }

    #[test]
    fn each_failure_has_its_kind() {
        let absent = DatasetError::Absent { what: "d".into(), remedy: "fetch it".into() };
        let unknown = DatasetError::UnknownName { name: "cocoa".into(), hint: "did you mean coco?".into() };
        let write = RecordError::Io { path: "a".into(), action: "write", source: io() };
        let no_run = RecordError::NotARun { path: "a".into(), missing: "manifest.json", runs: String::new() };
        let there = RecordError::RunExists { path: "a".into(), found: "plan.json" };
        let cases: [(anyhow::Error, FailureKind); 10] = [
            (absent.into(), FailureKind::Missing),
            (unknown.into(), FailureKind::Spec),
            (ReportError::Record(write).into(), FailureKind::Environment),
            (no_run.into(), FailureKind::Missing),
            (there.into(), FailureKind::Usage),
            (ReportError::NoSummary { path: "a".into() }.into(), FailureKind::Missing),
            (ReportError::NoColumn { name: "a".into(), known: "b".into() }.into(), FailureKind::Usage),
            (CliError::Usage("no".into()).into(), FailureKind::Usage),
            (io().into(), FailureKind::Environment),
            (anyhow!("an invariant that has no name"), FailureKind::Bug),
        ];
        for (error, kind) in cases {
            assert_eq!(kind_of(&error), kind, "{error}");
        }
    }

    #[test]
    fn context_around_an_error_does_not_change_its_kind() {
        let error = Err::<(), _>(CliError::Missing("gone".into())).context("report").context("run");
        assert_eq!(kind_of(&error.expect_err("it was an error")), FailureKind::Missing);
    }

    #[test]
    fn each_failure_of_a_run_has_its_kind() {
        let weights =
            || LoadError::Malformed { path: "a.safetensors".into(), n_bytes: 7, reason: "cut".into() };
        let prompt = ModelError::Prompt { model: "tiny".into(), reason: "unknown word".into() };
        let drafter =
            ModelError::Drafter { model: "igpt".into(), drafter: "eagle1".into(), known: "none".into() };
        let failed = RunError::Failed { n_failed: 1, n_items: 2, first: "a/0/0".into(), why: "no".into() };
        let worker = |code| RunError::Worker {
            shard: 0,
            status: "signal 9".into(),
            why: "no".into(),
            log: "w".into(),
            code,
        };
        let network =
            |error: ExtractError| MeasureError::Network { network: "n".into(), source: error.into() };
        let layer = ExtractError::Layer { network: "n", found: "a".into(), known: "b".into() };
        let cases: [(anyhow::Error, FailureKind); 15] = [
            (weights().into(), FailureKind::Missing),
            (RunError::Model(weights().into()).into(), FailureKind::Missing),
            (ExtractError::from(weights()).into(), FailureKind::Missing),
            (network(layer).into(), FailureKind::Spec),
            (RunError::Measure(Box::new(network(weights().into()))).into(), FailureKind::Missing),
            (prompt.into(), FailureKind::Usage),
            (RunError::Model(drafter).into(), FailureKind::Spec),
            (failed.into(), FailureKind::Failed),
            (worker(None).into(), FailureKind::Bug),
            (worker(Some(4)).into(), FailureKind::Missing),
            (RunError::Interrupted.into(), FailureKind::Interrupted),
            (RunError::Aborted.into(), FailureKind::Aborted),
            (RunError::Environment("no GPU".into()).into(), FailureKind::Environment),
            (RunError::Locked { path: "lock".into(), holder: "12".into() }.into(), FailureKind::Locked),
            (RunError::Exists { path: "out".into() }.into(), FailureKind::Usage),
        ];
        for (error, kind) in cases {
            assert_eq!(kind_of(&error), kind, "{error}");
        }
    }
}
