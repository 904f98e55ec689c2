//! Which failure ends with which code. One function per error type of the workspace; the first error of a
//! chain that is known decides.

use std::{error::Error, process::ExitCode};

use specimen_convert::ConvertError;
use specimen_datasets::DatasetError;
use specimen_experiments::{
    error::{Fault, PlanError, SpecError},
    place::Place,
};
use specimen_hub::HubError;
use specimen_measure::MeasureError;
use specimen_record::RecordError;
use specimen_report::ReportError;
use specimen_verdicts::VerdictError;

#[cfg(feature = "torch")]
mod torch;

/// How the program ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Code {
    /// All is well.
    Ok = 0,
    /// Two results that should be equal are not.
    Mismatch = 1,
    /// The arguments make no sense.
    Usage = 2,
    /// The spec or the plan is invalid.
    Spec = 3,
    /// Data or weights are missing, damaged, or not what was published.
    Missing = 4,
    /// Some items failed; the rest is valid.
    Failed = 5,
    /// The machine: libtorch, device, disk.
    Environment = 6,
    /// Another process works on the run.
    Locked = 7,
    /// A bug.
    Internal = 70,
    /// Stopped halfway; what is there can be resumed.
    Interrupted = 75,
    /// Stopped at once by a second interrupt.
    Aborted = 130,
}

impl Code {
    const ALL: [Self; 11] = [
        Self::Ok,
        Self::Mismatch,
        Self::Usage,
        Self::Spec,
        Self::Missing,
        Self::Failed,
        Self::Environment,
        Self::Locked,
        Self::Internal,
        Self::Interrupted,
        Self::Aborted,
    ];

    /// The code with which another process of this program ended; a bug if it is none of ours.
    #[must_use]
    pub fn of_exit(code: Option<i32>) -> Self {
        Self::ALL.into_iter().find(|known| code == Some(*known as i32)).unwrap_or(Self::Internal)
    }
}

impl From<Code> for ExitCode {
    fn from(code: Code) -> Self {
        Self::from(code as u8)
    }
}

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

/// The code of a failure: that of the first error in its chain whose type is known, else
/// [`Internal`](Code::Internal).
#[must_use]
pub fn code_of(error: &anyhow::Error) -> Code {
    error.chain().find_map(of_cause).unwrap_or(Code::Internal)
}

