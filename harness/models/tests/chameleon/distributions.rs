//! P16 to P19 on the family, for each way to leave the prompt out: whatever was accepted, rejected and skipped,
//! distributions are those of one fresh forward; guidance is what it is for the rows run apart; a node of a tree has
//! the distribution of its path; and structural tokens stand where they belong with probability 1.

use specimen_decode::{
    dist::{Dist, TokenId},
    generation::Generation,
    pipeline,
    tree::{NodeId, TokenTree},
};
use specimen_models::{
    families::chameleon::{ChameleonImage, Vocabulary, made},
    llama::padded::{Padding, PromptRows},
    seam::{backbone::Backbone, generation::ModelGeneration, likelihood::teacher_forced},
};
use tch::{Kind, Tensor, no_grad};

use crate::support::{
    Choices, EVERY_FAMILY, GUIDED, PLAIN, PROMPT, anole, check_distribution, every_case, fresh_distribution,
    model, open, path_tokens,
};

/// Decodes `generation` to its end through random trees and random paths, of which some are taken without a forward
/// if `skips`; `check` sees the tokens before the root, the tree and its distributions. Returns the number of skips.
fn random_history(
    generation: &mut ModelGeneration,
    seed: u64,
    skips: bool,
    mut check: impl FnMut(&[TokenId], &TokenTree, &dyn Fn(NodeId) -> std::rc::Rc<Dist>),
) -> usize {
    let n_tokens = generation.n_tokens();
    let mut choices = Choices::new(seed);
    generation.prefill();
    let mut tokens = vec![choices.token(generation, 0)];
    let (mut n_skips, mut may_skip) = (0, false);
    while tokens.len() < n_tokens {
        let (position, n_left) = (tokens.len() - 1, n_tokens - tokens.len());
        let tree = choices.tree(generation, tokens[position], position, 9, n_left.min(4));
        let path = tree.path_to(NodeId(choices.below(tree.len())));
        let new: Vec<TokenId> = path.iter().map(|&id| tree[id].token).collect();
        if may_skip && !path.is_empty() && choices.below(2) == 0 {
            let unscored = [&tokens[position..], &new].concat();
            generation.queue(&unscored[..path.len()]);
            tokens.extend(new);
            (n_skips, may_skip) = (n_skips + 1, false);
            continue;
        }
        let scores = generation.score(&tree);
        check(&tokens[..position], &tree, &|node| scores.dist(node));
        generation.commit(&[&[TokenTree::ROOT], &*path].concat());
        tokens.extend(new);
        if tokens.len() < n_tokens {
            tokens.push(choices.token(generation, tokens.len()));
        }
        may_skip = skips;
    }
    n_skips
}

fn check_history(skips: bool) {
    for (name, model, sampling) in every_case() {
        let fresh = open(&model, sampling);
        let mut n_skips = 0;
        for seed in 0..6 {
            n_skips +=
                random_history(&mut open(&model, sampling), seed, skips, |before, tree, distribution| {
                    for node in tree.ids().filter(|&id| before.len() + tree[id].depth + 1 < fresh.n_tokens())
                    {
                        let all = [before, &path_tokens(tree, node)].concat();
                        check_distribution(&distribution(node), &fresh_distribution(&fresh, &all), &name);
                    }
                });
        }
        assert!(!skips || n_skips > 5, "{name}: {n_skips} skips show nothing");
    }
}

#[test]
fn distributions_after_any_history_equal_those_of_a_fresh_forward() {
    check_history(false);
}

#[test]
fn the_forward_after_a_skip_writes_the_missing_keys_and_values() {
    check_history(true);
}

#[test]
fn the_prefill_gives_the_distribution_of_the_first_token() {
    for (name, model, sampling) in every_case() {
        check_distribution(
            &open(&model, sampling).prefill(),
            &fresh_distribution(&open(&model, sampling), &[]),
            &name,
        );
    }
}

