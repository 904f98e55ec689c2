//! Images that are decoded together: each is drawn as with any other neighbours, and as alone but for rounding.

use specimen_decode::{
    clock::MonotonicClock,
    decoder::{Decoding, Method},
    dist::{Dist, TokenId},
    generation::Generation,
    method::MethodConfig,
    pipeline::Sampling,
    rng::Uniforms,
    tree::{NodeId, Proposal, TokenTree},
};
use specimen_models::seam::{
    batch::{BatchSize, score_together},
    generation::ModelGeneration,
    loaded_model::LoadedModel,
};

use crate::{
    support::{F32, GUIDED, MAX_TREE, PLAIN, total_variation},
    toys::{CHAMELEONS, TOYS, method_on, methods, toy},
};

/// The image in each lane: its prompt, and the seed of its draws.
type Lanes<'a> = [Option<(&'a str, u64)>];

fn open(
    model: &LoadedModel,
    prompts: &[Option<&str>],
    sampling: &Sampling,
    size: BatchSize,
) -> Vec<Option<ModelGeneration>> {
    let opened = model.open_together(prompts, sampling, size);
    opened.into_iter().map(|image| image.map(Result::unwrap)).collect()
}

/// Draws the images of all lanes.
fn images(
    model: &LoadedModel,
    lanes: &Lanes<'_>,
    sampling: &Sampling,
    method: &str,
) -> Vec<Option<Vec<TokenId>>> {
    let config: MethodConfig = serde_json::from_str(method).unwrap();
    let size = BatchSize { max_tree: config.max_tree_nodes(), max_step: config.max_step_tokens() };
    let prompts: Vec<Option<&str>> = lanes.iter().map(|lane| Some(lane.as_ref()?.0)).collect();
    let clock = MonotonicClock::new();
    let uniforms: Vec<Uniforms> =
        lanes.iter().map(|lane| Uniforms::new(lane.map_or(0, |(_, seed)| seed))).collect();
    let begin = |(mut generation, uniforms): (Option<ModelGeneration>, _)| {
        let mut method = method_on(model, &config, generation.as_ref()?);
        let decoding = Decoding::begin(&mut method, generation.as_mut()?, uniforms, &clock);
        Some((method, generation?, decoding))
    };
    let opened = open(model, &prompts, sampling, size).into_iter().zip(&uniforms);
    let mut under_way: Vec<Option<(Method, ModelGeneration, Decoding<'_>)>> = opened.map(begin).collect();
    loop {
        let trees: Vec<Option<TokenTree>> = under_way
            .iter_mut()
            .map(|lane| {
                lane.as_mut().and_then(|(method, image, decoding)| decoding.ask(method, image, &clock))
            })
            .collect();
        let mut asked: Vec<(&mut ModelGeneration, &TokenTree)> = under_way
            .iter_mut()
            .zip(&trees)
            .filter_map(|(lane, tree)| Some((&mut lane.as_mut()?.1, tree.as_ref()?)))
            .collect();
        if asked.is_empty() {
            break;
        }
        let scores = score_together(&mut asked);
        let answered = under_way
            .iter_mut()
            .zip(&trees)
            .filter_map(|(lane, tree)| Some((lane.as_mut()?, tree.as_ref()?)));
        for (((method, image, decoding), tree), scores) in answered.zip(scores) {
            decoding.answer(method, image, (tree, &*scores), 0, &clock);
        }
    }
    under_way
        .into_iter()
        .map(|lane| lane.map(|(_, image, decoding)| decoding.finish(&image).tokens))
        .collect()
}

#[test]
fn an_image_is_the_same_whatever_its_neighbours() {
    let sampling = Sampling { top_k: 20, ..GUIDED };
    for (name, prompt) in TOYS.into_iter().chain(CHAMELEONS) {
        let model = toy(name);
        for (method_name, method) in methods() {
            let other = if name.contains("c2i") { "3" } else { "two green birds in a long line of trees" };
            let together = [Some((prompt, 1)), Some((other, 2)), Some((prompt, 3))];
            let found = images(&model, &together, &sampling, &method);
            let with_others = [Some((other, 7)), Some((other, 2)), None];
            assert_eq!(
                images(&model, &with_others, &sampling, &method)[1],
                found[1],
                "{name}, {method_name}"
            );
            let alone = [None, Some((other, 2)), None];
            let alone = images(&model, &alone, &sampling, &method);
            assert_eq!((&alone[0], &alone[1]), (&None, &found[1]), "{name}, {method_name}");
            assert!(found.iter().flatten().all(|tokens| tokens.len() == model.n_tokens));
            assert_ne!(found[0], found[2], "{name}, {method_name}: lanes draw on their own");
        }
    }
}

/// The rows of a random history that is scored alone, and with a neighbour that is elsewhere.
#[test]
fn what_is_said_of_a_tree_is_what_is_said_of_it_alone() {
    let size = BatchSize { max_tree: MAX_TREE, max_step: MAX_TREE };
    for (name, prompt) in TOYS {
        let model = toy(name);
        for sampling in [PLAIN, GUIDED] {
            let mut alone = model.open(prompt, &sampling, MAX_TREE).unwrap();
            let other = if name.contains("c2i") { "3" } else { "rain" };
            let mut lanes = open(&model, &[Some(other), Some(prompt)], &sampling, size);
            let [Some(other), Some(image)] = &mut lanes[..] else { panic!("both lanes hold an image") };
            let first = [alone.prefill(), image.prefill()];
            other.prefill();
            assert_eq!(first[0].probs(), first[1].probs(), "{name}: a prompt runs alone");
            for step in 0..6 {
                let tree = fan(step);
                let expected = alone.score(&tree);
                let neighbour = TokenTree::new(TokenId(step));
                let found = if step % 2 == 0 {
                    score_together(&mut [(&mut *other, &neighbour), (&mut *image, &tree)]).remove(1)
                } else {
                    score_together(&mut [(&mut *image, &tree)]).remove(0)
                };
                for node in tree.ids() {
                    let (expected, found): (&Dist, &Dist) = (&expected.dist(node), &found.dist(node));
                    let differs = total_variation(expected, found);
                    assert!(differs < f64::from(F32), "{name}, step {step}, {node:?}: {differs}");
                }
                let path = [TokenTree::ROOT, NodeId(2)];
                alone.commit(&path);
                image.commit(&path);
                if step % 2 == 0 {
                    other.commit(&path[..1]);
                }
            }
        }
    }
}

/// A root with two children, the second of which is kept.
fn fan(step: u32) -> TokenTree {
    let mut tree = TokenTree::new(TokenId(step));
    for token in [step + 1, step + 2] {
        tree.push(TokenTree::ROOT, TokenId(token), Proposal::Chosen);
    }
    tree
}