fn of_cause(cause: &(dyn Error + 'static)) -> Option<Code> {
    #[cfg(feature = "torch")]
    if let Some(code) = torch::of_cause(cause) {
        return Some(code);
    }
    let known = [
        cause.downcast_ref().map(of_cli),
        cause.downcast_ref().map(of_spec),
        cause.downcast_ref::<PlanError>().map(|_| Code::Spec),
        cause.downcast_ref().map(of_dataset),
        cause.downcast_ref().map(of_record),
        cause.downcast_ref().map(of_report),
        cause.downcast_ref().and_then(of_measure),
        cause.downcast_ref().map(of_convert),
        cause.downcast_ref().map(of_hub),
        cause.downcast_ref().map(of_verdict),
        cause.downcast_ref::<std::io::Error>().map(|_| Code::Environment),
    ];
    known.into_iter().flatten().next()
}

fn of_cli(error: &CliError) -> Code {
    match error {
        CliError::Usage(_) => Code::Usage,
        CliError::Spec(_) => Code::Spec,
        CliError::Missing(_) => Code::Missing,
        CliError::Failed(_) => Code::Failed,
        CliError::Environment(_) => Code::Environment,
        CliError::Mismatch(_) => Code::Mismatch,
    }
}

/// An override that leads nowhere is a mistake in the command, a value out of range one in the experiment.
fn of_spec(error: &SpecError) -> Code {
    match (&error.place, &*error.fault) {
        (Place::Argument(_), Fault::BadArgument { .. } | Fault::NoSuchPath { .. }) => Code::Usage,
        _ => Code::Spec,
    }
}

fn of_dataset(error: &DatasetError) -> Code {
    match error {
        DatasetError::UnknownName { .. } | DatasetError::BadOption { .. } => Code::Spec,
        _ => Code::Missing,
    }
}

fn of_record(error: &RecordError) -> Code {
    match error {
        RecordError::Io { source, .. } if source.kind() == std::io::ErrorKind::NotFound => Code::Missing,
        RecordError::Io { .. } => Code::Environment,
        RecordError::RunExists { .. } => Code::Usage,
        RecordError::BadPlan { .. } => Code::Spec,
        RecordError::Conflict { .. } => Code::Mismatch,
        RecordError::NotARun { .. }
        | RecordError::NoSuchFolder { .. }
        | RecordError::TooLarge { .. }
        | RecordError::Syntax { .. }
        | RecordError::Inconsistent { .. }
        | RecordError::NewerSchema { .. }
        | RecordError::DigestMismatch { .. }
        | RecordError::NotInPlan { .. }
        | RecordError::WrongSeed { .. }
        | RecordError::Incomplete { .. }
        | RecordError::NotListed { .. }
        | RecordError::Gone { .. }
        | RecordError::NoChecksums { .. }
        | RecordError::NotSealed { .. }
        | RecordError::NumberTooLarge { .. }
        | RecordError::OtherPixels { .. }
        | RecordError::WrongCount { .. } => Code::Missing,
        _ => Code::Internal,
    }
}

fn of_report(error: &ReportError) -> Code {
    match error {
        ReportError::Record(error) => of_record(error),
        ReportError::NoSummary { .. }
        | ReportError::BadImage { .. }
        | ReportError::WrongSize { .. }
        | ReportError::Unlisted { .. }
        | ReportError::Unreadable { .. }
        | ReportError::BadCurve { .. }
        | ReportError::NotImages { .. }
        | ReportError::NoMark { .. } => Code::Missing,
        ReportError::TableFormat { .. } | ReportError::NoSource => Code::Usage,
        ReportError::Mixed { .. } | ReportError::SameRun { .. } => Code::Mismatch,
        ReportError::Stale { .. } => Code::Environment,
        _ => Code::Internal,
    }
}

fn of_convert(error: &ConvertError) -> Code {
    match error {
        ConvertError::Write { .. } => Code::Environment,
        _ => Code::Missing,
    }
}

fn of_hub(error: &HubError) -> Code {
    match error {
        HubError::Unknown(_) => Code::Usage,
        HubError::Answer { .. }
        | HubError::BrokenOff { .. }
        | HubError::Io { .. }
        | HubError::Unwritten(_) => Code::Environment,
        HubError::Offline { .. }
        | HubError::ByHand { .. }
        | HubError::Denied { .. }
        | HubError::NotFound { .. }
        | HubError::Mismatch { .. }
        | HubError::Archive { .. } => Code::Missing,
    }
}

fn of_verdict(error: &VerdictError) -> Code {
    match error {
        VerdictError::Record(error) => of_record(error),
        VerdictError::BadRules { .. }
        | VerdictError::IdleRule { .. }
        | VerdictError::NothingToTune
        | VerdictError::RungTooSmall { .. }
        | VerdictError::TooFewPrompts { .. } => Code::Spec,
        VerdictError::OtherExperiment { .. }
        | VerdictError::OtherTable { .. }
        | VerdictError::OtherSeeds { .. }
        | VerdictError::NothingToCompare { .. } => Code::Mismatch,
        VerdictError::NoSuchPaper { .. }
        | VerdictError::Unresolved { .. }
        | VerdictError::NoSuchCell { .. }
        | VerdictError::NoPair { .. }
        | VerdictError::AmbiguousPair { .. }
        | VerdictError::NoSuchTable { .. }
        | VerdictError::NoTwin { .. } => Code::Usage,
        VerdictError::Io { .. } | VerdictError::ForeignSpec { .. } => Code::Missing,
        _ => Code::Internal,
    }
}

/// What is wrong with a network says its own error, further down the chain.
fn of_measure(error: &MeasureError) -> Option<Code> {
    Some(match error {
        MeasureError::UnknownProtocol { .. }
        | MeasureError::TableFormat { .. }
        | MeasureError::NoRule { .. }
        | MeasureError::Setting { .. }
        | MeasureError::NeedsCaptions { .. }
        | MeasureError::OtherLayer { .. }
        | MeasureError::NotConverted { .. }
        | MeasureError::NeedsRows { .. }
        | MeasureError::NeedsPictures { .. } => Code::Usage,
        MeasureError::Protocol { .. } => Code::Spec,
        MeasureError::Network { .. } => return None,
        MeasureError::NoNetworks { .. } => Code::Environment,
        MeasureError::Io { action: "read", .. } => Code::Missing,
        MeasureError::Io { .. } => Code::Environment,
        _ => Code::Missing,
    })
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
    fn the_codes_are_those_of_the_manual() {
        let codes = [Code::Ok, Code::Mismatch, Code::Usage, Code::Spec, Code::Missing, Code::Failed];
        assert_eq!(codes.map(|code| code as u8), [0, 1, 2, 3, 4, 5]);
        let codes = [Code::Environment, Code::Locked, Code::Internal, Code::Interrupted, Code::Aborted];
        assert_eq!(codes.map(|code| code as u8), [6, 7, 70, 75, 130]);
        assert_eq!(Code::ALL.map(|code| Code::of_exit(Some(code as i32))), Code::ALL);
        assert_eq!([None, Some(42)].map(Code::of_exit), [Code::Internal; 2]);
    }

    #[test]
    fn a_spec_that_cannot_be_read_or_parsed_is_an_invalid_spec() {
        let absent = SpecText::read("no/such/spec.toml".as_ref()).expect_err("the file is absent");
        assert_eq!(code_of(&absent.into()), Code::Spec);
        let broken = SpecText::parse("s.toml", "name = ").expect_err("the text is not TOML");
        assert_eq!(code_of(&broken.into()), Code::Spec);
    }

    #[test]
    fn each_kind_of_failure_has_its_code() {
        let absent = DatasetError::Absent { what: "d".into(), remedy: "fetch it".into() };
        let unknown = DatasetError::UnknownName { name: "cocoa".into(), hint: "did you mean coco?".into() };
        let write = RecordError::Io { path: "a".into(), action: "write", source: io() };
        let no_run = RecordError::NotARun { path: "a".into(), missing: "manifest.json" };
        let there = RecordError::RunExists { path: "a".into(), found: "plan.json" };
        let cases: [(anyhow::Error, Code); 9] = [
            (absent.into(), Code::Missing),
            (unknown.into(), Code::Spec),
            (ReportError::Record(write).into(), Code::Environment),
            (no_run.into(), Code::Missing),
            (there.into(), Code::Usage),
            (ReportError::NoSummary { path: "a".into() }.into(), Code::Missing),
            (CliError::Usage("no".into()).into(), Code::Usage),
            (io().into(), Code::Environment),
            (anyhow!("an invariant that nobody named"), Code::Internal),
        ];
        for (error, code) in cases {
            assert_eq!(code_of(&error), code, "{error}");
        }
    }

    #[test]
    fn context_around_an_error_does_not_change_its_code() {
        let error = Err::<(), _>(CliError::Missing("gone".into())).context("report").context("run");
        assert_eq!(code_of(&error.expect_err("it was an error")), Code::Missing);
    }
}
