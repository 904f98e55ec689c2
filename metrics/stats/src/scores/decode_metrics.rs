//! Speed of decoding in counts: what carries over between machines, unlike seconds.
//!
//! An image of `N` kept tokens took `V` verify forwards, verify `j` accepting `a_j` drafted tokens and emitting `e_j`, and `S`
//! skips (VVS), skip `j` committing `c_j` tokens without a forward. In one sequence `e_j` is `a_j + 1`, the last being the bonus
//! or corrected token; of rows side by side (ZipAR, PJD) it is what all rows get. `alpha` (CASCADE) excludes the bonus or
//! corrected token; `tau` (EAGLE, LANTERN: mean accepted length) includes it; `TPF` (VVS) adds the skipped tokens. Macro values are means over images, as the papers print; micro values pool all forwards first.

use serde::{Deserialize, Serialize};

use crate::error::{StatsError, require_count};
use crate::statistic::Statistic;

/// Drafted tokens judged and accepted at one depth of the draft, forced tokens excluded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DepthCounts {
    /// Verifies in which at least one candidate of this depth was judged.
    pub n_tested: u64,
    /// Of these, how many accepted one.
    pub n_accepted: u64,
}

/// What one image's decoding counted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImageCounts {
    /// `N`: tokens kept.
    pub n_tokens: u64,
    /// All target forwards, the prefill included (for Jacobi decoding: all loop forwards).
    pub n_target_forwards: u64,
    /// `a_j`: drafted tokens accepted at each verify forward, in step order; zeros for plain AR.
    pub n_accepted_by_verify: Vec<u64>,
    /// `e_j`: tokens emitted at each verify forward, in step order; those past the end of the image are kept.
    pub n_emitted_by_verify: Vec<u64>,
    /// Accepted tokens at forced positions (newlines of the image grid), where acceptance is certain; part of `a_j`.
    pub n_forced_accepted: u64,
    /// `c_j`: tokens committed at each skip, in step order; empty without a skipping scheduler.
    pub n_committed_by_skip: Vec<u64>,
    /// Index 0 is depth 1. Shorter than the deepest draft is fine: missing depths count nothing.
    pub depths: Vec<DepthCounts>,
}

/// The rates of one image.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct DecodeRates {
    /// Target forwards (NFE): per image in a macro mean; pooled, the mean per image, which is the same number.
    pub nfe: f64,
    /// alpha: mean `a_j`, 0 for AR (which papers print as 1.0 by convention).
    pub accepted_per_step: f64,
    /// alpha without the tokens accepted at forced positions, which inflate it where the model has them.
    pub accepted_per_step_unforced: f64,
    /// tau, mean accepted length: mean `e_j`.
    pub tokens_per_forward: f64,
    /// TPF of VVS: `(sum e_j + sum c_j) / V`. Prefill excluded, tokens past the end of the image kept.
    pub tokens_per_forward_with_skips: f64,
    /// `N / V`: as above with the tokens past the end cut off.
    pub clipped_tokens_per_forward: f64,
    /// Step compression of SJD: `N / NFE`.
    pub step_compression: f64,
}

/// Counts over images in plan order. Integers are pooled; rates are kept by image, so merging shards in plan order
/// gives the same digits as one run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DecodeTotals {
    pooled: PooledCounts,
    depths: Vec<DepthCounts>,
    rates: Vec<DecodeRates>,
}

/// Decoding rates over a set of images.
#[derive(Clone, Debug, PartialEq)]
pub struct DecodeSummary {
    /// Images.
    pub n_images: usize,
    /// Mean over images of each rate.
    pub macro_mean: DecodeRates,
    /// Each rate of the pooled counts.
    pub micro: DecodeRates,
    /// Share accepted at each depth, index 0 being depth 1, pooled; absent where that depth was never tested.
    pub acceptance_by_depth: Vec<Option<f64>>,
}

impl ImageCounts {
    /// Returns the rates of this image.
    ///
    /// # Errors
    /// No verify forward (the rates divide by their number), counts that contradict each other.
    pub fn rates(&self) -> Result<DecodeRates, StatsError> {
        self.check()?;
        Ok(self.pooled().rates())
    }

    fn pooled(&self) -> PooledCounts {
        PooledCounts {
            n_images: 1,
            n_tokens: self.n_tokens,
            n_target_forwards: self.n_target_forwards,
            n_verifies: self.n_accepted_by_verify.len() as u64,
            n_accepted: self.n_accepted_by_verify.iter().sum(),
            n_emitted: self.n_emitted_by_verify.iter().sum(),
            n_forced_accepted: self.n_forced_accepted,
            n_skip_committed: self.n_committed_by_skip.iter().sum(),
        }
    }

