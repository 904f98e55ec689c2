//! The toy of every check: five tokens, images of four, guidance 3, top-k 4; 625 cells.

use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
    rc::Rc,
};

use specimen_decode::{
    clock::Clock,
    decoder::{Method, decode},
    method::{MethodConfig, Parts},
    pipeline::{FilterOrder, Sampling},
    rng::Uniforms,
    toy::{ToyDraftModel, ToyGeneration, ToyModel},
    trace::Decoded,
    vectors::{Neighbours, TokenVectors},
};

use crate::chi_square::{ChiSquare, chi_square};

pub(crate) const N_VOCAB: usize = 5;
pub(crate) const N_TOKENS: usize = 4;
pub(crate) const N_IMAGES: u64 = 30_000;
/// A distribution is kept if the p-value is above this.
pub(crate) const P_MIN: f64 = 1e-4;

pub(crate) const SAMPLING: Sampling = Sampling {
    guidance: 3.0,
    temperature: 1.0,
    top_k: 4,
    top_p: 1.0,
    filter_order: FilterOrder::TopKThenTopP,
    coupled: false,
};

pub(crate) fn target() -> ToyModel {
    ToyModel { seed: 11, n_vocab: N_VOCAB, spread: 0.5, sampling: SAMPLING }
}

/// The target's family under another hash.
pub(crate) fn drafter() -> ToyModel {
    ToyModel { seed: 12, ..target() }
}

pub(crate) fn greedy(model: ToyModel) -> ToyModel {
    ToyModel { sampling: Sampling { temperature: 0.0, ..SAMPLING }, ..model }
}

/// A clock that ticks 1 ns per reading: time without time.
pub(crate) struct Ticks(Cell<u64>);

impl Ticks {
    pub(crate) fn new() -> Self {
        Self(Cell::new(0))
    }
}

impl Clock for Ticks {
    fn now_ns(&self) -> u64 {
        self.0.replace(self.0.get() + 1)
    }
}

/// The drafter table of a spec, and whatever follows it.
pub(crate) fn config(drafter: &str) -> MethodConfig {
    parsed(&format!("drafter = {drafter}"))
}

/// A cell as a spec writes it; each is parsed once, distribution checks use it 30,000 times.
pub(crate) fn parsed(text: &str) -> MethodConfig {
    thread_local! {
        static PARSED: RefCell<BTreeMap<String, MethodConfig>> = const { RefCell::new(BTreeMap::new()) };
    }
    let parse = || toml::from_str(text).unwrap();
    PARSED.with_borrow_mut(|parsed| parsed.entry(text.to_owned()).or_insert_with(parse).clone())
}

/// A drafter under a list of acceptance rules.
pub(crate) fn with_rules(drafter: &str, accept: &str) -> String {
    format!("drafter = {drafter}\naccept = [{accept}]")
}

/// A drafter under a schedule.
pub(crate) fn with_schedule(drafter: &str, schedule: &str) -> String {
    format!("drafter = {drafter}\nschedule = {schedule}")
}

/// Where the tokens of every toy lie: 0, 2, 4, ... and 1, 3, 5, ... are near each other.
pub(crate) fn codebook(n_vocab: usize) -> TokenVectors {
    let place = |v: usize| (v % 2) as f32 * 0.8 + (v / 2) as f32 * 0.3;
    let row = |v: usize| [place(v).cos(), place(v).sin()];
    TokenVectors::new((0..n_vocab).flat_map(row).collect(), 2).unwrap()
}

thread_local! {
    /// Tables over the vocabulary are made once for each size.
    static NEIGHBOURS: RefCell<BTreeMap<usize, Rc<Neighbours>>> = const { RefCell::new(BTreeMap::new()) };
}

pub(crate) fn neighbours(n_vocab: usize) -> Rc<Neighbours> {
    let make = || Rc::new(Neighbours::of_vectors(&codebook(n_vocab), n_vocab));
    NEIGHBOURS.with_borrow_mut(|made| made.entry(n_vocab).or_insert_with(make).clone())
}

