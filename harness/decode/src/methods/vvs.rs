//! VVS: take a draft without the target when its paths look alike (VVS-D) or at fixed intervals (VVS-U) (Dong
//! et al., arXiv 2511.13587, section 4 and Algorithm 1; reference code HyattDD/VVS).
//!
//! Our reading, from the code and from notes, since the main text was not available: nothing is skipped in
//! the first tokens or right after a skip (the code lacks that guard for VVS-U and never skips at `i = 1`,
//! which is refused here). The path taken is a random one or the drafter's own, cut to the mean length of
//! all paths. Its last token becomes the next root; the others join the next forward, which writes their
//! keys and values but tests nothing. What the drafter continues from meanwhile is decided in
//! [`features`](crate::features).

use std::rc::Rc;

use serde::{Deserialize, Serialize};

use crate::{
    dist::TokenId,
    method::{MethodError, Works},
    rng::{Purpose, Uniforms},
    schedule::{Decision, Scheduler},
    tree::{NodeId, TokenTree},
    vectors::{TokenVectors, cosine},
};

/// The work that VVS is from.
pub(crate) const WORKS: Works = Works { method: "vvs", cite: &["dong2026vvs"] };

/// `{ kind = "vvs", trigger = "interval", every = 2 }` or `{ kind = "vvs", trigger = "similarity", s = 0.7 }`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "WireVvs", into = "WireVvs")]
pub struct VvsConfig {
    /// When a verification is skipped.
    pub trigger: Trigger,
    /// Which path is taken instead.
    pub selector: Selector,
    /// Whether the path is cut to the mean path length.
    pub truncation: bool,
    /// Nothing is skipped while at most so many tokens are committed; 5 in the reference code.
    pub warm_up: usize,
}

/// When a verification is skipped.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Trigger {
    /// Never: the interval infinity.
    Never,
    /// At every step whose index is 1 modulo `every`, which is at least 2 (VVS-U).
    Interval {
        /// `i`: steps from one skip to the next.
        every: u32,
    },
    /// Where the weighted similarity of the paths is at least `s` (VVS-D).
    Similarity {
        /// Threshold; above 1 nothing is skipped.
        s: f64,
        /// Weight of a position relative to the one before it, in `(0, 1]`; 0.9 in the paper.
        alpha: f64,
    },
}

/// Which path is taken instead of a verified one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Selector {
    /// Each with the same probability.
    Random,
    /// That of the first child at every node, the drafter's greedy path.
    Confidence,
}

/// The text form: which numbers belong depends on `trigger`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WireVvs {
    trigger: WireTrigger,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    every: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    s: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    alpha: Option<f64>,
    #[serde(default = "random")]
    selector: Selector,
    #[serde(default = "on")]
    truncation: bool,
    #[serde(default = "five")]
    warm_up: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum WireTrigger {
    Never,
    Interval,
    Similarity,
}

/// The scheduler of VVS: takes draft tokens without verification where its trigger allows it.
pub struct Vvs {
    config: VvsConfig,
    /// Present if the trigger is a similarity.
    codebook: Option<Rc<TokenVectors>>,
    has_skipped: bool,
}

fn random() -> Selector {
    Selector::Random
}

fn on() -> bool {
    true
}

fn five() -> usize {
    5
}

impl TryFrom<WireVvs> for VvsConfig {
    type Error = String;

    fn try_from(wire: WireVvs) -> Result<Self, String> {
        let WireVvs { trigger, every, s, alpha, selector, truncation, warm_up } = wire;
        let refuse = |key: &str, is_given: bool| match is_given {
            true => Err(format!("a vvs schedule with this trigger has no key `{key}`; remove it")),
            false => Ok(()),
        };
        let need = |key: &str| format!("a vvs schedule with this trigger needs the key `{key}`");
        if trigger != WireTrigger::Interval {
            refuse("every", every.is_some())?;
        }
        if trigger != WireTrigger::Similarity {
            refuse("s", s.is_some())?;
            refuse("alpha", alpha.is_some())?;
        }
        let trigger = match trigger {
            WireTrigger::Never => Trigger::Never,
            WireTrigger::Interval => Trigger::Interval { every: every.ok_or_else(|| need("every"))? },
            WireTrigger::Similarity => {
                Trigger::Similarity { s: s.ok_or_else(|| need("s"))?, alpha: alpha.unwrap_or(0.9) }
            }
        };
        Ok(Self { trigger, selector, truncation, warm_up })
    }
}

impl From<VvsConfig> for WireVvs {
    fn from(config: VvsConfig) -> Self {
        let VvsConfig { trigger, selector, truncation, warm_up } = config;
        let never = WireTrigger::Never;
        let bare = Self { trigger: never, every: None, s: None, alpha: None, selector, truncation, warm_up };
        match trigger {
            Trigger::Never => bare,
            Trigger::Interval { every } => {
                Self { trigger: WireTrigger::Interval, every: Some(every), ..bare }
            }
            Trigger::Similarity { s, alpha } => {
                Self { trigger: WireTrigger::Similarity, s: Some(s), alpha: Some(alpha), ..bare }
            }
        }
    }
}