    fn check(&self) -> Result<(), StatsError> {
        let contradiction = |why| Err(StatsError::Inconsistent { what: "decode counts", why });
        let pooled = self.pooled();
        require_count("decode counts: tokens kept", 1, self.n_tokens)?;
        require_count("decode counts: verify forwards", 1, pooled.n_verifies)?;
        if self.n_target_forwards < pooled.n_verifies {
            let (n, v) = (self.n_target_forwards, pooled.n_verifies);
            return contradiction(format!("{n} target forwards include {v} verify forwards"));
        }
        let (accepted, emitted) = (&self.n_accepted_by_verify, &self.n_emitted_by_verify);
        if emitted.len() != accepted.len() {
            let (n, v) = (emitted.len(), accepted.len());
            return contradiction(format!("tokens of {n} verify forwards of {v}"));
        }
        if let Some((a, e)) = accepted.iter().zip(emitted).find(|(a, e)| a > e) {
            return contradiction(format!("a verify forward accepts {a} tokens and emits {e}"));
        }
        if self.n_forced_accepted > pooled.n_accepted {
            let (forced, all) = (self.n_forced_accepted, pooled.n_accepted);
            return contradiction(format!("{forced} forced tokens among {all} accepted"));
        }
        match self.depths.iter().position(|depth| depth.n_accepted > depth.n_tested) {
            None => Ok(()),
            Some(at) => {
                let DepthCounts { n_tested, n_accepted } = self.depths[at];
                contradiction(format!("depth {}: {n_accepted} accepted of {n_tested} tested", at + 1))
            }
        }
    }
}

impl Statistic for DecodeTotals {
    type Observation = ImageCounts;
    type Value = DecodeSummary;

    fn push(&mut self, observation: &ImageCounts) -> Result<(), StatsError> {
        let rates = observation.rates()?;
        self.pooled.add(&observation.pooled());
        add_depths(&mut self.depths, &observation.depths);
        self.rates.push(rates);
        Ok(())
    }

    fn merge(&mut self, later: &Self) -> Result<(), StatsError> {
        self.pooled.add(&later.pooled);
        add_depths(&mut self.depths, &later.depths);
        self.rates.extend_from_slice(&later.rates);
        Ok(())
    }

    fn value(&self) -> Result<DecodeSummary, StatsError> {
        require_count("decode summary: images", 1, self.rates.len() as u64)?;
        let mean = |rate: fn(&DecodeRates) -> f64| {
            self.rates.iter().map(rate).sum::<f64>() / self.rates.len() as f64
        };
        let macro_mean = DecodeRates {
            nfe: mean(|rates| rates.nfe),
            accepted_per_step: mean(|rates| rates.accepted_per_step),
            accepted_per_step_unforced: mean(|rates| rates.accepted_per_step_unforced),
            tokens_per_forward: mean(|rates| rates.tokens_per_forward),
            tokens_per_forward_with_skips: mean(|rates| rates.tokens_per_forward_with_skips),
            clipped_tokens_per_forward: mean(|rates| rates.clipped_tokens_per_forward),
            step_compression: mean(|rates| rates.step_compression),
        };
        let acceptance_by_depth = self
            .depths
            .iter()
            .map(|depth| (depth.n_tested > 0).then(|| depth.n_accepted as f64 / depth.n_tested as f64))
            .collect();
        Ok(DecodeSummary {
            n_images: self.rates.len(),
            macro_mean,
            micro: self.pooled.rates(),
            acceptance_by_depth,
        })
    }
}

/// Sums over images.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct PooledCounts {
    n_images: u64,
    n_tokens: u64,
    n_target_forwards: u64,
    n_verifies: u64,
    n_accepted: u64,
    /// By verifies.
    n_emitted: u64,
    n_forced_accepted: u64,
    n_skip_committed: u64,
}

impl PooledCounts {
    fn add(&mut self, other: &Self) {
        self.n_images += other.n_images;
        self.n_tokens += other.n_tokens;
        self.n_target_forwards += other.n_target_forwards;
        self.n_verifies += other.n_verifies;
        self.n_accepted += other.n_accepted;
        self.n_emitted += other.n_emitted;
        self.n_forced_accepted += other.n_forced_accepted;
        self.n_skip_committed += other.n_skip_committed;
    }

    /// The caller has checked that there is an image and a verify forward.
    fn rates(&self) -> DecodeRates {
        let n_verifies = self.n_verifies as f64;
        let n_tokens = self.n_tokens as f64;
        DecodeRates {
            nfe: self.n_target_forwards as f64 / self.n_images as f64,
            accepted_per_step: self.n_accepted as f64 / n_verifies,
            accepted_per_step_unforced: (self.n_accepted - self.n_forced_accepted) as f64 / n_verifies,
            tokens_per_forward: self.n_emitted as f64 / n_verifies,
            tokens_per_forward_with_skips: (self.n_emitted + self.n_skip_committed) as f64 / n_verifies,
            clipped_tokens_per_forward: n_tokens / n_verifies,
            step_compression: n_tokens / self.n_target_forwards as f64,
        }
    }
}

fn add_depths(sums: &mut Vec<DepthCounts>, depths: &[DepthCounts]) {
    if sums.len() < depths.len() {
        sums.resize(depths.len(), DepthCounts::default());
    }
    for (sum, depth) in sums.iter_mut().zip(depths) {
        sum.n_tested += depth.n_tested;
        sum.n_accepted += depth.n_accepted;
    }
}
