//! What a rehearsal found: one list, each entry with its remedy, and the exit code that follows from it.

use std::collections::BTreeMap;

use serde::Serialize;
use specimen_foundation::failure::FailureKind;
use specimen_foundation::text::counted;

use crate::exit::CliError;

/// Kinds of findings, the one that decides the exit code first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Kind {
    /// A cell that no plan takes.
    Refused,
    /// A file that is not on this machine.
    Missing,
    /// A cell, metric, diagnostic or model at full width that failed in the rehearsal.
    Failed,
    /// Too little memory or disk space.
    TooLittle,
    /// A claim that a run of this spec cannot decide.
    Undecidable,
}

impl Kind {
    /// As the list names it.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::Missing => "missing",
            Self::Failed => "failed",
            Self::TooLittle => "too little",
            Self::Undecidable => "undecidable",
        }
    }

    fn failure(self) -> FailureKind {
        match self {
            Self::Refused => FailureKind::Spec,
            Self::Missing => FailureKind::Missing,
            Self::Failed => FailureKind::Failed,
            Self::TooLittle => FailureKind::Environment,
            Self::Undecidable => FailureKind::Mismatch,
        }
    }
}

/// Something that would have stopped the run, or left a question of it open.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Finding {
    pub(crate) kind: Kind,
    /// What it is about.
    pub(crate) what: String,
    /// Why, and what to do.
    pub(crate) remedy: String,
}

impl Finding {
    pub(crate) fn new(kind: Kind, what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { kind, what: what.into(), remedy: remedy.into() }
    }
}

/// The findings as an error of the first kind among them, in the order of [`Kind`]; `Ok` where there are none.
pub(crate) fn checked(findings: &[Finding]) -> Result<(), CliError> {
    let Some(first) = findings.iter().map(|finding| finding.kind).min() else { return Ok(()) };
    let mut counts: BTreeMap<Kind, usize> = BTreeMap::new();
    for finding in findings {
        *counts.entry(finding.kind).or_default() += 1;
    }
    let counts: Vec<String> = counts.iter().map(|(kind, n)| format!("{n} {}", kind.word())).collect();
    let said = format!("{}: {}", counted(findings.len(), "finding"), counts.join(", "));
    Err(match first.failure() {
        FailureKind::Spec => CliError::Spec(said),
        FailureKind::Missing => CliError::Missing(said),
        FailureKind::Failed => CliError::Failed(said),
        FailureKind::Environment => CliError::Environment(said),
        _ => CliError::Mismatch(said),
    })
}

#[cfg(test)]
mod tests {
    use specimen_foundation::failure::Failure;

    use super::*;

    #[test]
    fn the_gravest_finding_decides_the_exit_code_and_all_are_counted() {
        let of = |kinds: &[Kind]| kinds.iter().map(|kind| Finding::new(*kind, "w", "r")).collect::<Vec<_>>();
        assert!(checked(&[]).is_ok());
        let cases: [(&[Kind], u8, &str); 5] = [
            (&[Kind::Undecidable], 1, "1 finding: 1 undecidable"),
            (&[Kind::Undecidable, Kind::TooLittle], 6, "2 findings: 1 too little, 1 undecidable"),
            (&[Kind::TooLittle, Kind::Failed], 5, "2 findings: 1 failed, 1 too little"),
            (&[Kind::Failed, Kind::Missing, Kind::Missing], 4, "3 findings: 2 missing, 1 failed"),
            (&[Kind::Missing, Kind::Refused], 3, "2 findings: 1 refused, 1 missing"),
        ];
        for (kinds, code, said) in cases {
            let Err(error) = checked(&of(kinds)) else { panic!("{kinds:?} are findings") };
            let found = error.kind().map(FailureKind::exit_code);
            assert_eq!((found, error.to_string().as_str()), (Some(code), said));
        }
    }
}
