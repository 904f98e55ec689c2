//! What heads are trained on: feature regression (EAGLE-1) and soft cross-entropy, at every unrolled depth.
//!
//! Every image is run with its caption and with the null caption, and beside both distributions the *guided*
//! distribution can be matched: that is what verification compares, and guidance amplifies the drafter's errors. EAGLE-1 and
//! LANTERN match the rows alone, beside the features, at the first depth; EAGLE-3 the rows, at seven.
//!
//! CASCADE (arXiv 2605.07230, equation 4) weighs the soft cross-entropy of slot `k` by `c` where the target's features of
//! slots `k` and `k + 1` are redundant, `cos(F_k, F_(k+1)) >= tau_seq` with the caption: the first of the pair weighs more.
//! The mean is over all slots, weighted or not. The paper does not give the threshold of training. Its text speaks of a
//! hard cross-entropy beside the soft one and gives no weight: [`HeadLoss::hard_ce_weight`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use specimen_models::heads::draft_head::Head;
use tch::{Kind, Tensor};

use crate::{
    checkpoints::Kept,
    lesson::Lesson,
    unroll::{Unroll, unroll},
};

/// What a head's loss is made of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HeadLoss {
    /// Draft depths unrolled in training.
    pub depth: usize,
    /// Weight of depth `k` relative to depth `k - 1`.
    pub depth_decay: f64,
    /// Weight of the feature regression (smooth L1), where there is one.
    pub feature_weight: Option<f64>,
    /// Weight of the soft cross-entropy of each row, with the caption and without.
    pub row_weight: f64,
    /// Weight of the soft cross-entropy of the guided distributions; 0: there is none.
    pub guided_weight: f64,
    /// Guidance scale at which the guided distributions of drafter and target are matched.
    pub guidance: f64,
    /// More weight for redundant slots; absent: all weigh 1.
    pub redundancy: Option<Redundancy>,
    /// Weight of the cross-entropy of the image's own tokens, of both rows; 0: there is none.
    pub hard_ce_weight: f64,
}

/// CASCADE's weighting.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PairSlot {
    /// The earlier, as equation 4 of the paper has it.
    #[default]
    First,
    /// The later.
    Second,
}

fn overlap(a: &Tensor, b: &Tensor) -> Tensor {
    a.minimum(b).sum_dim_intlist([-1_i64].as_slice(), false, None::<Kind>).mean(Kind::Float)
}

impl HeadLoss {
    /// The soft cross-entropies of the embedded model's heads: half of both rows, and all of the guided distributions, which
    /// are what verification compares.
    pub fn soft(depth: usize, depth_decay: f64, guidance: f64) -> Self {
        let (row_weight, guided_weight) = (0.5, 1.0);
        let (feature_weight, redundancy, hard_ce_weight) = (None, None, 0.0);
        Self {
            depth,
            depth_decay,
            feature_weight,
            row_weight,
            guided_weight,
            guidance,
            redundancy,
            hard_ce_weight,
        }
    }

