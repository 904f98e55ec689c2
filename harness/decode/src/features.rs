//! Which target features a draft head continues from: those of the tokens it takes in, or older ones.
//!
//! A head pairs every token with the target's feature of the slot before it. After a skipped verification
//! there is none, so the newest cached features are used (VVS, section 4.3); the staleness experiments feed
//! older ones on purpose (VVS supplement, Tables 5 and 6). Only indices are decided here: the model holds the
//! tensors. What a head has taken in stays as it was: its cache is not refreshed when the features arrive.

use std::rc::Rc;

use serde::{Deserialize, Serialize};

use crate::{
    dist::{Dist, TokenId},
    drafter::DraftModel,
    method::{MethodError, Works},
    tree::{NodeId, TokenTree},
};

/// The work that stale features are from.
pub(crate) const WORKS: Works = Works { method: "stale features", cite: &["dong2026vvs"] };

/// `features = { s1 = -1, s2 = 0 }`: staleness after even and after odd steps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FeaturesConfig {
    /// After the verifications of even steps.
    pub s1: Staleness,
    /// After those of odd steps.
    pub s2: Staleness,
    /// Staleness begins once more tokens than this are committed; 32 in the reference code.
    #[serde(default = "FeaturesConfig::after")]
    pub after: usize,
    /// Newest features that can be asked for, in `1..=4096`; 64 keeps every staleness of the papers.
    #[serde(default = "FeaturesConfig::n_cache")]
    pub n_cache: usize,
}

/// How old the features are that replace the `n` fresh ones of a step. Written as a number, as in VVS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "i64", into = "i64")]
pub enum Staleness {
    /// Not at all: the fresh ones (`-1`).
    Fresh,
    /// The `n` newest from before the step, shifted by so many tokens into the past (`0`, `1`, ...).
    Older(usize),
}

/// A draft model, and the account of which features exist for its tokens.
pub struct FeaturedModel {
    model: Box<dyn DraftModel>,
    /// `None` for a model that reads no target features.
    ledger: Option<Ledger>,
}

/// Counts features; age 0 is the newest.
#[derive(Clone, Debug)]
struct Ledger {
    config: FeaturesConfig,
    /// Features that can be asked for.
    n_cached: usize,
    /// Tokens taken without a forward, whose features come with the next one.
    n_pending: usize,
    /// Tokens the model has taken in.
    n_seen: usize,
    last: Last,
}

/// Where the tokens the model takes in next come from.
#[derive(Clone, Copy, Debug)]
enum Last {
    Prefill,
    /// A verification at this step, whose root and accepted candidates brought so many features.
    Verified {
        step: u32,
        n_fresh: usize,
    },
    Skipped,
}

impl FeaturesConfig {
    /// The fresh features, always.
    #[must_use]
    pub fn fresh() -> Self {
        let (s1, s2) = (Staleness::Fresh, Staleness::Fresh);
        Self { s1, s2, after: Self::after(), n_cache: Self::n_cache() }
    }

    fn after() -> usize {
        32
    }

    fn n_cache() -> usize {
        64
    }

    pub(crate) fn validate(&self) -> Result<(), MethodError> {
        MethodError::check_range("n_cache", 1..=4096, self.n_cache)
    }

    pub(crate) fn canonical(&self) -> String {
        let Self { s1, s2, after, n_cache } = self;
        let (s1, s2) = (i64::from(*s1), i64::from(*s2));
        format!("features(s1={s1},s2={s2},after={after},n_cache={n_cache})")
    }
}

impl TryFrom<i64> for Staleness {
    type Error = String;

    fn try_from(staleness: i64) -> Result<Self, String> {
        match usize::try_from(staleness) {
            Ok(older) => Ok(Self::Older(older)),
            Err(_) if staleness == -1 => Ok(Self::Fresh),
            Err(_) => Err(format!("a staleness is -1 (fresh) or at least 0, not {staleness}")),
        }
    }
}

impl From<Staleness> for i64 {
    fn from(staleness: Staleness) -> Self {
        match staleness {
            Staleness::Fresh => -1,
            Staleness::Older(older) => i64::try_from(older).expect("it was read from an i64"),
        }
    }
}

