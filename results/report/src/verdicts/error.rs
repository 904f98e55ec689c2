//! What can go wrong while a run is compared with something else.

use std::path::PathBuf;

use specimen_foundation::failure::{Failure, FailureKind};
use specimen_record::RecordError;
use specimen_stats::StatsError;

/// A verdict that could not be reached.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VerdictError {
    /// A file of published numbers that does not exist.
    #[error("no file of published numbers is named `{name}`; there are {known}")]
    NoSuchPaper {
        /// The name asked for.
        name: String,
        /// Those that exist.
        known: String,
    },
    /// A file of published numbers that cannot be read.
    #[error("{file}: not a table of published numbers: {reason}")]
    BadPaper {
        /// Path of the file.
        file: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A reference to published numbers that does not mean one setting.
    #[error("cell `{cell}`: {columns} of {file} means {found}; name more or other columns")]
    Unresolved {
        /// The cell that the numbers belong to.
        cell: String,
        /// Path of the file.
        file: String,
        /// The columns asked for.
        columns: String,
        /// What they match.
        found: String,
    },
    /// A run, a baseline or a file of a run that cannot be read or written.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// A baseline that cannot be used as it is.
    #[error(
        "{0}; bring the file back from a copy, or remove it and write another: --update-baseline --reason TEXT"
    )]
    UnusableBaseline(RecordError),
    /// A statistic that the numbers do not allow.
    #[error(transparent)]
    Stats(#[from] StatsError),
    /// A file that cannot be read.
    #[error("{path}: cannot {action}: {source}")]
    Io {
        /// Path of the file.
        path: PathBuf,
        /// What was tried.
        action: &'static str,
        /// The system's reason.
        source: std::io::Error,
    },
    /// A file of rules that cannot be used.
    #[error("{place}: {reason}")]
    BadRules {
        /// File, line and column.
        place: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A rule about a measure that neither summaries nor the metrics of baseline and run have.
    #[error("{place}: unknown measure `{measure}`{}; expected one of {known}", suggested(nearest.as_deref()))]
    UnknownMeasure {
        /// File, line and column of its `cells`.
        place: String,
        /// The name.
        measure: String,
        /// The nearest name that is known.
        nearest: Option<String>,
        /// All that are.
        known: String,
    },
    /// A name or pattern of a rule that is for no cell, which would always pass.
    #[error(
        "{place}: `{cells}` of the rule for `{measure}` matches no cell of the baseline; the baseline has {known}"
    )]
    UnusedRule {
        /// File, line and column of its `cells`.
        place: String,
        /// What it would hold.
        measure: String,
        /// Those of its patterns that match nothing.
        cells: String,
        /// The baseline's cells.
        known: String,
    },
    /// A run that is another experiment than the baseline.
    #[error(
        "run `{run}` is another experiment than the baseline (plan {found}, the baseline's is {expected}): {differences}; run \
         the baseline's spec, or renew the baseline with --update-baseline and a reason"
    )]
    OtherExperiment {
        /// Name of the run.
        run: String,
        /// Beginning of the baseline's plan digest.
        expected: String,
        /// Beginning of the run's.
        found: String,
        /// In which settings, in words.
        differences: String,
    },
    /// Images that were drawn from different seeds, or from seeds that are not known.
    #[error(
        "{why}; so their images differ by chance too; compare the same prompts all the same with --mix {mix}"
    )]
    OtherSeeds {
        /// Which images, and what else is not known or differs.
        why: String,
        /// The kinds of difference to allow, as the option takes them.
        mix: String,
    },
    /// A cell that a run does not have.
    #[error("run `{run}` has no cell `{cell}`; it has {known}")]
    NoSuchCell {
        /// Name of the run.
        run: String,
        /// The name asked for.
        cell: String,
        /// Those it has.
        known: String,
    },
    /// A text that names no two cells.
    #[error("`{text}` has no `=` between two names; name a cell of each run, as in `naive=cascade`")]
    NoPair {
        /// The text.
        text: String,
    },
    /// A text in which more than one `=` is between two cells.
    #[error("`{text}` may be read in two ways, since both runs have cells for each; rename a cell of a spec")]
    AmbiguousPair {
        /// The text.
        text: String,
    },
    /// Two runs of which nothing belongs into one table.
    #[error("nothing of the two runs can be compared: {why}")]
    NothingToCompare {
        /// The first reason.
        why: String,
    },
    /// A table that a paper does not have.
    #[error("{paper} has no table `{table}`; there are {known}")]
    NoSuchTable {
        /// Name of the paper.
        paper: String,
        /// The name asked for.
        table: String,
        /// Those known.
        known: String,
    },
    /// A table that no spec reproduces on a model.
    #[error(
        "no spec reproduces `{table}` on model `{model}`; there is one for {known}; give a run of your own with --run"
    )]
    NoTwin {
        /// Name of the table.
        table: String,
        /// The model asked for.
        model: String,
        /// Models with a twin.
        known: String,
    },
    /// A run of which no cell belongs to a row of the table.
    #[error(
        "run `{run}` is no run of `{table}`: none of its cells has a row in it; leave out --run to run the \
         twin, or name the rows in the spec by [[published]] with from = \"{published}\""
    )]
    OtherTable {
        /// Name of the run.
        run: String,
        /// Paper and table.
        table: String,
        /// The file of its numbers.
        published: String,
    },
    /// A run whose spec this program cannot read.
    #[error("run `{run}`: another version of the program wrote its spec: {reason}")]
    ForeignSpec {
        /// Name of the run.
        run: String,
        /// What does not fit.
        reason: String,
    },
    /// A spec that leaves a tuning nothing to choose from.
    #[error(
        "the spec has no cell but the baseline, so there is nothing to choose from; add cells, [axes] or --sweep"
    )]
    NothingToTune,
    /// An objective that has no better side.
    #[error("of `{measure}` neither more nor less is better; take another objective")]
    NoDirection {
        /// The measure.
        measure: String,
    },
    /// A table that cannot be written as CSV.
    #[error("the trace cannot be written as CSV: {reason}")]
    Csv {
        /// What the writer says.
        reason: String,
    },
}

impl Failure for VerdictError {
    fn kind(&self) -> Option<FailureKind> {
        Some(match self {
            Self::Record(error) | Self::UnusableBaseline(error) => return error.kind(),
            Self::BadRules { .. }
            | Self::UnusedRule { .. }
            | Self::UnknownMeasure { .. }
            | Self::NoDirection { .. }
            | Self::NothingToTune => FailureKind::Spec,
            Self::OtherExperiment { .. }
            | Self::OtherTable { .. }
            | Self::OtherSeeds { .. }
            | Self::NothingToCompare { .. } => FailureKind::Mismatch,
            Self::NoSuchPaper { .. }
            | Self::Unresolved { .. }
            | Self::NoSuchCell { .. }
            | Self::NoPair { .. }
            | Self::AmbiguousPair { .. }
            | Self::NoSuchTable { .. }
            | Self::NoTwin { .. } => FailureKind::Usage,
            Self::Io { .. } | Self::ForeignSpec { .. } => FailureKind::Missing,
            Self::BadPaper { .. } | Self::Stats(_) | Self::Csv { .. } => FailureKind::Bug,
        })
    }
}

/// `, did you mean NAME?`, if there is one.
fn suggested(nearest: Option<&str>) -> String {
    nearest.map(|name| format!(", did you mean `{name}`?")).unwrap_or_default()
}
