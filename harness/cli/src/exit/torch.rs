//! The codes of failures that only occur where tensors are computed.

use std::error::Error;

use specimen_extract::{extractor::ExtractError, weights_lookup::LookupError};
use specimen_models::target::ModelError;
use specimen_runner::error::RunError;
use specimen_weights::LoadError;

use super::{Code, of_dataset, of_record};

pub(super) fn of_cause(cause: &(dyn Error + 'static)) -> Option<Code> {
    let known = [
        cause.downcast_ref().and_then(of_run),
        cause.downcast_ref().map(of_model),
        cause.downcast_ref().map(of_extract),
        cause.downcast_ref::<LoadError>().map(|_| Code::Missing),
        cause.downcast_ref::<LookupError>().map(|_| Code::Missing),
    ];
    known.into_iter().flatten().next()
}

/// The code of an error of the runner; absent where its cause decides.
fn of_run(error: &RunError) -> Option<Code> {
    Some(match error {
        RunError::Dataset(error) => of_dataset(error),
        RunError::Plan(_) | RunError::Spec(_) | RunError::OtherPlan { .. } => Code::Spec,
        RunError::OtherWeights { .. }
        | RunError::Damaged { .. }
        | RunError::OtherFile { .. }
        | RunError::WithoutSteps { .. }
        | RunError::Image(_)
        | RunError::OddSize(_) => Code::Missing,
        RunError::Model(error) => of_model(error),
        RunError::Extract(error) => of_extract(error),
        RunError::Measure(error) => return super::of_measure(error),
        RunError::Record(error) => of_record(error),
        RunError::Environment(_) | RunError::Io { .. } => Code::Environment,
        RunError::Exists { .. } => Code::Usage,
        RunError::Locked { .. } | RunError::Superseded { .. } => Code::Locked,
        RunError::Failed { .. } | RunError::FailedFast { .. } => Code::Failed,
        RunError::Interrupted => Code::Interrupted,
        RunError::Aborted => Code::Aborted,
        RunError::Replay { .. } => Code::Mismatch,
        RunError::Worker { code, .. } => Code::of_exit(*code),
        RunError::GivenUp { code, .. } => code.map_or(Code::Environment, |code| Code::of_exit(Some(code))),
        RunError::Stats(_) => Code::Internal,
    })
}

fn of_model(error: &ModelError) -> Code {
    match error {
        ModelError::Weights(_) | ModelError::Unfetched { .. } => Code::Missing,
        ModelError::Prompt { .. } | ModelError::Unknown { .. } => Code::Usage,
        ModelError::Drafter { .. } | ModelError::Sampling { .. } => Code::Spec,
        ModelError::NotKept { .. } => Code::Environment,
    }
}

fn of_extract(error: &ExtractError) -> Code {
    match error {
        ExtractError::Weights(_)
        | ExtractError::Lookup(_)
        | ExtractError::Vocabulary { .. }
        | ExtractError::Absent { .. } => Code::Missing,
        ExtractError::Layer { .. } => Code::Spec,
        ExtractError::Batch { .. } | ExtractError::Size { .. } | ExtractError::Caption { .. } => {
            Code::Internal
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit::code_of;

    fn weights() -> LoadError {
        LoadError::Malformed { path: "a.safetensors".into(), n_bytes: 7, reason: "cut".into() }
    }

    #[test]
    fn each_kind_of_failure_has_its_code() {
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
        let cases: [(anyhow::Error, Code); 13] = [
            (weights().into(), Code::Missing),
            (RunError::Model(weights().into()).into(), Code::Missing),
            (RunError::Extract(weights().into()).into(), Code::Missing),
            (prompt.into(), Code::Usage),
            (RunError::Model(drafter).into(), Code::Spec),
            (failed.into(), Code::Failed),
            (worker(None).into(), Code::Internal),
            (worker(Some(4)).into(), Code::Missing),
            (RunError::Interrupted.into(), Code::Interrupted),
            (RunError::Aborted.into(), Code::Aborted),
            (RunError::Environment("no GPU".into()).into(), Code::Environment),
            (RunError::Locked { path: "lock".into(), holder: "12".into() }.into(), Code::Locked),
            (RunError::Exists { path: "out".into() }.into(), Code::Usage),
        ];
        for (error, code) in cases {
            assert_eq!(code_of(&error), code, "{error}");
        }
    }
}