impl FeaturedModel {
    /// A head that has seen no token yet.
    #[must_use]
    pub fn new(model: Box<dyn DraftModel>, config: FeaturesConfig) -> Self {
        Self { model, ledger: Some(Ledger::new(config)) }
    }

    /// A model that reads no target features: it is never asked to reuse any.
    #[must_use]
    pub fn without_features(model: Box<dyn DraftModel>) -> Self {
        Self { model, ledger: None }
    }

    /// [`DraftModel::begin`], with [`DraftModel::reuse_features`] before it where features are not fresh.
    pub(crate) fn begin(&mut self, tokens: &[TokenId]) -> Rc<Dist> {
        self.take_in(tokens);
        self.model.begin(tokens)
    }

    /// [`DraftModel::begin_choosing`], likewise.
    pub(crate) fn begin_choosing(&mut self, tokens: &[TokenId], k: usize) -> Vec<(TokenId, f32)> {
        self.take_in(tokens);
        self.model.begin_choosing(tokens, k)
    }

    fn take_in(&mut self, tokens: &[TokenId]) {
        if let Some(ages) = self.ledger.as_mut().and_then(|ledger| ledger.take_in(tokens.len())) {
            self.model.reuse_features(&ages);
        }
    }

    /// [`DraftModel::expand_choosing`].
    pub(crate) fn expand_choosing(
        &mut self,
        tree: &TokenTree,
        nodes: &[NodeId],
        k: usize,
    ) -> Vec<Vec<(TokenId, f32)>> {
        let likeliest = self.model.expand_choosing(tree, nodes, k);
        assert_eq!(likeliest.len(), nodes.len(), "a draft model chooses for every expanded node");
        likeliest
    }

    /// [`DraftModel::expand`].
    pub(crate) fn expand(&mut self, tree: &TokenTree, nodes: &[NodeId]) -> Vec<Rc<Dist>> {
        let distributions = self.model.expand(tree, nodes);
        assert_eq!(
            distributions.len(),
            nodes.len(),
            "a draft model returns one distribution per expanded node"
        );
        distributions
    }

    /// [`DraftModel::is_greedy`].
    pub(crate) fn is_greedy(&self) -> bool {
        self.model.is_greedy()
    }

    /// Notes that `path` was accepted, with or without a forward.
    pub(crate) fn observe(&mut self, path: &[NodeId], is_verified: bool, step: u32) {
        match self.ledger.as_mut() {
            None => {}
            Some(ledger) if is_verified => ledger.verified(path.len() + 1, step),
            Some(ledger) => ledger.skipped(path.len()),
        }
    }
}

impl Ledger {
    fn new(config: FeaturesConfig) -> Self {
        // The prefill leaves the feature of the last prefix slot.
        Self { config, n_cached: 1, n_pending: 0, n_seen: 0, last: Last::Prefill }
    }

    /// The root and the accepted candidates were run, after whatever was pending. The features of what was pending are
    /// cached, and none of the step's own: VVS' code appends them before it leaves out those of the accepted path
    /// (`skip_utils_llamagen.py:324-345`, after `ea_llamagen.py:534-539`, at 7790173).
    fn verified(&mut self, n_run: usize, step: u32) {
        self.n_cached =
            (self.n_cached + std::mem::take(&mut self.n_pending) + n_run).min(self.config.n_cache);
        self.last = Last::Verified { step, n_fresh: n_run };
    }

    /// The root and all of a skipped path but its last token will be run later.
    fn skipped(&mut self, n_tokens: usize) {
        self.n_pending += n_tokens;
        self.last = Last::Skipped;
    }

