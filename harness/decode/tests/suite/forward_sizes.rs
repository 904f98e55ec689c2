//! A forward over several rows has no more tokens than a method says it needs buffers for, however many rows are under way.

use std::rc::Rc;

use specimen_decode::{
    decoder::decode,
    dist::Dist,
    frontier::{PictureRows, Placed},
    generation::{Generation, Scores},
    rng::Uniforms,
    tree::{NodeId, TokenTree},
};

use crate::support::{Ticks, built, drafter, parsed};

const N_WORDS: usize = 4;

/// A target whose tokens all have one distribution, and that counts the tokens of its forwards.
struct Counting {
    rows: PictureRows,
    /// The most of one forward.
    most: usize,
}

struct Everywhere;

impl Scores for Everywhere {
    fn dist(&self, _: NodeId) -> Rc<Dist> {
        Rc::new(Dist::from_weights(vec![1.0, 2.0, 3.0, 4.0]).unwrap())
    }
    fn feature(&self, _: NodeId) -> Rc<[f32]> {
        Rc::from([])
    }
}

impl Generation for Counting {
    fn n_tokens(&self) -> usize {
        self.rows.len * self.rows.n
    }
    fn n_vocab(&self) -> usize {
        N_WORDS
    }
    fn prefill(&mut self) -> Rc<Dist> {
        Everywhere.dist(TokenTree::ROOT)
    }
    fn score(&mut self, _: &TokenTree) -> Box<dyn Scores> {
        unreachable!("rows are under way")
    }
    fn commit(&mut self, _: &[NodeId]) {
        unreachable!("rows are under way")
    }
    fn rows(&self) -> PictureRows {
        self.rows
    }
    fn score_placed(&mut self, tokens: &[Placed]) -> Box<dyn Scores> {
        self.most = self.most.max(tokens.len());
        Box::new(Everywhere)
    }
    fn keep_placed(&mut self, _: &[NodeId]) {}
}

#[test]
fn a_forward_has_as_many_tokens_as_buffers_are_sized_for_and_no_more() {
    // Without a limit 150 rows would be under way, and these would have up to 200 tokens in a forward.
    let rows = PictureRows { n_before: 0, len: 200, n: 150 };
    for (frontier, least) in [
        (r#"{ kind = "zipar", window = 1 }"#, 120),
        (r#"{ kind = "pjd", window = 2, c = 1 }"#, 120),
        (r#"{ kind = "pjd", window = 30, c = 1 }"#, 120),
    ] {
        let text = format!("frontier = {frontier}");
        let mut generation = Counting { rows, most: 0 };
        let decoded = decode(&mut built(&text, drafter()), &mut generation, &Uniforms::new(1), &Ticks::new());
        assert_eq!(decoded.tokens.len(), 30_000);
        let most = parsed(&text).max_tree_nodes();
        assert!((least..=most).contains(&generation.most), "{frontier}: {} of {most}", generation.most);
    }
}