    /// Names of the values that [`HeadLoss::of`] reports.
    pub fn names(&self) -> Vec<&'static str> {
        let overlaps = ["overlap1", "overlap2", "overlap3"];
        let feature = self.feature_weight.map(|_| "feature");
        let redundant = self.redundancy.map(|_| "redundant");
        let overlaps = overlaps.into_iter().take(self.depth);
        std::iter::once("loss").chain(feature).chain(redundant).chain(overlaps).collect()
    }

    /// The loss of a batch with the graph of all depths, whose activations all stay alive, and what [`HeadLoss::learn`]
    /// reports. Training uses the latter.
    pub fn of(&self, head: &dyn Head, lesson: &Lesson<'_>) -> (Tensor, Vec<f64>) {
        let unrolled = unroll(head, lesson, self.depth);
        let aims = self.aims(lesson);
        let of_depths: Vec<OfDepth> = (0..)
            .zip(&unrolled)
            .map(|(k, features)| self.of_depth(head, lesson, &aims, (k, features)))
            .collect();
        self.summed(lesson, &of_depths)
    }

    /// Adds the gradient of the loss to that of the head's parameters, and returns the value of the loss, the mean regression,
    /// the share of redundant slots and the overlaps of the first depths (1 - total variation), as far as
    /// [`HeadLoss::names`] lists them.
    ///
    /// The graph of one depth is alive at a time. Between depths only the predictions, keys and values of each are kept; a
    /// depth is computed again when its gradient is (Chen et al., arXiv 1604.06174). The deepest comes first, as it
    /// does in the whole graph, so that sums are added in the same order.
    pub fn learn(&self, head: &dyn Head, lesson: &Lesson<'_>) -> Vec<f64> {
        let unroll = Unroll::new(head, lesson);
        let aims = self.aims(lesson);
        let front = unroll.front();
        let mut kept = Kept::of(&unroll, front.as_ref(), self.depth);
        let mut of_depths = Vec::new();
        for k in (0..self.depth).rev() {
            let drafted = unroll.next(kept.at(k));
            let of_depth = self.of_depth(head, lesson, &aims, (k, &drafted.predicted));
            match kept.arriving(&drafted) {
                Some(arriving) => (&of_depth.loss + arriving).backward(),
                None => of_depth.loss.backward(),
            }
            of_depths.push(OfDepth { loss: of_depth.loss.detach(), ..of_depth });
        }
        if let Some(arriving) = front.as_ref().and_then(|front| kept.arriving_at_front(front)) {
            arriving.backward();
        }
        of_depths.reverse();
        self.summed(lesson, &of_depths).1
    }

    /// What is matched.
    fn aims(&self, lesson: &Lesson<'_>) -> Aims {
        tch::no_grad(|| {
            let logits = lesson.target.logits(&lesson.features);
            let guided = lesson.guided(&logits, self.guidance).softmax(-1, None::<Kind>);
            Aims { rows: logits.softmax(-1, None::<Kind>), guided, weights: self.weights(lesson) }
        })
    }

    /// The loss of 0-based depth `k`, which predicts `features`, `[r, n - k, d]`.
    fn of_depth(
        &self,
        head: &dyn Head,
        lesson: &Lesson<'_>,
        aims: &Aims,
        (k, features): (usize, &Tensor),
    ) -> OfDepth {
        // Row r of depth k predicts the feature of slot r + k + 1.
        let from = k as i64 + 1;
        let m = lesson.features.size()[1] - from;
        let features = features.narrow(1, 0, m);
        let mut feature = 0.0;
        let regression = self.feature_weight.map(|feature_weight| {
            let loss = features.to_kind(Kind::Float).smooth_l1_loss(
                &lesson.features.narrow(1, from, m).to_kind(Kind::Float),
                tch::Reduction::Mean,
                1.0,
            );
            feature = loss.double_value(&[]) / self.depth as f64;
            loss * feature_weight
        });
        let logits = head.logits(lesson.target, &features);
        let guided_logits = lesson.guided(&logits, self.guidance);
        let cross = self.cross(aims, [&logits, &guided_logits], from);
        let overlap = (k < 3).then(|| {
            let p = tch::no_grad(|| guided_logits.softmax(-1, None::<Kind>));
            overlap(&p, &aims.guided.narrow(1, from, m)).double_value(&[])
        });
        let hard = (self.hard_ce_weight > 0.0).then(|| hard_ce(lesson, &logits, from) * self.hard_ce_weight);
        let loss = [regression, hard].into_iter().flatten().fold(cross, |sum, term| term + sum);
        OfDepth { loss: loss * self.depth_decay.powi(k as i32), feature, overlap }
    }

    /// The loss of all depths, and what is reported of it.
    fn summed(&self, lesson: &Lesson<'_>, of_depths: &[OfDepth]) -> (Tensor, Vec<f64>) {
        let mut total = Tensor::zeros([], (Kind::Float, lesson.features.device()));
        for of_depth in of_depths {
            total += &of_depth.loss;
        }
        let mut values = vec![total.double_value(&[])];
        values.extend(self.feature_weight.map(|_| of_depths.iter().map(|of| of.feature).sum::<f64>()));
        values.extend(self.redundancy.map(|r| r.share(&lesson.neighbour_cosines())));
        values.extend(of_depths.iter().filter_map(|of| of.overlap));
        (total, values)
    }

    /// What every slot weighs, where they differ.
    fn weights(&self, lesson: &Lesson<'_>) -> SlotWeights {
        let redundant = self.redundancy.map(|redundancy| redundancy.weights(&lesson.neighbour_cosines()));
        SlotWeights { redundant, drawn: lesson.drawn.as_ref().map(Tensor::shallow_clone) }
    }

    /// The soft cross-entropies of the slots from `from` on. `logits`: of all rows, `[r, m, v]`, and guided, `[b, m, v]`.
    fn cross(&self, aims: &Aims, [logits, guided_logits]: [&Tensor; 2], from: i64) -> Tensor {
        let soft = |distributions: &Tensor, logits: &Tensor| {
            let m = logits.size()[1];
            let nats = -(distributions.narrow(1, from, m) * logits.log_softmax(-1, None::<Kind>));
            let nats = nats.sum_dim_intlist([-1_i64].as_slice(), false, None::<Kind>);
            aims.weights.mean(nats, from)
        };
        let of_rows = soft(&aims.rows, logits) * self.row_weight;
        if self.guided_weight == 0.0 {
            return of_rows;
        }
        of_rows + soft(&aims.guided, guided_logits) * self.guided_weight
    }
}

