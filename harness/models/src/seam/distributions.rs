//! The probability pipeline on the device: logits of both guidance rows to distributions, in f32.
//! Guidance comes before any filter; ties at the k-th value survive top-k; the token that crosses top-p is
//! kept. [`specimen_decode::pipeline`] is the reference in plain Rust.

use std::{
    cell::{OnceCell, RefCell},
    rc::Rc,
};

use specimen_decode::{
    dist::{Dist, TokenId},
    pipeline::{FilterOrder, Sampling},
};
use tch::{Kind, Tensor};

use crate::seam::transfers::HostRows;

/// Scale of the row of a prompt's pictures in three-way guidance: that of Anole's own decoder.
pub const IMAGE_GUIDANCE: f64 = 1.2;

/// Guided, tempered logits before any filter. `logits`: `[b, n, v]` f32 with `b` 2 under guidance (caption
/// row `c` first, then `u` without it), 3 under three-way guidance (then `i`, of the prompt's pictures alone:
/// `u + 1.2 (i - u) + s (c - i)`), else 1; returns `[n, v]`.
pub fn guided_logits(logits: &Tensor, sampling: &Sampling) -> Tensor {
    let (conditional, n_rows) = (logits.get(0), logits.size()[0]);
    let guided = if n_rows == 1 {
        conditional
    } else {
        let unconditional = logits.get(1);
        let (base, below) = if n_rows == 3 {
            let image = logits.get(2);
            (&unconditional + (&image - &unconditional) * IMAGE_GUIDANCE, image)
        } else {
            (unconditional.shallow_clone(), unconditional)
        };
        base + (conditional - below) * f64::from(sampling.guidance as f32)
    };
    let temperature = sampling.temperature as f32;
    if temperature == 1.0 || sampling.is_greedy() {
        return guided;
    }
    guided / f64::from(temperature)
}

/// Final distributions. `logits` as in [`guided_logits`]; returns `[n, v]`, rows sum to 1.
pub fn distributions(logits: &Tensor, sampling: &Sampling) -> Tensor {
    let mut logits = guided_logits(logits, sampling);
    if sampling.is_greedy() {
        return greedy(&logits);
    }
    match sampling.filter_order {
        FilterOrder::TopKThenTopP => {
            keep_top_k(&mut logits, sampling.top_k);
            keep_top_p(&mut logits, sampling.top_p as f32);
        }
        FilterOrder::TopPThenTopK => {
            keep_top_p(&mut logits, sampling.top_p as f32);
            keep_top_k(&mut logits, sampling.top_k);
        }
    }
    logits.softmax(-1, None::<Kind>)
}

/// One-hot rows at the argmax, ties to the lowest id.
fn greedy(logits: &Tensor) -> Tensor {
    let n_vocab = logits.size()[1];
    let max = logits.amax([-1_i64].as_slice(), true);
    let is_max = logits.eq_tensor(&max);
    // argmax leaves ties open on some devices: the first true is the largest of a falling ramp.
    let ramp = Tensor::arange_start_step(n_vocab, 0, -1, (Kind::Int64, logits.device()));
    let first = (is_max.to_kind(Kind::Int64) * ramp).argmax(-1, true);
    // Adds 0, or NaN to a row that has no finite maximum: a broken model is noticed, not decoded as token 0.
    logits.zeros_like().scatter_value(-1, &first, 1.0) + max * 0.0
}

fn keep_top_k(logits: &mut Tensor, top_k: u32) {
    let n_vocab = logits.size()[1];
    let k = i64::from(top_k);
    if k == 0 || n_vocab <= k {
        return;
    }
    // Only the least of them is needed, so they need no order.
    let (values, _) = logits.topk(k, -1, true, false);
    let threshold = values.amin([-1_i64].as_slice(), true);
    *logits = logits.masked_fill(&logits.lt_tensor(&threshold), f64::NEG_INFINITY);
}

fn keep_top_p(logits: &mut Tensor, top_p: f32) {
    if top_p >= 1.0 {
        return;
    }
    let (sorted, order) = logits.softmax(-1, None::<Kind>).sort_stable(true, -1, true);
    let before = sorted.cumsum(-1, Kind::Double) - &sorted;
    let dropped = before.gt(f64::from(top_p));
    let mask = dropped.zeros_like().scatter(-1, &order, &dropped);
    *logits = logits.masked_fill(&mask, f64::NEG_INFINITY);
}

/// The `k` most probable tokens of each of `distributions` (`[n, v]`), as [`Dist::likeliest`]: only these cross to the host, in
/// one copy.
pub fn likeliest(distributions: &Tensor, k: usize) -> Vec<Vec<(TokenId, f32)>> {
    let (n, n_vocab) = (distributions.size()[0] as usize, distributions.size()[1]);
    let k = (k as i64).min(n_vocab);
    // A stable order keeps ties at the lowest id; the kernels that pick without one leave them open.
    let (values, ids) = distributions.sort_stable(true, -1, true);
    // Ids are far below 2^24, up to where f32 has every whole number.
    let first = [values.narrow(1, 0, k), ids.narrow(1, 0, k).to_kind(Kind::Float)];
    let rows = HostRows::of(&Tensor::cat(&first, 1));
    let of_row = |row: usize| {
        let row = rows.row(row);
        let (values, ids) = row.split_at(k as usize);
        ids.iter().zip(values).map(|(&id, &p)| (TokenId(id as u32), p)).collect()
    };
    (0..n).map(of_row).collect()
}

/// Distributions on the device; all cross to the host together when the first is read.
struct Crossing {
    /// `[n, v]`, f32
    distributions: Tensor,
    on_host: OnceCell<HostRows>,
}

/// Some rows of distributions on the device, with which their neighbours cross to the host.
pub struct DistributionRows {
    all: Rc<Crossing>,
    first: usize,
    rows: RefCell<Vec<Option<Rc<Dist>>>>,
}

impl DistributionRows {
    /// A view of `distributions`, `[n, v]`.
    pub fn new(distributions: Tensor) -> Self {
        let n = distributions.size()[0] as usize;
        let all = Rc::new(Crossing { distributions, on_host: OnceCell::new() });
        Self { all, first: 0, rows: RefCell::new(vec![None; n]) }
    }

    /// The `n` rows from `first` on.
    pub(crate) fn part(&self, first: usize, n: usize) -> Self {
        let rows = RefCell::new(self.rows.borrow()[first..first + n].to_vec());
        Self { all: self.all.clone(), first: self.first + first, rows }
    }

    /// Row `i`.
    pub fn row(&self, i: usize) -> Rc<Dist> {
        let read = || {
            let Crossing { distributions, on_host } = &*self.all;
            let rows = on_host.get_or_init(|| HostRows::of(distributions));
            Rc::new(Dist::from_probs(rows.row(self.first + i)))
        };
        self.rows.borrow_mut()[i].get_or_insert_with(read).clone()
    }

    /// Makes `distribution` row `i`, whatever the device has there.
    pub fn put(&self, i: usize, distribution: Dist) {
        self.rows.borrow_mut()[i] = Some(Rc::new(distribution));
    }

    /// All rows, in order.
    pub fn all(&self) -> Vec<Rc<Dist>> {
        let n = self.rows.borrow().len();
        (0..n).map(|i| self.row(i)).collect()
    }
}
