//! A head run over whole images, some drafts deep on its own predictions (HASS, Zhang et al., arXiv 2408.15766;
//! the training-time test of EAGLE-3, arXiv 2503.01840).

use specimen_models::{
    families::tiny::TinyBackbone,
    heads::draft_head::DraftHead,
    llama::layer::{Rotary, causal_mask},
};
use tch::{Kind, Tensor};

/// Predicted features of every depth, `[rows, n - depth, d]` each: row `r` of 0-based depth `k` predicts the
/// feature of slot `r + k + 1`.
///
/// Slot `j` of depth `k` consumes token `j` and, in place of the target's feature, what depth `k - 1` predicted
/// for it; it attends to true slots `..= j - k` and to its own chain of drafted slots. `tokens`: `[b, n]`, i64;
/// `features`: what the head reads of the target, `[rows, n, w]`, `rows` a multiple of `b`.
pub fn unroll(
    head: &dyn DraftHead,
    target: &TinyBackbone,
    tokens: &Tensor,
    features: &Tensor,
    depth: usize,
) -> Vec<Tensor> {
    let (rows, n, _) = features.size3().expect("features have three axes");
    let embeddings = target.embed_batch(tokens).repeat([rows / tokens.size()[0], 1, 1]);
    let whole_mask = causal_mask(n, embeddings.kind());
    let rotary = target.image_rotary(0, n);
    let mut input = head.admit(features);
    let mut predicted: Vec<Tensor> = Vec::new();
    let mut keys: Vec<Tensor> = Vec::new();
    let mut values: Vec<Tensor> = Vec::new();
    for k in 0..depth as i64 {
        let m = n - k;
        let rotary = Rotary { cos: rotary.cos.narrow(0, k, m), sin: rotary.sin.narrow(0, k, m) };
        let opened = head.open(&embeddings.narrow(1, k, m), &input, &rotary);
        let (q, key, value) = opened.projected;
        let heads_first = |x: &Tensor| x.transpose(1, 2);
        let (q, key, value) = (heads_first(&q), heads_first(&key), heads_first(&value));
        let scale = (q.size()[3] as f64).powf(-0.5);
        keys.push(key);
        values.push(value);
        // Row r of depth k is slot r + k; it sees true slots 0 ..= r.
        let mut scores = vec![
            q.matmul(&keys[0].transpose(2, 3)).narrow(3, 0, m) * scale
                + whole_mask.narrow(0, 0, m).narrow(1, 0, m),
        ];
        for chain in 1..=k {
            // The drafted slot of depth `chain` on the same chain: row r of that depth.
            let along = keys[chain as usize].narrow(2, 0, m);
            scores.push((&q * along).sum_dim_intlist([-1_i64].as_slice(), true, None::<Kind>) * scale);
        }
        let weights = Tensor::cat(&scores, 3).softmax(-1, None::<Kind>);
        let mut context = weights.narrow(3, 0, m).matmul(&values[0].narrow(2, 0, m));
        for chain in 1..=k {
            context += weights.narrow(3, m + chain - 1, 1) * values[chain as usize].narrow(2, 0, m);
        }
        let context = context.transpose(1, 2).reshape([rows, m, -1]);
        let out = head.close(&opened.x, &context);
        // The prediction at slot j is the feature of slot j + 1.
        input = out.narrow(1, 0, m - 1);
        predicted.push(out);
    }
    predicted
}
