//! A head run over whole images, some drafts deep on its own predictions (HASS, Zhang et al., arXiv 2408.15766;
//! the training-time test of EAGLE-3, arXiv 2503.01840).

use specimen_models::{
    heads::draft_head::Head,
    llama::layer::{Rotary, causal_mask},
};
use tch::{Kind, Tensor};

use crate::lesson::Lesson;

/// Predicted features of every depth, `[r, n - depth, d]` each: row `j` of 0-based depth `k` predicts the
/// feature of slot `j + k + 1`. With the graph of all depths, if there is one.
///
/// Slot `j` of depth `k` consumes token `j` and, in place of the target's feature, what depth `k - 1` predicted
/// for it; it attends to what stands before the image, to true slots `..= j - k` and to its own chain of drafted slots.
pub fn unroll(head: &dyn Head, lesson: &Lesson<'_>, depth: usize) -> Vec<Tensor> {
    let unroll = Unroll::new(head, lesson);
    let mut seen = Seen::behind(unroll.front());
    let draft = |_: usize| {
        let drafted = unroll.next(&seen);
        let predicted = drafted.predicted.shallow_clone();
        seen.push(drafted);
        predicted
    };
    (0..depth).map(draft).collect()
}

/// A head over a lesson, one depth after the other.
pub(crate) struct Unroll<'a> {
    head: &'a dyn Head,
    lesson: &'a Lesson<'a>,
    /// Input vectors of the image, `[r, n, d]`.
    embeddings: Tensor,
    /// Of the first depth, as from [`mask`].
    mask: Tensor,
    /// Pairs before the image.
    n_front: i64,
}

/// Keys and values, `[r, heads, m, d_head]` each.
pub(crate) struct Projected {
    pub(crate) key: Tensor,
    pub(crate) value: Tensor,
}

/// What a depth reads of what was drafted before it.
pub(crate) struct Seen {
    /// Of the pairs before the image, where there are some.
    pub(crate) front: Option<Projected>,
    /// Of the depths so far; those of depth 0 begin with the pairs before the image.
    pub(crate) projected: Vec<Projected>,
    /// The predictions that the next depth reads, `[r, m, d]`; absent at depth 0, which reads the target.
    pub(crate) input: Option<Tensor>,
}

/// What one depth gives.
pub(crate) struct Drafted {
    /// `[r, m, d]`
    pub(crate) predicted: Tensor,
    /// Of this depth; that of depth 0 begins with the pairs before the image.
    pub(crate) projected: Projected,
}

impl Seen {
    /// Before depth 0.
    pub(crate) fn behind(front: Option<Projected>) -> Self {
        Self { front, projected: Vec::new(), input: None }
    }

    fn push(&mut self, drafted: Drafted) {
        self.input = Some(drafted.passed_on());
        self.projected.push(drafted.projected);
    }
}

impl Drafted {
    /// What the next depth reads of the predictions: the one at slot `j` is the feature of slot `j + 1`.
    pub(crate) fn passed_on(&self) -> Tensor {
        self.predicted.narrow(1, 0, self.predicted.size()[1] - 1)
    }
}

impl<'a> Unroll<'a> {
    /// Nothing is drafted yet.
    ///
    /// # Panics
    /// If the head trains its input vectors: none does, and their gradient would be lost between depths.
    pub(crate) fn new(head: &'a dyn Head, lesson: &'a Lesson<'a>) -> Self {
        let (rows, n, _) = lesson.read.size3().expect("features have three axes");
        let b = lesson.n_images();
        let embeddings =
            head.embed(lesson.target, &lesson.tokens.reshape([-1]), &lesson.positions.repeat([b]));
        assert!(!embeddings.requires_grad(), "input vectors are not trained");
        let embeddings = embeddings.view([b, n, -1]).repeat([rows / b, 1, 1]);
        let n_front = lesson.front.as_ref().map_or(0, |front| front.embeddings.size()[1]);
        let mask = mask(lesson, n, n_front, &embeddings);
        Self { head, lesson, embeddings, mask, n_front }
    }