/// Logits after each of `tokens` but the last, from the one row of `words` alone: no padding, positions from 0.
fn logits_alone(model: &crate::support::Model, words: &[i64], tokens: &[TokenId]) -> Tensor {
    no_grad(|| {
        // The image as a row of words, where a prefix may be empty.
        let fed: Vec<i64> = tokens.iter().map(|token| i64::from(token.0)).collect();
        let image = ChameleonImage::new(model.network.clone(), Padding::new(vec![0]));
        let tokens = image.embed(&Tensor::from_slice(&fed), &Tensor::from_slice(&fed));
        let words = model.network.embed_words(&Tensor::from_slice(words));
        let x = Tensor::cat(&[words, tokens], 0);
        let n = x.size()[0];
        let shape = image.shape();
        let kv = specimen_models::seam::kv::KvShape {
            n_layers: shape.n_layers,
            n_rows: 1,
            n_heads: shape.n_heads,
            d_head: shape.d_head,
            capacity: n,
        };
        let mut cache = specimen_models::seam::kv::KvCache::new(kv, Kind::Float, tch::Device::Cpu);
        let positions = Tensor::arange(n, (Kind::Int64, tch::Device::Cpu));
        let mask = specimen_models::llama::layer::causal_mask(n, Kind::Float);
        let features = image.forward(&x.unsqueeze(0), &positions, &mut cache, Some(&mask));
        image.logits(&features.narrow(1, n - fed.len() as i64, fed.len() as i64)).get(0)
    })
}

fn prompt_rows(recipe: &specimen_models::families::chameleon::Recipe) -> PromptRows {
    let vocabulary = Vocabulary::parse("toy".as_ref(), made::TOKENIZER, 16).unwrap();
    recipe.prompt_rows(&vocabulary, PROMPT, true).unwrap().unwrap()
}

#[test]
fn guided_distributions_are_the_reference_pipeline_on_the_rows_run_apart_without_padding() {
    for recipe in EVERY_FAMILY {
        let model = model(recipe());
        let rows = prompt_rows(&model.recipe);
        assert_eq!(rows.n_pads[0], 0);
        assert!(rows.n_pads[1] > 0, "the row without prompt is shorter");
        let words = |i: usize| &rows.rows[i][rows.n_pads[i] as usize..];
        let mut generation = open(&model, GUIDED);
        let mut choices = Choices::new(4);
        let tokens: Vec<TokenId> =
            (0..generation.n_tokens()).map(|position| choices.token(&generation, position)).collect();
        let with = logits_alone(&model, words(0), &tokens);
        let without = logits_alone(&model, words(1), &tokens);
        generation.prefill();
        for (i, pair) in tokens.windows(2).enumerate() {
            let found = generation.score(&TokenTree::new(pair[0])).dist(TokenTree::ROOT);
            generation.commit(&[TokenTree::ROOT]);
            let row = |logits: &Tensor| Vec::<f32>::try_from(logits.get(i as i64)).unwrap();
            let expected = match generation.forced(i + 1) {
                Some(token) => Dist::one_hot(generation.n_vocab(), token),
                None => pipeline::distribution(&row(&with), Some(&row(&without)), &GUIDED),
            };
            check_distribution(&found, &expected, &format!("{}, token {}", model.name, i + 1));
        }
    }
}

#[test]
fn three_way_guidance_adds_what_the_pictures_of_the_prompt_say() {
    // Three rows of one length that differ: what a prompt with pictures would give.
    let model = model(anole().with_image_row());
    let rows = prompt_rows(&model.recipe);
    assert_eq!(rows.rows.len(), 3);
    assert_eq!((&rows.rows[1], rows.n_pads[1]), (&rows.rows[2], rows.n_pads[2]), "a text has no pictures");
    let (with, n) = (rows.rows[0].clone(), rows.rows[0].len() as i64);
    let words = [with.clone(), with.iter().rev().copied().collect(), with.iter().map(|id| id / 2).collect()];
    let opened = |words: &[Vec<i64>]| {
        let table = Tensor::from_slice(&words.concat()).view([words.len() as i64, n]);
        let padding = Padding::new(vec![0; words.len()]);
        let image = std::rc::Rc::new(ChameleonImage::new(model.network.clone(), padding));
        let prefix = no_grad(|| model.network.embed_words(&table));
        ModelGeneration::new(image, GUIDED, prefix, 16, 16)
    };
    let mut generation = opened(&words);
    assert_eq!(generation.n_rows(), 3);
    let mut choices = Choices::new(4);
    let tokens: Vec<TokenId> = (0..16).map(|position| choices.token(&generation, position)).collect();
    let alone = words.clone().map(|row| logits_alone(&model, &row, &tokens));
    let mut moved: f32 = 0.0;
    generation.prefill();
    for (i, pair) in tokens.windows(2).enumerate() {
        let found = generation.score(&TokenTree::new(pair[0])).dist(TokenTree::ROOT);
        generation.commit(&[TokenTree::ROOT]);
        let [c, u, p] = alone.each_ref().map(|logits| Vec::<f32>::try_from(logits.get(i as i64)).unwrap());
        let mixed = |image: f32| -> Vec<f32> {
            let mix = |v: usize| u[v] + image * (p[v] - u[v]) + GUIDED.guidance as f32 * (c[v] - p[v]);
            (0..c.len()).map(mix).collect()
        };
        let distribution = |logits: &[f32]| {
            pipeline::distribution(logits, None, &pipeline::Sampling { guidance: 1.0, ..GUIDED })
        };
        check_distribution(&found, &distribution(&mixed(1.2)), &format!("token {}", i + 1));
        let other = distribution(&mixed(1.0));
        moved = found.probs().iter().zip(other.probs()).map(|(a, b)| (a - b).abs()).fold(moved, f32::max);
    }
    assert!(moved > 0.01, "the scale of the row of pictures shows: {moved}");
}

