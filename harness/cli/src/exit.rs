//! Which failure ends the program with which code: the kind that the first error of its chain states.

use std::error::Error;

use specimen_catalog::{citation::UnknownWork, convert::ConvertError, entry::UnknownName, hub::HubError};
use specimen_datasets::DatasetError;
use specimen_experiments::error::{PlanError, SpecError};
use specimen_foundation::failure::{Failure, FailureKind, FailureMessage};
use specimen_measure::MeasureError;
use specimen_record::RecordError;
use specimen_report::ReportError;

use {
    specimen_extract::{extractor::ExtractError, weights_lookup::LookupError},
    specimen_models::seam::model_error::ModelError,
    specimen_runner::error::RunError,
    specimen_weights::{LoadError, cuda::CudaError},
};

/// Reads the kind from a cause of one type; absent for a cause of another type.
type KindOf = fn(&(dyn Error + 'static)) -> Option<FailureKind>;

/// One line for every type of the workspace that is a [`Failure`]; `harness/tidy` compares the list with the sources.
const TYPES: &[KindOf] = &[
    kind_as::<FailureMessage>,
    kind_as::<SpecError>,
    kind_as::<PlanError>,
    kind_as::<DatasetError>,
    kind_as::<RecordError>,
    kind_as::<ReportError>,
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
    use specimen_foundation::failure;

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
        let no_run = failure!(Missing: "no run");
        let cases: [(anyhow::Error, FailureKind); 8] = [
            (absent.into(), FailureKind::Missing),
            (unknown.into(), FailureKind::Spec),
            (ReportError::Record(write).into(), FailureKind::Environment),
            (no_run.into(), FailureKind::Missing),
            (failure!(Usage: "no column").into(), FailureKind::Usage),
            (failure!(Usage: "no").into(), FailureKind::Usage),
            (io().into(), FailureKind::Environment),
            (anyhow!("an invariant that has no name"), FailureKind::Bug),
        ];
        for (error, kind) in cases {
            assert_eq!(kind_of(&error), kind, "{error}");
        }
    }

    #[test]
    fn context_around_an_error_does_not_change_its_kind() {
        let error = Err::<(), _>(failure!(Missing: "gone")).context("report").context("run");
        assert_eq!(kind_of(&error.expect_err("it was an error")), FailureKind::Missing);
    }

    #[test]
    fn each_failure_of_a_run_has_its_kind() {
        let weights =
            || LoadError::Malformed { path: "a.safetensors".into(), n_bytes: 7, reason: "cut".into() };
        let network =
            |error: ExtractError| MeasureError::Network { network: "n".into(), source: error.into() };
        let stated = || failure!(Spec: "no drafter");
        let cases: [(anyhow::Error, FailureKind); 9] = [
            (weights().into(), FailureKind::Missing),
            (RunError::Model(weights().into()).into(), FailureKind::Missing),
            (ExtractError::from(weights()).into(), FailureKind::Missing),
            (network(stated().into()).into(), FailureKind::Spec),
            (RunError::Measure(Box::new(network(weights().into()))).into(), FailureKind::Missing),
            (RunError::from(stated()).into(), FailureKind::Spec),
            (RunError::Interrupted.into(), FailureKind::Interrupted),
            (RunError::Aborted.into(), FailureKind::Aborted),
            (RunError::Locked { path: "lock".into(), holder: "12".into() }.into(), FailureKind::Locked),
        ];
        for (error, kind) in cases {
            assert_eq!(kind_of(&error), kind, "{error}");
        }
    }
}