    /// Ages of the features for the tokens up to `n_tokens` that the model has not seen, oldest token first;
    /// `None` if they are the fresh ones.
    fn take_in(&mut self, n_tokens: usize) -> Option<Vec<usize>> {
        let n = n_tokens - std::mem::replace(&mut self.n_seen, n_tokens);
        let n_committed = n_tokens - 1;
        match self.last {
            Last::Prefill => None,
            Last::Verified { step, n_fresh } => {
                let staleness = if step % 2 == 0 { self.config.s1 } else { self.config.s2 };
                let Staleness::Older(older) = staleness else { return None };
                let oldest = self.n_cached - 1;
                let age = |i: usize| (n_fresh + older + (n - 1 - i)).min(oldest);
                (self.config.after < n_committed).then(|| (0..n).map(age).collect())
            }
            Last::Skipped => {
                // The newest in their order; where they run out, the very newest again.
                let n_known = n.min(self.n_cached);
                Some((0..n).map(|i| (n_known - 1).saturating_sub(i)).collect())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ledger(s1: Staleness, s2: Staleness, n_cache: usize) -> Ledger {
        Ledger::new(FeaturesConfig { s1, s2, after: 0, n_cache })
    }

    #[test]
    fn fresh_features_need_no_word() {
        let mut ledger = ledger(Staleness::Fresh, Staleness::Fresh, 64);
        assert_eq!(ledger.take_in(1), None);
        ledger.verified(3, 0);
        assert_eq!(ledger.take_in(4), None);
    }

    #[test]
    fn stale_features_are_the_newest_from_before_the_step_shifted_into_the_past() {
        let mut ledger = ledger(Staleness::Older(0), Staleness::Older(2), 64);
        assert_eq!(ledger.take_in(1), None);
        ledger.verified(1, 0);
        // Cached: the prefix (age 1) and the step's own (age 0), which is not to be used.
        assert_eq!(ledger.take_in(2), Some(vec![1]));
        ledger.verified(3, 1);
        // Five are cached; shifted by two behind the three fresh ones, all but the first is out of reach.
        assert_eq!(ledger.take_in(5), Some(vec![4, 4, 4]));
        ledger.verified(4, 2);
        assert_eq!(ledger.take_in(9), Some(vec![7, 6, 5, 4]));
        ledger.verified(2, 3);
        assert_eq!(ledger.take_in(11), Some(vec![5, 4]));
    }

    #[test]
    fn staleness_begins_after_its_tokens_and_ends_with_the_cache() {
        let mut ledger = ledger(Staleness::Older(3), Staleness::Fresh, 5);
        ledger.config.after = 3;
        assert_eq!(ledger.take_in(1), None);
        ledger.verified(2, 0);
        assert_eq!(ledger.take_in(3), None, "two tokens are committed");
        ledger.verified(2, 2);
        assert_eq!(ledger.take_in(5), Some(vec![4, 4]), "five are kept");
        ledger.verified(2, 3);
        assert_eq!(ledger.take_in(7), None, "odd steps are fresh here");
    }

    #[test]
    fn staleness_begins_with_the_token_behind_those_it_waits_for() {
        let mut ledger = ledger(Staleness::Older(0), Staleness::Fresh, 5);
        ledger.config.after = 2;
        assert_eq!(ledger.take_in(1), None);
        ledger.verified(2, 0);
        assert_eq!(ledger.take_in(3), None, "two tokens are committed, and two are waited for");
        ledger.verified(1, 2);
        assert_eq!(ledger.take_in(4), Some(vec![1]), "three are committed");
    }

    #[test]
    fn a_cache_holds_one_to_4096_features() {
        let of = |n_cache| FeaturesConfig { n_cache, ..FeaturesConfig::fresh() }.validate().is_ok();
        assert_eq!([0, 1, 4096, 4097].map(of), [false, true, true, false]);
    }

    #[test]
    fn a_skip_is_fed_the_newest_features_and_its_own_are_cached_by_the_recovery() {
        let mut ledger = ledger(Staleness::Fresh, Staleness::Older(0), 64);
        assert_eq!(ledger.take_in(1), None);
        ledger.skipped(3);
        assert_eq!(ledger.take_in(4), Some(vec![0, 0, 0]), "only the prefix is known, so it repeats");
        ledger.verified(2, 1);
        // The two verified are fresh; behind them are the three recovered, of which the newest two are read.
        assert_eq!(ledger.take_in(6), Some(vec![3, 2]));
        ledger.skipped(2);
        assert_eq!(ledger.take_in(8), Some(vec![1, 0]));
    }

    #[test]
    fn a_staleness_is_written_as_a_number() {
        for (number, staleness) in
            [(-1, Staleness::Fresh), (0, Staleness::Older(0)), (3, Staleness::Older(3))]
        {
            assert_eq!((Staleness::try_from(number), i64::from(staleness)), (Ok(staleness), number));
        }
        let error = Staleness::try_from(-2);
        assert_eq!(error, Err("a staleness is -1 (fresh) or at least 0, not -2".to_owned()));
    }
}