impl VvsConfig {
    pub(crate) fn validate(&self) -> Result<(), MethodError> {
        const OF: &str = "schedule vvs";
        match self.trigger {
            Trigger::Never => Ok(()),
            Trigger::Interval { every } => {
                MethodError::check_real(OF, "every", "at least 2", 2 <= every, f64::from(every))
            }
            Trigger::Similarity { s, alpha } => {
                MethodError::check_real(OF, "s", "a finite similarity", s.is_finite(), s)?;
                let within = 0.0 < alpha && alpha <= 1.0;
                MethodError::check_real(OF, "alpha", "above 0, at most 1", within, alpha)
            }
        }
    }

    pub(crate) fn canonical(&self) -> String {
        let trigger = match self.trigger {
            Trigger::Never => "trigger=never".to_owned(),
            Trigger::Interval { every } => format!("trigger=interval,every={every}"),
            Trigger::Similarity { s, alpha } => format!("trigger=similarity,s={s},alpha={alpha}"),
        };
        let selector = match self.selector {
            Selector::Random => "random",
            Selector::Confidence => "confidence",
        };
        let Self { truncation, warm_up, .. } = self;
        format!("vvs({trigger},selector={selector},truncation={truncation},warm_up={warm_up})")
    }

    pub(crate) fn needs_codebook(&self) -> bool {
        matches!(self.trigger, Trigger::Similarity { .. })
    }
}

/// All paths from below the root to a leaf, as the rows of the reference's candidate matrix: the first takes
/// the first child at every node.
#[must_use]
pub fn rows(tree: &TokenTree) -> Vec<Vec<NodeId>> {
    let mut rows: Vec<Vec<NodeId>> = tree.leaves().into_iter().map(|leaf| tree.path_to(leaf)).collect();
    rows.sort_unstable();
    rows
}

/// Mean over pairs of every second row of `tree` ([`rows`]) of the weighted cosines between their tokens' code vectors,
/// position by position; 0 where one of two rows has ended. `alpha` is the weight of a position relative to the one
/// before it; the weights are those of the longest row that is compared, as in the reference. `None` for fewer than two rows, which the reference takes for 0.
#[must_use]
pub fn path_similarity(
    tree: &TokenTree,
    rows: &[Vec<NodeId>],
    codebook: &TokenVectors,
    alpha: f64,
) -> Option<f64> {
    let compared: Vec<&Vec<NodeId>> = rows.iter().step_by(2).collect();
    let longest = compared.iter().map(|row| row.len()).max().unwrap_or(0);
    let weights: Vec<f64> = (0..longest).map(|position| alpha.powi(position as i32)).collect();
    let total: f64 = weights.iter().sum();
    let (mut sum, mut n_pairs) = (0.0, 0_u32);
    for (i, a) in compared.iter().enumerate() {
        for b in &compared[i + 1..] {
            n_pairs += 1;
            for ((&x, &y), weight) in a.iter().zip(b.iter()).zip(&weights) {
                let (x, y) = (tree[x].token, tree[y].token);
                sum += weight / total * cosine(codebook.of(x), codebook.of(y));
            }
        }
    }
    (n_pairs > 0).then(|| sum / f64::from(n_pairs))
}

impl Vvs {
    /// A checked configuration; the VQ codebook is needed exactly if the trigger is a similarity.
    #[must_use]
    pub fn new(config: VvsConfig, codebook: Option<Rc<TokenVectors>>) -> Self {
        Self { config, codebook, has_skipped: false }
    }

    fn triggers(&self, tree: &TokenTree, rows: &[Vec<NodeId>], step: u32) -> bool {
        match self.config.trigger {
            Trigger::Never => false,
            Trigger::Interval { every } => step % every == 1,
            Trigger::Similarity { s, alpha } => {
                let codebook = self.codebook.as_ref().expect("the builder asked for it");
                s <= path_similarity(tree, rows, codebook, alpha).unwrap_or(0.0)
            }
        }
    }

    /// The path to take, without the root: at least one candidate.
    fn select(&self, rows: &[Vec<NodeId>], step: u32, uniforms: &Uniforms) -> Vec<NodeId> {
        let chosen = match self.config.selector {
            Selector::Random => (uniforms.uniform(Purpose::Skip, step, 0) * rows.len() as f64) as usize,
            Selector::Confidence => 0,
        };
        let mut path = rows[chosen].clone();
        if self.config.truncation {
            // Lengths count the root, as the rows of the reference do; it is no part of the path.
            let mean_len = rows.iter().map(|row| row.len() + 1).sum::<usize>() / rows.len();
            path.truncate(mean_len - 1);
        }
        path
    }
}

impl Scheduler for Vvs {
    fn begin_image(&mut self) {
        self.has_skipped = false;
    }

    fn decide(&mut self, tree: &TokenTree, tokens: &[TokenId], step: u32, uniforms: &Uniforms) -> Decision {
        let n_committed = tokens.len() - 1;
        if n_committed <= self.config.warm_up || self.has_skipped || tree.n_drafts() == 0 {
            self.has_skipped = false;
            return Decision::Verify;
        }
        let rows = rows(tree);
        self.has_skipped = self.triggers(tree, &rows, step);
        if self.has_skipped { Decision::Skip(self.select(&rows, step, uniforms)) } else { Decision::Verify }
    }
}