#[test]
fn guidance_1_is_the_caption_row_alone_and_swapping_the_rows_changes_the_distribution() {
    for recipe in EVERY_FAMILY {
        let model = model(recipe());
        let (plain, guided) = (open(&model, PLAIN), open(&model, GUIDED));
        let mut choices = Choices::new(7);
        let tokens: Vec<TokenId> =
            (0..plain.n_tokens()).map(|position| choices.token(&plain, position)).collect();
        let features = |generation: &ModelGeneration| no_grad(|| teacher_forced(generation, &tokens));
        let (of_plain, of_guided) = (features(&plain), features(&guided));
        let distance = |a: Tensor, b: Tensor| (a - b).abs().max().double_value(&[]);
        assert!(distance(of_plain.get(0), of_guided.get(0)) < 1e-4, "{}", model.name);
        assert!(distance(of_guided.get(0), of_guided.get(1)) > 0.05, "{}", model.name);
        let logits = guided.backbone().logits(&of_guided);
        let distribution =
            |logits: &Tensor| specimen_models::seam::distributions::distributions(logits, &GUIDED);
        let last_codes = |distributions: Tensor| distributions.narrow(1, 0, 16);
        let moved = distance(last_codes(distribution(&logits)), last_codes(distribution(&logits.flip([0]))));
        assert!(moved > 0.05, "{}: {moved}", model.name);
    }
}

#[test]
fn a_node_has_the_distribution_of_its_root_path_alone() {
    for (name, model, sampling) in every_case() {
        let position = 4;
        let mut choices = Choices::new(5);
        let fresh = open(&model, sampling);
        let before: Vec<TokenId> = (0..position).map(|at| choices.token(&fresh, at)).collect();
        let opened = || {
            let mut generation = open(&model, sampling);
            generation.prefill();
            for &token in &before {
                generation.score(&TokenTree::new(token));
                generation.commit(&[TokenTree::ROOT]);
            }
            generation
        };
        let root = choices.token(&fresh, position);
        let tree = choices.tree(&fresh, root, position, 12, 5);
        let scores = opened().score(&tree);
        for node in tree.ids() {
            // One token at a time: no mask of a tree is involved.
            let mut generation = opened();
            let mut distribution = None;
            for token in path_tokens(&tree, node) {
                distribution = Some(generation.score(&TokenTree::new(token)).dist(TokenTree::ROOT));
                generation.commit(&[TokenTree::ROOT]);
            }
            check_distribution(&scores.dist(node), &distribution.unwrap(), &name);
        }
    }
}

#[test]
fn structural_tokens_are_certain_where_they_stand_and_impossible_elsewhere() {
    for (name, model, sampling) in every_case() {
        let fresh = open(&model, sampling);
        random_history(&mut open(&model, sampling), 9, false, |before, tree, distribution| {
            for node in tree.ids().filter(|&id| before.len() + tree[id].depth + 1 < fresh.n_tokens()) {
                let distribution = distribution(node);
                match fresh.forced(before.len() + tree[node].depth + 1) {
                    Some(token) => assert_eq!(distribution.prob(token), 1.0, "{name}"),
                    None => assert!(distribution.probs()[16..].iter().all(|&p| p == 0.0), "{name}"),
                }
            }
        });
    }
}

#[test]
fn structural_tokens_have_the_ids_behind_the_codes() {
    for recipe in EVERY_FAMILY {
        let model = model(recipe());
        assert_eq!(open(&model, PLAIN).n_codes(), model.recipe.form.n_codes, "{}", model.name);
    }
}