    /// Keys and values of the pairs before the image, where there are some.
    pub(crate) fn front(&self) -> Option<Projected> {
        self.lesson.front.as_ref().map(|front| {
            let rotary = rows_of(&self.lesson.rotary, 0, self.n_front);
            let opened = self.head.open(&front.embeddings, &self.head.admit(&front.read), &rotary);
            let (_, key, value) = opened.projected;
            Projected { key: heads_first(&key), value: heads_first(&value) }
        })
    }

    /// The depth behind what was seen.
    pub(crate) fn next(&self, seen: &Seen) -> Drafted {
        let (rows, n, _) = self.embeddings.size3().expect("input vectors have three axes");
        let k = seen.projected.len() as i64;
        let m = n - k;
        let rotary = rows_of(&self.lesson.rotary, self.n_front + k, m);
        let input = match &seen.input {
            Some(input) => input.shallow_clone(),
            None => self.head.admit(&self.lesson.read),
        };
        let opened = self.head.open(&self.embeddings.narrow(1, k, m), &input, &rotary);
        let (q, key, value) = opened.projected;
        let (q, key, value) = (heads_first(&q), heads_first(&key), heads_first(&value));
        let scale = (q.size()[3] as f64).powf(-0.5);
        let own = match (&seen.front, k) {
            (Some(front), 0) => Projected {
                key: Tensor::cat(&[&front.key, &key], 2),
                value: Tensor::cat(&[&front.value, &value], 2),
            },
            _ => Projected { key, value },
        };
        let all: Vec<&Projected> = seen.projected.iter().chain([&own]).collect();
        // Row r of depth k is slot r + k; it sees the front and true slots 0 ..= r.
        let n_true = self.n_front + m;
        let mut scores = vec![
            q.matmul(&all[0].key.transpose(2, 3)).narrow(3, 0, n_true) * scale
                + self.mask.narrow(-2, 0, m).narrow(-1, 0, n_true),
        ];
        for chained in &all[1..] {
            // The drafted slot of that depth on the same chain: row r of it.
            let along = chained.key.narrow(2, 0, m);
            scores.push((&q * along).sum_dim_intlist([-1_i64].as_slice(), true, None::<Kind>) * scale);
        }
        let weights = Tensor::cat(&scores, 3).softmax(-1, None::<Kind>);
        let mut context = weights.narrow(3, 0, n_true).matmul(&all[0].value.narrow(2, 0, n_true));
        for (chain, chained) in (0..).zip(&all[1..]) {
            context += weights.narrow(3, n_true + chain, 1) * chained.value.narrow(2, 0, m);
        }
        let context = context.transpose(1, 2).reshape([rows, m, -1]);
        Drafted { predicted: self.head.close(&opened.x, &context), projected: own }
    }
}

/// `[r, n, heads, d_head]` to `[r, heads, n, d_head]`.
fn heads_first(x: &Tensor) -> Tensor {
    x.transpose(1, 2)
}

/// Rows `from..from + n`.
fn rows_of(rotary: &Rotary, from: i64, n: i64) -> Rotary {
    Rotary { cos: rotary.cos.narrow(0, from, n), sin: rotary.sin.narrow(0, from, n) }
}

/// Additive mask of the first depth, `[n, f + n]`, or `[r, 1, n, f + n]` where pairs of the front are hidden. In the kind
/// and on the device of `like`.
fn mask(lesson: &Lesson<'_>, n: i64, n_front: i64, like: &Tensor) -> Tensor {
    let causal = causal_mask(n, like.kind()).to_device(like.device());
    if n_front == 0 {
        return causal;
    }
    let hidden = lesson.front.as_ref().and_then(|front| front.hidden.as_ref());
    match hidden {
        None => Tensor::cat(&[causal.new_zeros([n, n_front], (causal.kind(), causal.device())), causal], 1),
        Some(hidden) => {
            let rows = hidden.size()[0];
            let of_front = hidden.expand([rows, 1, n, n_front], false);
            Tensor::cat(&[of_front, causal.view([1, 1, n, n]).expand([rows, 1, n, n], false)], 3)
        }
    }
}
