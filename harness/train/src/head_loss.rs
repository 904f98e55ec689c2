//! What heads are trained on: feature regression (EAGLE-1) and soft cross-entropy, at every unrolled depth.
//!
//! Every image is run with its caption and with the null caption, and beside both distributions the *guided*
//! distribution is matched: that is what verification compares, and guidance amplifies the drafter's errors.
//!
//! CASCADE (arXiv 2605.07230, equation 4) weighs the soft cross-entropy of slot `k` by `c` where the target's features of
//! slots `k` and `k + 1` are redundant, `cos(F_k, F_(k+1)) >= tau_seq` with the caption: the first of the pair weighs more.
//! The mean is over all slots, weighted or not. The paper does not give the threshold of training. Its text speaks of a
//! hard cross-entropy beside the soft one and gives no weight: [`HeadLoss::hard_ce_weight`].

use serde::{Deserialize, Serialize};
use specimen_datasets::scenes::NULL_ID;
use specimen_models::{families::tiny::TinyBackbone, heads::draft_head::DraftHead, seam::backbone::Backbone};
use tch::{Device, Kind, Tensor};

use crate::unroll::unroll;

/// What a head's loss is made of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HeadLoss {
    /// Draft depths unrolled in training.
    pub depth: usize,
    /// Weight of depth `k` relative to depth `k - 1`.
    pub depth_decay: f64,
    /// Weight of the feature regression (smooth L1), where there is one; the soft cross-entropies weigh 1.
    pub feature_weight: Option<f64>,
    /// Guidance scale at which the guided distributions of drafter and target are matched.
    pub guidance: f64,
    /// More weight for redundant slots; absent: all weigh 1.
    pub redundancy: Option<Redundancy>,
    /// Weight of the cross-entropy of the image's own tokens, of both rows; 0: there is none.
    pub hard_ce_weight: f64,
}

/// CASCADE's weighting.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Redundancy {
    /// Weight of a redundant slot; 2 in the paper.
    pub c: f64,
    /// Cosine from which on a slot is redundant.
    pub tau_seq: f64,
    /// Which slot of a redundant pair weighs more.
    #[serde(default)]
    pub slot: PairSlot,
}

/// One of two slots that follow one another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PairSlot {
    /// The earlier, as equation 4 of the paper has it.
    #[default]
    First,
    /// The later.
    Second,
}

/// A head with the frozen target it drafts for.
pub struct Pair<H> {
    /// The head that is trained.
    pub head: H,
    /// The target, which stays as it is.
    pub target: TinyBackbone,
}

/// Images of a step.
pub struct HeadBatch {
    /// `[b, 256]`, i64
    pub tokens: Tensor,
    /// `[b, 20]`, i64
    pub captions: Tensor,
    /// `[2 b, 256, w]`: noise for what the head reads of the target; absent: none.
    pub noise: Option<Tensor>,
}

/// The target on whole images, with the caption and then with the null caption.
struct Truth {
    /// After the final norm, `[2 b, 256, d]`; row `j` predicts token `j`.
    features: Tensor,
    /// What the head reads, `[2 b, 256, w]`.
    read: Tensor,
}

impl Truth {
    fn new<H: DraftHead>(pair: &Pair<H>, captions: &Tensor, tokens: &Tensor) -> Self {
        let _guard = tch::no_grad_guard();
        let null = Tensor::full_like(captions, i64::from(NULL_ID));
        let both = Tensor::cat(&[captions, &null], 0);
        let tapped = pair.target.features_tapped(&both, &tokens.repeat([2, 1]), pair.head.taps());
        let read = match tapped.inner.as_slice() {
            [] => tapped.features.shallow_clone(),
            inner => Tensor::cat(inner, -1),
        };
        Self { features: tapped.features, read }
    }

    /// Cosines of neighbouring features with the caption, `[b, 255]`, f32.
    fn neighbour_cosines(&self) -> Tensor {
        let captioned = self.features.chunk(2, 0)[0].to_kind(Kind::Float);
        let n = captioned.size()[1] - 1;
        Tensor::cosine_similarity(&captioned.narrow(1, 0, n), &captioned.narrow(1, 1, n), -1, 1e-8)
    }
}