/// What one depth gives to the loss.
struct OfDepth {
    /// Its loss, weighted; a scalar in f32.
    loss: Tensor,
    /// Its part of the mean regression.
    feature: f64,
    /// Overlap of the guided distributions, of the first depths.
    overlap: Option<f64>,
}

/// The target's distributions of all slots, and what the slots weigh.
struct Aims {
    /// `[r, n, v]`
    rows: Tensor,
    /// `[b, n, v]`
    guided: Tensor,
    weights: SlotWeights,
}

/// What slots weigh in a mean over them.
struct SlotWeights {
    /// `[b, n]`; absent: all weigh 1.
    redundant: Option<Tensor>,
    /// `[n]`: 1 where a token is drawn, else 0; absent: all are.
    drawn: Option<Tensor>,
}

impl SlotWeights {
    /// The weighted sum of `nats` (`[r, m]`, slots from `from` on) by the number of slots that are drawn: the mean is over
    /// all of them, weighted or not.
    fn mean(&self, nats: Tensor, from: i64) -> Tensor {
        let (rows, m) = nats.size2().expect("nats have two axes");
        let nats = match &self.redundant {
            None => nats,
            Some(weights) => nats * weights.narrow(1, from, m).repeat([rows / weights.size()[0], 1]),
        };
        mean_of_drawn(nats, self.drawn.as_ref(), from)
    }
}

fn mean_of_drawn(nats: Tensor, drawn: Option<&Tensor>, from: i64) -> Tensor {
    let (rows, m) = nats.size2().expect("nats have two axes");
    match drawn {
        None => nats.mean(Kind::Float),
        Some(drawn) => {
            let drawn = drawn.narrow(0, from, m);
            (nats * &drawn).sum(Kind::Float) / (drawn.sum(Kind::Float) * rows as f64)
        }
    }
}

/// Cross-entropy of the image's own tokens from `from` on, over all rows. `logits`: `[r, m, v]`.
fn hard_ce(lesson: &Lesson<'_>, logits: &Tensor, from: i64) -> Tensor {
    let (rows, m) = (logits.size()[0], logits.size()[1]);
    let own = lesson.tokens.narrow(1, from, m).repeat([rows / lesson.n_images(), 1]).unsqueeze(-1);
    let nats = -logits.log_softmax(-1, None::<Kind>).gather(-1, &own, false);
    mean_of_drawn(nats.squeeze_dim(-1), lesson.drawn.as_ref(), from)
}

/// What a head does on held-out images, collected lesson by lesson: overlap of guided distributions (1 - total variation)
/// by depth, the cosine of neighbouring target features and, where slots are weighed, the share of redundant ones.
pub struct Measured<'l> {
    loss: &'l HeadLoss,
    overlaps: Vec<f64>,
    cosine: f64,
    redundant: f64,
    n_images: f64,
}

impl<'l> Measured<'l> {
    /// Nothing yet.
    pub fn new(loss: &'l HeadLoss) -> Self {
        Self { loss, overlaps: vec![0.0; loss.depth], cosine: 0.0, redundant: 0.0, n_images: 0.0 }
    }

    /// Adds the images of a lesson.
    pub fn add(&mut self, head: &dyn Head, lesson: &Lesson<'_>) {
        let _guard = tch::no_grad_guard();
        let n = lesson.n_images() as f64;
        let distributions = lesson.guided(&lesson.target.logits(&lesson.features), self.loss.guidance);
        let distributions = distributions.softmax(-1, None::<Kind>);
        let len = lesson.features.size()[1];
        for (k, features) in unroll(head, lesson, self.loss.depth).iter().enumerate() {
            let m = len - k as i64 - 1;
            let logits = head.logits(lesson.target, &features.narrow(1, 0, m));
            let p = lesson.guided(&logits, self.loss.guidance).softmax(-1, None::<Kind>);
            self.overlaps[k] += overlap(&p, &distributions.narrow(1, k as i64 + 1, m)).double_value(&[]) * n;
        }
        let cosines = lesson.neighbour_cosines();
        self.cosine += cosines.mean(Kind::Float).double_value(&[]) * n;
        self.redundant += self.loss.redundancy.map_or(0.0, |r| r.share(&cosines)) * n;
        self.n_images += n;
    }

    /// The means by their names.
    pub fn named(&self) -> Vec<(String, f64)> {
        let mut named: Vec<(String, f64)> = self
            .overlaps
            .iter()
            .enumerate()
            .map(|(k, sum)| (format!("overlap_depth{}", k + 1), sum / self.n_images))
            .collect();
        named.push(("neighbour_feature_cosine".into(), self.cosine / self.n_images));
        if self.loss.redundancy.is_some() {
            named.push(("redundant_share".into(), self.redundant / self.n_images));
        }
        named.push(("n_validation".into(), self.n_images));
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