pub(crate) const AR: &str = r#"{ proposer = "none" }"#;
pub(crate) const CHAIN_3: &str = r#"{ proposer = "eagle1", shape = "chain", depth = 3 }"#;
/// Widths 3, 2, 1.
pub(crate) const STATIC_321: &str = r#"{ proposer = "eagle1", shape = "static", tree = [
    [0], [1], [2], [0,0], [0,1], [1,0], [1,1], [2,0], [2,1],
    [0,0,0], [0,1,0], [1,0,0], [1,1,0], [2,0,0], [2,1,0]] }"#;
pub(crate) const MC_SIM: &str = r#"{ proposer = "eagle1", shape = "static", tree = "mc_sim_7b_63" }"#;
pub(crate) const DYNAMIC: &str =
    r#"{ proposer = "eagle1", shape = "dynamic", top_k = 3, depth = 2, total_token = 10 }"#;
pub(crate) const JACOBI: &str = r#"{ proposer = "jacobi", window = 3, init = "random" }"#;
pub(crate) const JACOBI_LEFT: &str = r#"{ proposer = "jacobi", window = 4, init = "repeat-left" }"#;
pub(crate) const JACOBI_ABOVE: &str =
    r#"{ proposer = "jacobi", window = 3, init = "repeat-above", width = 2 }"#;
pub(crate) const ALL: [&str; 8] =
    [AR, CHAIN_3, STATIC_321, MC_SIM, DYNAMIC, JACOBI, JACOBI_LEFT, JACOBI_ABOVE];

pub(crate) fn method(drafter: &str, model: ToyModel) -> Method {
    built(&format!("drafter = {drafter}"), model)
}

/// A whole cell, with the toy's network and tables.
pub(crate) fn built(text: &str, model: ToyModel) -> Method {
    let config = parsed(text);
    let parts = Parts {
        neighbours: config.needs().n_nearest.map(|_| neighbours(model.n_vocab)),
        codebook: config.needs().codebook.then(|| Rc::new(codebook(model.n_vocab))),
        embeddings: config.needs().embeddings.then(|| Rc::new(codebook(model.n_vocab))),
        draft_model: config.needs().draft_model.then(|| Box::new(ToyDraftModel::new(model)) as _),
    };
    config.build_with(parts).unwrap()
}

pub(crate) fn image(mut method: Method, target: ToyModel, n_tokens: usize, seed: u64) -> Decoded {
    let mut generation = ToyGeneration::new(target, n_tokens);
    let decoded = decode(&mut method, &mut generation, &Uniforms::new(seed), &Ticks::new());
    assert_eq!(decoded.tokens.len(), n_tokens);
    assert_eq!(decoded.nfe(), generation.n_forwards(), "the trace counts the generation's forwards");
    decoded
}

/// Tests `N_IMAGES` images against the target's exact joint distribution.
pub(crate) fn distribution_of(
    mut tokens: impl FnMut(u64) -> Vec<specimen_decode::dist::TokenId>,
) -> ChiSquare {
    let mut counts = vec![0; N_VOCAB.pow(N_TOKENS as u32)];
    for seed in 0..N_IMAGES {
        let cell = tokens(seed).iter().fold(0, |cell, token| cell * N_VOCAB + token.idx());
        counts[cell] += 1;
    }
    chi_square(&counts, &target().joint(N_TOKENS))
}

#[track_caller]
pub(crate) fn check_distribution(mut make: impl FnMut() -> Method) {
    let found = distribution_of(|seed| image(make(), target(), N_TOKENS, seed).tokens);
    assert!(P_MIN < found.p_value, "the distribution is not the target's: {found:?}");
}

/// Standard errors between `n_hits` of `n` and the probability `expected`; 4.5 happens by chance once in
/// 150,000 tests.
pub(crate) fn z_score(n_hits: f64, n: f64, expected: f64, variance: f64) -> f64 {
    (n_hits / n - expected) / (variance / n).sqrt()
}

#[track_caller]
pub(crate) fn check_rate(n_hits: u64, n: u64, expected: f64) {
    assert!(0.05 < expected && expected < 0.95, "a rate of {expected} tests nothing");
    let z = z_score(n_hits as f64, n as f64, expected, expected * (1.0 - expected));
    assert!(z.abs() < 4.5, "expected a rate of {expected:.4}, found {n_hits} of {n} (z = {z:.1})");
}
