//! The unrolled head against itself, one draft after the other.

use specimen_models::{
    heads::draft_head::Head,
    llama::layer::{causal_mask, whole_attention},
};
use specimen_train::{
    pair::{HeadBatch, Pair},
    unroll::unroll,
};
use tch::{Kind, Tensor, no_grad};

use crate::support::{N_TOKENS, batch, eagle1, eagle3, target};

/// What `head` predicts after `depth + 1` tokens that follow slot `row - 1`: true features up to slot `row`, its
/// own predictions in place of the later ones. `[2 b, d]`.
fn drafted(head: &dyn Head, batch: &HeadBatch, read: &Tensor, row: i64, depth: i64) -> Tensor {
    let target = target();
    let mut features = head.admit(&read.narrow(1, 0, row + 1));
    loop {
        let n = features.size()[1];
        let embeddings = target.embed_batch(&batch.tokens.narrow(1, 0, n)).repeat([2, 1, 1]);
        let opened = head.open(&embeddings, &features, &target.image_rotary(0, n));
        let (q, k, v) = &opened.projected;
        let context = whole_attention(q, k, v, &causal_mask(n, Kind::Float));
        let last = head.close(&opened.x, &context).narrow(1, n - 1, 1);
        if n == row + 1 + depth {
            return last.squeeze_dim(1);
        }
        features = Tensor::cat(&[&features, &last], 1);
    }
}

fn check_unrolled<H: Head>(pair: &Pair<H>, name: &str) {
    let batch = batch();
    no_grad(|| {
        let lesson = pair.lesson(&batch);
        let unrolled = unroll(&pair.head, &lesson, 4);
        assert_eq!(unrolled.len(), 4);
        for (depth, predicted) in (0..).zip(&unrolled) {
            assert_eq!(predicted.size(), [4, N_TOKENS - depth, 16]);
            for row in [0, 1, 5, N_TOKENS - depth - 1] {
                let expected = drafted(&pair.head, &batch, &lesson.read, row, depth);
                let distance = (predicted.select(1, row) - expected).abs().max().double_value(&[]);
                assert!(distance < 1e-4, "{name}: depth {depth}, row {row}: {distance}");
            }
        }
    });
}

#[test]
fn every_depth_is_what_drafting_so_deep_predicts() {
    check_unrolled(&eagle1(), "eagle1");
    check_unrolled(&eagle3(), "eagle3");
}
