//! P18: what guidance does with the two rows.

use std::rc::Rc;

use specimen_decode::{
    generation::Generation,
    pipeline::{self, Sampling},
    tree::TokenTree,
};
use specimen_models::seam::{generation::ModelGeneration, likelihood::teacher_forced};
use tch::{Tensor, no_grad};

use crate::support::{
    Choices, F32, GUIDED, PLAIN, caption_rows, check_distribution, fresh_distribution, random_history,
    row_values, tiny, tiny_backbone, total_variation,
};

/// The tiny network behind explicit caption rows.
fn behind(words: &Tensor, sampling: Sampling) -> ModelGeneration {
    let backbone = tiny_backbone();
    let prefix = no_grad(|| backbone.embed_caption(words));
    ModelGeneration::new(Rc::new(backbone), sampling, prefix, 16, 16)
}

fn row(i: i64) -> Tensor {
    caption_rows(2).narrow(0, i, 1)
}

#[test]
fn guidance_1_is_the_caption_row_alone() {
    let mut both = behind(&caption_rows(2), PLAIN);
    let caption = tiny(PLAIN);
    random_history(&mut both, 3, |tokens, _, dists| {
        check_distribution(&dists[0], &fresh_distribution(&caption, tokens), F32, "guidance 1 over two rows");
    });
}

#[test]
fn guided_distributions_are_the_reference_pipeline_on_the_rows_run_apart() {
    let logits_of = |generation: &ModelGeneration, tokens: &[_]| {
        no_grad(|| {
            let padded = [tokens, &tokens[..1]].concat();
            let features = teacher_forced(generation, &padded);
            row_values(&generation.backbone().logits(&features).get(0).get(tokens.len() as i64))
        })
    };
    let (caption, null) = (behind(&row(0), PLAIN), behind(&row(1), PLAIN));
    random_history(&mut tiny(GUIDED), 4, |tokens, _, dists| {
        let (conditional, unconditional) = (logits_of(&caption, tokens), logits_of(&null, tokens));
        let expected = pipeline::distribution(&conditional, Some(&unconditional), &GUIDED);
        check_distribution(&dists[0], expected.probs(), F32, "guided");
    });
}

#[test]
fn swapping_the_guidance_rows_changes_the_distribution() {
    let swapped = caption_rows(2).flip([0]);
    let distribution = |words: &Tensor| {
        let mut generation = behind(words, GUIDED);
        generation.prefill();
        generation.score(&TokenTree::new(Choices::new(1).token(11))).dist(TokenTree::ROOT)
    };
    assert!(total_variation(&distribution(&caption_rows(2)), &distribution(&swapped)) > 0.05);
}

#[test]
fn the_feature_of_a_node_is_the_caption_rows() {
    let feature = |sampling| {
        let mut generation = tiny(sampling);
        generation.prefill();
        generation.score(&TokenTree::new(Choices::new(1).token(11))).feature(TokenTree::ROOT)
    };
    let (guided, plain) = (feature(GUIDED), feature(PLAIN));
    assert!(guided.iter().zip(plain.iter()).all(|(a, b)| (a - b).abs() < 1e-4));
}
