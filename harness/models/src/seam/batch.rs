//! Several images of one model whose trees are scored in one forward of the target. Each is an ordinary generation: its prompt
//! runs alone, and what it says of a tree is what it says with any other neighbours.

use std::rc::Rc;

use specimen_decode::{generation::Scores, pipeline::Sampling, tree::TokenTree};

use crate::seam::{
    generation::{Asked, Lane, ModelGeneration},
    kv::KvCache,
    loaded_model::Prefix,
    static_steps::{LaneStep, Lanes, StepBuffers},
};

/// Sizes that the images of a batch share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchSize {
    /// Nodes of the largest draft tree, root included (`MethodConfig::max_tree_nodes`).
    pub max_tree: usize,
    /// Tokens that the target runs for one image in one forward, at most (`MethodConfig::max_step_tokens`); every forward
    /// has room for so many of each.
    pub max_step: usize,
}

/// Opens an image of `n_tokens` tokens behind each of `prefixes`. The place of a prefix is its lane, which decides the order of
/// sums; an absent one stays empty.
pub(crate) fn open_together(
    prefixes: Vec<Option<Prefix>>,
    sampling: Sampling,
    n_tokens: usize,
    size: BatchSize,
    buffers: &Rc<StepBuffers>,
) -> Vec<Option<ModelGeneration>> {
    let shapes = prefixes.iter().flatten().map(|Prefix { backbone, slots }| {
        let shape = ModelGeneration::kv_shape(&**backbone, slots, (n_tokens, size.max_tree));
        (shape, backbone.kind(), slots.device())
    });
    let Some((shape, kind, device)) = shapes.max_by_key(|(shape, ..)| shape.capacity) else {
        return prefixes.iter().map(|_| None).collect();
    };
    let lanes = Lanes { n: prefixes.len(), n_slots: size.max_step };
    let (steps, caches) = buffers.lend(lanes, shape, &sampling, kind, device);
    let open = |(at, (prefix, cache)): (usize, (Option<Prefix>, KvCache))| {
        let Prefix { backbone, slots } = prefix?;
        let lane = Some(Lane { steps: steps.clone(), at });
        Some(ModelGeneration::with_cache(backbone, sampling, slots, n_tokens, (lane, cache)))
    };
    prefixes.into_iter().zip(caches).enumerate().map(open).collect()
}

/// Scores a tree of each of several images that were opened together, by rising lane, in one forward of the target: one NFE of
/// each image.
///
/// # Panics
/// If they were not opened together, or an image has no lane.
pub fn score_together(images: &mut [(&mut ModelGeneration, &TokenTree)]) -> Vec<Box<dyn Scores>> {
    let _guard = tch::no_grad_guard();
    let asked: Vec<Asked> = images.iter_mut().map(|(image, tree)| image.ask(tree)).collect();
    let Some((first, _)) = images.first() else { return Vec::new() };
    let lane_of = |image: &ModelGeneration| {
        let Lane { steps, at } = image.lane().expect("images that were opened together have a lane");
        (steps.clone(), *at)
    };
    let (steps, _) = lane_of(first);
    let (backbone, layers) = (first.backbone().clone(), first.tap().borrow().layers().to_vec());
    let present: Vec<LaneStep<'_>> = images
        .iter()
        .zip(&asked)
        .map(|((image, _), asked)| {
            let (its, lane) = lane_of(image);
            assert!(Rc::ptr_eq(&steps, &its), "images are scored together that were opened together");
            asked.step(lane, image.n_cached())
        })
        .collect();
    let outputs = steps.borrow_mut().run(&*backbone, &present, &layers);
    let answered = images.iter_mut().zip(&asked).zip(outputs);
    answered.map(|(((image, tree), asked), outputs)| image.take(tree, asked, outputs)).collect()
}
