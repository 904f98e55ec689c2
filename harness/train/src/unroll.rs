//! A head run over whole images, some drafts deep on its own predictions (HASS, Zhang et al., arXiv 2408.15766;
//! the training-time test of EAGLE-3, arXiv 2503.01840).

use specimen_models::{
    heads::draft_head::Head,
    llama::layer::{Rotary, causal_mask},
};
use tch::{Kind, Tensor};

use crate::lesson::Lesson;

/// Predicted features of every depth, `[r, n - depth, d]` each: row `j` of 0-based depth `k` predicts the
/// feature of slot `j + k + 1`.
///
/// Slot `j` of depth `k` consumes token `j` and, in place of the target's feature, what depth `k - 1` predicted
/// for it; it attends to what stands before the image, to true slots `..= j - k` and to its own chain of drafted slots.
pub fn unroll(head: &dyn Head, lesson: &Lesson<'_>, depth: usize) -> Vec<Tensor> {
    let (rows, n, _) = lesson.read.size3().expect("features have three axes");
    let b = lesson.n_images();
    let embeddings = head.embed(lesson.target, &lesson.tokens.reshape([-1]), &lesson.positions.repeat([b]));
    let embeddings = embeddings.view([b, n, -1]).repeat([rows / b, 1, 1]);
    let heads_first = |x: &Tensor| x.transpose(1, 2);
    let front = lesson.front.as_ref().map(|front| {
        let n_front = front.embeddings.size()[1];
        let opened =
            head.open(&front.embeddings, &head.admit(&front.read), &rows_of(&lesson.rotary, 0, n_front));
        let (_, key, value) = opened.projected;
        (n_front, heads_first(&key), heads_first(&value))
    });
    let n_front = front.as_ref().map_or(0, |(n_front, ..)| *n_front);
    let whole_mask = mask(lesson, n, n_front, &embeddings);
    let mut input = head.admit(&lesson.read);
    let mut predicted: Vec<Tensor> = Vec::new();
    let mut keys: Vec<Tensor> = Vec::new();
    let mut values: Vec<Tensor> = Vec::new();
    for k in 0..depth as i64 {
        let m = n - k;
        let rotary = rows_of(&lesson.rotary, n_front + k, m);
        let opened = head.open(&embeddings.narrow(1, k, m), &input, &rotary);
        let (q, key, value) = opened.projected;
        let (q, key, value) = (heads_first(&q), heads_first(&key), heads_first(&value));
        let scale = (q.size()[3] as f64).powf(-0.5);
        match (&front, k) {
            (Some((_, front_key, front_value)), 0) => {
                keys.push(Tensor::cat(&[front_key, &key], 2));
                values.push(Tensor::cat(&[front_value, &value], 2));
            }
            _ => {
                keys.push(key);
                values.push(value);
            }
        }
        // Row r of depth k is slot r + k; it sees the front and true slots 0 ..= r.
        let n_true = n_front + m;
        let mut scores = vec![
            q.matmul(&keys[0].transpose(2, 3)).narrow(3, 0, n_true) * scale
                + whole_mask.narrow(-2, 0, m).narrow(-1, 0, n_true),
        ];
        for chain in 1..=k {
            // The drafted slot of depth `chain` on the same chain: row r of that depth.
            let along = keys[chain as usize].narrow(2, 0, m);
            scores.push((&q * along).sum_dim_intlist([-1_i64].as_slice(), true, None::<Kind>) * scale);
        }
        let weights = Tensor::cat(&scores, 3).softmax(-1, None::<Kind>);
        let mut context = weights.narrow(3, 0, n_true).matmul(&values[0].narrow(2, 0, n_true));
        for chain in 1..=k {
            context += weights.narrow(3, n_true + chain - 1, 1) * values[chain as usize].narrow(2, 0, m);
        }
        let context = context.transpose(1, 2).reshape([rows, m, -1]);
        let out = head.close(&opened.x, &context);
        // The prediction at slot j is the feature of slot j + 1.
        input = out.narrow(1, 0, m - 1);
        predicted.push(out);
    }
    predicted
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