/// Logits of both rows to guided logits: `null + s (caption - null)`. `[2 b, n, v]` to `[b, n, v]`.
pub(crate) fn guided(logits: &Tensor, scale: f64) -> Tensor {
    let rows = logits.chunk(2, 0);
    &rows[1] + (&rows[0] - &rows[1]) * scale
}

fn overlap(a: &Tensor, b: &Tensor) -> Tensor {
    a.minimum(b).sum_dim_intlist([-1_i64].as_slice(), false, None::<Kind>).mean(Kind::Float)
}

impl HeadLoss {
    /// Names of the values that [`HeadLoss::of`] reports.
    #[must_use]
    pub fn names(&self) -> Vec<&'static str> {
        let overlaps = ["overlap1", "overlap2", "overlap3"];
        let feature = self.feature_weight.map(|_| "feature");
        let redundant = self.redundancy.map(|_| "redundant");
        let overlaps = overlaps.into_iter().take(self.depth);
        std::iter::once("loss").chain(feature).chain(redundant).chain(overlaps).collect()
    }

    /// The loss of a batch with its graph, and its value, the mean regression, the share of redundant slots and
    /// the overlaps of the first depths (1 - total variation), as far as [`HeadLoss::names`] lists them.
    pub fn of<H: DraftHead>(&self, pair: &Pair<H>, batch: &HeadBatch) -> (Tensor, Vec<f64>) {
        let truth = Truth::new(pair, &batch.captions, &batch.tokens);
        let noisy = match &batch.noise {
            Some(noise) => &truth.read + noise,
            None => truth.read.shallow_clone(),
        };
        let unrolled = unroll(&pair.head, &pair.target, &batch.tokens, &noisy, self.depth);
        let n = truth.features.size()[1];
        let (distributions, guided_distributions) = tch::no_grad(|| {
            let logits = pair.target.logits(&truth.features);
            (logits.softmax(-1, None::<Kind>), guided(&logits, self.guidance).softmax(-1, None::<Kind>))
        });
        let weights = self.redundancy.map(|redundancy| redundancy.weights(&truth.neighbour_cosines()));
        let mut total = Tensor::zeros([], (Kind::Float, Device::Cpu));
        let (mut feature, mut overlaps) = (0.0, Vec::new());
        for (k, features) in unrolled.iter().enumerate() {
            let depth = k as i64;
            // Row r of depth k predicts the feature of slot r + k + 1.
            let m = n - depth - 1;
            let features = features.narrow(1, 0, m);
            let aim = |x: &Tensor| x.narrow(1, depth + 1, m);
            let regression = self.feature_weight.map(|feature_weight| {
                let loss = features.to_kind(Kind::Float).smooth_l1_loss(
                    &aim(&truth.features).to_kind(Kind::Float),
                    tch::Reduction::Mean,
                    1.0,
                );
                feature += loss.double_value(&[]) / self.depth as f64;
                loss * feature_weight
            });
            let logits = pair.head.logits(&pair.target, &features);
            let weights = weights.as_ref().map(|weights| weights.narrow(1, depth + 1, m));
            let soft = |distributions: &Tensor, logits: &Tensor, weights: Option<Tensor>| {
                let nats = -(aim(distributions) * logits.log_softmax(-1, None::<Kind>));
                let nats = nats.sum_dim_intlist([-1_i64].as_slice(), false, None::<Kind>);
                let nats = match weights {
                    Some(weights) => nats * weights,
                    None => nats,
                };
                nats.mean(Kind::Float)
            };
            let guided_logits = guided(&logits, self.guidance);
            let of_rows = weights.as_ref().map(|weights| weights.repeat([2, 1]));
            let cross = soft(&distributions, &logits, of_rows) * 0.5
                + soft(&guided_distributions, &guided_logits, weights);
            let weight = self.depth_decay.powi(k as i32);
            if k < 3 {
                let p = tch::no_grad(|| guided_logits.softmax(-1, None::<Kind>));
                overlaps.push(overlap(&p, &aim(&guided_distributions)).double_value(&[]));
            }
            let hard = (self.hard_ce_weight > 0.0).then(|| {
                let drawn = batch.tokens.narrow(1, depth + 1, m).repeat([2, 1]).unsqueeze(-1);
                -logits.log_softmax(-1, None::<Kind>).gather(-1, &drawn, false).mean(Kind::Float)
                    * self.hard_ce_weight
            });
            let of_depth = [regression, hard].into_iter().flatten().fold(cross, |sum, term| term + sum);
            total += of_depth * weight;
        }
        let mut values = vec![total.double_value(&[])];
        values.extend(self.feature_weight.map(|_| feature));
        values.extend(self.redundancy.map(|r| r.share(&truth.neighbour_cosines())));
        values.extend(overlaps);
        (total, values)
    }

    /// Overlap of guided distributions (1 - total variation) by depth, the cosine of neighbouring target features and,
    /// where slots are weighed, the share of redundant ones; on the images given as pairs of tokens and captions.
    pub fn measure<H: DraftHead>(
        &self,
        pair: &Pair<H>,
        batches: impl Iterator<Item = (Tensor, Tensor)>,
    ) -> Vec<(String, f64)> {
        let _guard = tch::no_grad_guard();
        let mut overlaps = vec![0.0; self.depth];
        let (mut cosine, mut redundant, mut n_images) = (0.0, 0.0, 0.0);
        for (tokens, captions) in batches {
            let n = tokens.size()[0] as f64;
            let truth = Truth::new(pair, &captions, &tokens);
            let distributions = guided(&pair.target.logits(&truth.features), self.guidance);
            let distributions = distributions.softmax(-1, None::<Kind>);
            let len = truth.features.size()[1];
            let unrolled = unroll(&pair.head, &pair.target, &tokens, &truth.read, self.depth);
            for (k, features) in unrolled.iter().enumerate() {
                let m = len - k as i64 - 1;
                let logits = pair.head.logits(&pair.target, &features.narrow(1, 0, m));
                let p = guided(&logits, self.guidance).softmax(-1, None::<Kind>);
                overlaps[k] += overlap(&p, &distributions.narrow(1, k as i64 + 1, m)).double_value(&[]) * n;
            }
            let cosines = truth.neighbour_cosines();
            cosine += cosines.mean(Kind::Float).double_value(&[]) * n;
            redundant += self.redundancy.map_or(0.0, |r| r.share(&cosines)) * n;
            n_images += n;
        }
        let mut named: Vec<(String, f64)> = overlaps
            .iter()
            .enumerate()
            .map(|(k, sum)| (format!("overlap_depth{}", k + 1), sum / n_images))
            .collect();
        named.push(("neighbour_feature_cosine".into(), cosine / n_images));
        if self.redundancy.is_some() {
            named.push(("redundant_share".into(), redundant / n_images));
        }
        named.push(("n_validation".into(), n_images));
        named
    }
}

impl Redundancy {
    /// Weights of all slots, `[b, n]`, from the cosines of neighbours, `[b, n - 1]`, f32. The slot of an image's end that
    /// is in no pair weighs 1.
    fn weights(&self, cosines: &Tensor) -> Tensor {
        let of_pairs = cosines.ge(self.tau_seq).to_kind(Kind::Float) * (self.c - 1.0) + 1.0;
        let alone = Tensor::ones([cosines.size()[0], 1], (Kind::Float, cosines.device()));
        match self.slot {
            PairSlot::First => Tensor::cat(&[of_pairs, alone], 1),
            PairSlot::Second => Tensor::cat(&[alone, of_pairs], 1),
        }
    }

    fn share(&self, cosines: &Tensor) -> f64 {
        cosines.ge(self.tau_seq).to_kind(Kind::Float).mean(Kind::Float).double_value(&[])
    }
}
