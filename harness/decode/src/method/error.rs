//! What can be wrong with a configuration.

use std::ops::RangeInclusive;

use crate::methods::eagle1::ShapeError;

/// Why a configuration is no method.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MethodError {
    /// A key the shape or proposer needs is absent.
    #[error("drafter with {of} needs the key `{key}`")]
    MissingKey {
        /// The choice that needs it, as written: `shape = "chain"`.
        of: String,
        /// The key of the table, as in a spec.
        key: &'static str,
    },
    /// A key is given that the shape or proposer does not have.
    #[error("drafter with {of} has no key `{key}`; remove it")]
    MisplacedKey {
        /// The choice that does not have it, as written.
        of: String,
        /// The key of the table, as in a spec.
        key: &'static str,
    },
    /// A number is outside its range.
    #[error("drafter key `{key}` is {found}, expected {min}..={max}")]
    OutOfRange {
        /// The key of the table, as in a spec.
        key: &'static str,
        /// Smallest allowed value.
        min: usize,
        /// Largest allowed value.
        max: usize,
        /// The value given.
        found: usize,
    },
    /// A range of positions that holds none.
    #[error("drafter key `active` is [{start}, {end}], expected a start below its end")]
    EmptyRange {
        /// First position.
        start: usize,
        /// First position after it.
        end: usize,
    },
    /// A real number is outside its range.
    #[error("{of} has {key} = {found}, expected {expected}")]
    RealOutOfRange {
        /// The table that it is in, as in `accept rule lantern`.
        of: &'static str,
        /// The key of the table, as in a spec.
        key: &'static str,
        /// The range in words.
        expected: &'static str,
        /// The value given.
        found: String,
    },
    /// More rules than can nest.
    #[error("`accept` has {found} rules, at most {max} are supported")]
    TooManyRules {
        /// Rules that nest at most.
        max: usize,
        /// Rules in the list.
        found: usize,
    },
    /// A rule that defines the whole claim has rules inside it.
    #[error(
        "accept rule {position} is {kind}, whose claim replaces that of rules inside it; only lossless may follow"
    )]
    NotInnermost {
        /// 0-based place of the rule.
        position: usize,
        /// `kind` of the rule, as in a spec.
        kind: &'static str,
    },
    /// A rule whose answer is a chance has a rule around it.
    #[error(
        "accept rule {position} is {kind}, which tests guesses together and answers with a chance to which no rule can add; \
         write it first"
    )]
    NotOutermost {
        /// 0-based place of the rule.
        position: usize,
        /// `kind` of the rule, as in a spec.
        kind: &'static str,
    },
    /// A rule that asks ahead has one inside that counts what was accepted.
    #[error(
        "accept rule {kind} asks {inner} for guesses before those in front of them are accepted, and {inner} counts these; \
         only lossless, gsd, lantern, lantern++ and cool-sd can be inside it"
    )]
    AsksAhead {
        /// `kind` of the outer rule.
        kind: &'static str,
        /// `kind` of the inner rule.
        inner: &'static str,
    },
    /// A schedule that picks paths has no tree to pick from.
    #[error("a schedule other than always needs a drafter that grows a tree, {of} does not")]
    ScheduleWithoutTree {
        /// The drafter, as written.
        of: String,
    },
    /// A rule that tests guesses together, over a tree.
    #[error(
        "accept rule {kind} tests a chain of guesses; use shape = \"chain\", or proposer = \"jacobi\" without `branch`"
    )]
    NeedsChain {
        /// Its `kind` in a spec.
        kind: &'static str,
    },
    /// A frontier beside a drafter, a rule or a schedule.
    #[error(
        "a `frontier` has its own drafts and its own test, or neither; remove `drafter`, `accept` and `schedule`"
    )]
    FrontierWithDrafts,
    /// CASCADE without either of its sets.
    #[error("accept rule cascade has neither `tau_pos` nor `tau_seq`; give at least one")]
    NoThreshold,
    /// No tree has this name.
    #[error("no tree is called `{found}`; known are {known}")]
    UnknownTree {
        /// The name given.
        found: String,
        /// All names, separated by commas.
        known: String,
    },
    /// A listed tree is not a tree.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// More than one rule, though only one kind exists that nothing can follow.
    #[error("accept rule {position} is lossless, but only the last rule can be: {n_rules} are listed")]
    LosslessNotLast {
        /// 0-based place of the rule.
        position: usize,
        /// Length of the list.
        n_rules: usize,
    },
    /// A drafter needs a network and none was handed in.
    #[error("drafter with {of} was built without a draft model; load its weights first")]
    NoDraftModel {
        /// The choice that needs it, as written.
        of: String,
    },
    /// A table the method needs was not handed in.
    #[error("{of} was built without {part}; the model must provide it")]
    MissingPart {
        /// What needs it.
        of: &'static str,
        /// What is missing.
        part: &'static str,
    },
    /// The table of neighbours is too narrow.
    #[error("{of} needs {needed} neighbours per token, the table lists {found}")]
    TooFewNeighbours {
        /// What needs them.
        of: &'static str,
        /// Neighbours per token.
        needed: usize,
        /// Neighbours per token in the table.
        found: usize,
    },
    /// A network was handed in that nothing would use.
    #[error("drafter with {of} was built with a draft model it would not use")]
    UnusedDraftModel {
        /// The choice that has no use for it, as written.
        of: String,
    },
}

impl MethodError {
    /// An error unless the value of a drafter's `key` is in `range`.
    pub(crate) fn check_range(
        key: &'static str,
        range: RangeInclusive<usize>,
        found: usize,
    ) -> Result<(), Self> {
        if range.contains(&found) {
            return Ok(());
        }
        Err(Self::OutOfRange { key, min: *range.start(), max: *range.end(), found })
    }

    /// An error unless `within` holds for the value of `key`.
    pub(crate) fn check_real(
        of: &'static str,
        key: &'static str,
        expected: &'static str,
        within: bool,
        found: f64,
    ) -> Result<(), Self> {
        let error = || Self::RealOutOfRange { of, key, expected, found: found.to_string() };
        if within { Ok(()) } else { Err(error()) }
    }
}
