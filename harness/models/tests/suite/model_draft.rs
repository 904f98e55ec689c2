//! Another model as drafter: its distributions are its own model's, on every path, in the target's vocabulary.

use std::rc::Rc;

use specimen_decode::{
    dist::{Dist, TokenId},
    drafter::DraftModel,
    generation::Generation,
    tree::{NodeId, Proposal, TokenTree},
};
use specimen_models::{
    heads::model_draft::{ModelDraft, VocabularyMap},
    seam::{backbone::Backbone, draft_time::DraftTime},
};
use tch::Device;

use crate::support::{
    Choices, EVERY_NETWORK, F32, MAX_TREE, Open, PLAIN, SMALL_IGPT, check_distribution, fresh_distribution,
    igpt, igpt_backbone, path_tokens, random_history, total_variation,
};

/// A drafter that is the model of `open` itself.
fn self_draft(open: Open, vocabulary: Option<VocabularyMap>) -> ModelDraft {
    let generation = open();
    ModelDraft::new(
        generation.backbone().clone(),
        generation.prefix().shallow_clone(),
        *generation.sampling(),
        vocabulary.map(Rc::new),
        generation.n_tokens() + MAX_TREE,
        DraftTime::new(tch::Device::Cpu),
    )
}

/// Checks `begin`, then every node of `tree` level by level, against `expected` of the tokens up to it.
fn check_draft(
    draft: &mut dyn DraftModel,
    tokens: &[TokenId],
    tree: &TokenTree,
    expected: impl Fn(&[TokenId]) -> Vec<f32>,
    n_tokens: usize,
    what: &str,
) {
    check_distribution(&draft.begin(tokens), &expected(tokens), F32, what);
    for depth in 1..=tree.depth() {
        let level: Vec<NodeId> = tree.ids().rev().filter(|&id| tree[id].depth == depth).collect();
        let distributions = draft.expand(tree, &level);
        for (&node, distribution) in
            level.iter().zip(&distributions).filter(|_| tokens.len() + depth < n_tokens)
        {
            let all = [&tokens[..tokens.len() - 1], &path_tokens(tree, node)].concat();
            check_distribution(distribution, &expected(&all), F32, what);
        }
    }
}

#[test]
fn draft_distributions_after_any_history_are_those_of_the_drafting_model() {
    for (name, open) in EVERY_NETWORK {
        let fresh = open();
        let mut draft = self_draft(open, None);
        random_history(&mut open(), 11, |tokens, tree, _| {
            check_draft(
                &mut draft,
                tokens,
                tree,
                |all| fresh_distribution(&fresh, all),
                fresh.n_tokens(),
                name,
            );
        });
    }
}

#[test]
fn a_mapped_drafter_reads_its_own_tokens_and_answers_in_the_targets() {
    let target = [0.3, 0.9, 0.1, 0.6, 0.0, 0.8, 0.5];
    let drafter = [0.7, 0.2, 0.4, 0.0, 0.9, 0.3, 0.1];
    let map = || VocabularyMap::by_rank(&target, &drafter, Device::Cpu);
    let fresh = igpt(PLAIN);
    let expected = |tokens: &[TokenId]| {
        let map = map();
        let mapped: Vec<TokenId> = tokens.iter().map(|&token| map.drafter_id(token)).collect();
        let distribution = fresh_distribution(&fresh, &mapped);
        (0..7).map(|token| distribution[map.drafter_id(TokenId(token)).idx()]).collect()
    };
    let mut draft = self_draft(|| igpt(PLAIN), Some(map()));
    random_history(&mut igpt(PLAIN), 12, |tokens, tree, _| {
        check_draft(&mut draft, tokens, tree, expected, fresh.n_tokens(), "mapped");
    });
}

#[test]
fn a_change_of_mind_about_earlier_tokens_is_followed() {
    let fresh = igpt(PLAIN);
    let mut draft = self_draft(|| igpt(PLAIN), None);
    let mut choices = Choices::new(13);
    let mut tokens: Vec<TokenId> = (0..9).map(|_| choices.token(7)).collect();
    for n_kept in [9, 6, 6, 0, 4, 1] {
        tokens.truncate(n_kept);
        tokens.extend((0..9 - n_kept + 1).map(|_| choices.token(7)));
        let tree = choices.tree(tokens[tokens.len() - 1], 6, 3, 7);
        let expected = |all: &[TokenId]| fresh_distribution(&fresh, all);
        check_draft(&mut draft, &tokens, &tree, expected, fresh.n_tokens(), &format!("{n_kept} kept"));
    }
}

#[test]
fn a_chain_of_drafts_sees_its_own_tokens() {
    let mut draft = self_draft(|| igpt(PLAIN), None);
    let after = |draft: &mut ModelDraft, token: u32| -> Rc<Dist> {
        draft.begin(&[TokenId(0)]);
        let mut tree = TokenTree::new(TokenId(0));
        let node = tree.push(TokenTree::ROOT, TokenId(token), Proposal::Chosen);
        draft.expand(&tree, &[node]).remove(0)
    };
    let (a, b) = (after(&mut draft, 1), after(&mut draft, 2));
    assert!(total_variation(&a, &b) > 1e-2);
}

#[test]
fn a_start_vector_is_one_slot_before_the_image() {
    let backbone = igpt_backbone(1);
    assert_eq!(backbone.prefix().size(), [1, 1, SMALL_IGPT.d_model]);
    assert_eq!(backbone.shape().n_positions, SMALL_IGPT.n_tokens());
    assert!(backbone.turns().is_none());
    assert_eq!(igpt(PLAIN).n_tokens(), 25);
}
