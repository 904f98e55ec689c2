//! PJD against its definition: which rows are open, what each draft sees, what is tested, committed and drawn again.

use std::{collections::BTreeMap, rc::Rc};

use specimen_decode::{
    decoder::decode,
    dist::{Dist, TokenId},
    frontier::{PictureRows, Placed},
    generation::{Generation, Scores},
    pipeline::Sampling,
    rng::{Purpose, Uniforms, slot},
    toy::{MISSING, ToyGeneration, ToyModel},
    trace::Decoded,
    tree::{NodeId, TokenTree},
};

use crate::{
    chi_square::chi_square,
    support::{AR, P_MIN, SAMPLING, Ticks, built, image, method, parsed, target},
};

#[derive(Clone, Copy, Debug)]
struct Setting {
    window: usize,
    c: usize,
    is_refcode: bool,
}

const SJD_ROWS: Setting = Setting { window: 3, c: 99, is_refcode: false };

fn pjd(Setting { window, c, is_refcode }: Setting) -> String {
    let tail = if is_refcode { ", tail = \"refcode\"" } else { "" };
    format!("frontier = {{ kind = \"pjd\", window = {window}, c = {c}{tail} }}")
}

fn pjd_image(
    model: ToyModel,
    (n_tokens, row): (usize, usize),
    setting: Setting,
    uniforms: &Uniforms,
) -> Decoded {
    let mut generation = ToyGeneration::new(model.clone(), n_tokens).with_rows(row);
    let decoded = decode(&mut built(&pjd(setting), model), &mut generation, uniforms, &Ticks::new());
    assert_eq!(decoded.nfe(), generation.n_forwards());
    let emitted: u32 = decoded.steps.iter().map(|step| step.n_emitted).sum();
    assert_eq!(emitted as usize, n_tokens - 1, "the first token is of the prefill");
    decoded
}

/// One image by position, as the definition has it.
struct Definition<'a> {
    model: &'a ToyModel,
    n_tokens: usize,
    row: usize,
    tokens: Vec<TokenId>,
    drafts: BTreeMap<usize, (TokenId, Dist)>,
}

impl Definition<'_> {
    fn n_rows(&self) -> usize {
        self.n_tokens.div_ceil(self.row)
    }

    /// Positions of a row.
    fn of(&self, row: usize) -> std::ops::Range<usize> {
        row * self.row..((row + 1) * self.row).min(self.n_tokens)
    }

    fn count(&self, row: usize) -> usize {
        self.of(row).filter(|&position| self.tokens[position] != MISSING).count()
    }

    fn is_whole(&self, row: usize) -> bool {
        self.count(row) == self.of(row).len()
    }

    /// The distribution at `position`: behind committed tokens, and behind the drafts of its own row.
    fn distribution(&self, position: usize) -> Dist {
        let row = position / self.row;
        let first = self.of(row).start;
        let mut context = self.tokens[..position].to_vec();
        for (at, token) in context.iter_mut().enumerate().skip(first) {
            if *token == MISSING {
                *token = self.drafts[&at].0;
            }
        }
        if 0 < first && self.count(row) == 0 && context[first - 1] == MISSING {
            // The token above the missing one, or the newest left of that; nothing is above the first row.
            let column = if row == 1 { first - 1 } else { first - 1 - self.row };
            context[first - 1] =
                *self.tokens[..=column].iter().rev().find(|&&token| token != MISSING).unwrap();
        }
        self.model.distribution(&context)
    }
}

fn by_definition(
    model: &ToyModel,
    (n_tokens, row): (usize, usize),
    setting: Setting,
    seed: u64,
) -> (Vec<TokenId>, u32) {
    let uniforms = Uniforms::new(seed);
    let mut image =
        Definition { model, n_tokens, row, tokens: vec![MISSING; n_tokens], drafts: BTreeMap::new() };
    image.tokens[0] = model.distribution(&[]).sample(uniforms.uniform(Purpose::Root, 0, 0));
    for step in 0.. {
        let Some(top) = (0..image.n_rows()).find(|&row| !image.is_whole(row)) else {
            return (image.tokens, step + 1);
        };
        let is_open =
            |row: &usize| *row == top || setting.c <= image.count(row - 1) || image.is_whole(row - 1);
        let open: Vec<usize> = (top..image.n_rows()).take_while(is_open).collect();
        // What each row runs besides its newest token.
        let mut windows = Vec::new();
        for &row in &open {
            let next = image.of(row).start + image.count(row);
            let behind = if row == top { usize::MAX } else { image.count(row - 1) - image.count(row) };
            let end = (next + setting.window.min(behind) - 1).min(image.of(row).end).max(next);
            image.drafts.retain(|&at, _| !image_row(at, image.row, row) || (next..end).contains(&at));
            for at in next..end {
                let u = uniforms.uniform(Purpose::Init, step, slot(row, at - next));
                let token = TokenId((u * model.n_vocab as f64) as u32);
                image.drafts.entry(at).or_insert((token, Dist::one_hot(model.n_vocab, token)));
            }
            windows.push((row, next, end));
        }
        let before = Definition { tokens: image.tokens.clone(), drafts: image.drafts.clone(), ..image };
        for (row, next, end) in windows {
            let tested = |at: usize| {
                let (token, old) = &before.drafts[&at];
                let u = uniforms.uniform(Purpose::Accept, step, slot(at - next + 1, row));
                u * f64::from(old.prob(*token)) < f64::from(before.distribution(at).prob(*token))
            };
            let stop = (next..end).find(|&at| !tested(at)).unwrap_or(end);
            for at in next..stop {
                image.tokens[at] = before.drafts[&at].0;
            }
            let mut settled = stop;
            if row == top && stop < before.of(row).end {
                let new = before.distribution(stop);
                let residual = before.drafts.get(&stop).and_then(|(_, old)| new.residual(old));
                let u = uniforms.uniform(Purpose::Resample, step, slot(0, row));
                image.tokens[stop] = residual.unwrap_or(new).sample(u);
                settled += 1;
            }
            for at in settled..(end + 1).min(before.of(row).end) {
                let new = before.distribution(at);
                let keeps = |(token, old): &&(TokenId, Dist)| {
                    stop < at && setting.is_refcode && 0.5 < new.prob(*token) / old.prob(*token)
                };
                if before.drafts.get(&at).filter(keeps).is_none() {
                    let u = uniforms.uniform(Purpose::Draft, step, slot(row, at - next));
                    image.drafts.insert(at, (new.sample(u), new));
                }
            }
            image.drafts.retain(|&at, _| !image_row(at, image.row, row) || settled <= at);
        }
    }
    unreachable!("every step settles a token of the top row");
}

fn image_row(position: usize, len: usize, row: usize) -> bool {
    position / len == row
}

#[test]
fn every_token_is_drafted_tested_and_committed_as_the_definition_says() {
    for sizes in [(25, 5), (24, 6), (9, 3), (20, 4), (6, 3), (7, 3), (5, 5)] {
        for (window, c) in [(2, 1), (3, 1), (4, 2), (3, 3), (6, 2), (9, 1), (3, 99)] {
            for is_refcode in [false, true] {
                let setting = Setting { window, c, is_refcode };
                for seed in 0..12 {
                    let decoded = pjd_image(target(), sizes, setting, &Uniforms::new(seed));
                    let expected = by_definition(&target(), sizes, setting, seed);
                    assert_eq!((decoded.tokens.clone(), decoded.nfe()), expected, "{sizes:?}, {setting:?}");
                }
            }
        }
    }
}

#[test]
fn rows_side_by_side_take_fewer_forwards_than_rows_in_turn() {
    let forwards = |c| {
        let nfe = |seed| {
            let setting = Setting { window: 6, c, is_refcode: false };
            pjd_image(target(), (64, 8), setting, &Uniforms::new(seed)).nfe()
        };
        (0..40).map(nfe).sum::<u32>()
    };
    let [wide, narrow, in_turn] = [2, 4, 8].map(forwards);
    // A forward an image and more.
    assert!(wide + 80 < narrow && narrow + 80 < in_turn, "{wide}, {narrow}, {in_turn}");
}

#[test]
fn an_image_of_one_row_is_decoded_as_sjd_does() {
    for (window, n_tokens) in [(2, 9), (4, 12), (7, 30)] {
        let sjd = format!("drafter = {{ proposer = \"jacobi\", window = {window}, init = \"random\" }}");
        for seed in 0..40 {
            let expected = image(built(&sjd, target()), target(), n_tokens, seed);
            let setting = Setting { window, ..SJD_ROWS };
            let found = pjd_image(target(), (n_tokens, n_tokens), setting, &Uniforms::new(seed));
            let of = |decoded: &Decoded| {
                let steps = decoded.steps.iter().map(|step| (step.n_drafted, step.n_accepted));
                let depths = [&decoded.tested_by_depth, &decoded.accepted_by_depth].map(Clone::clone);
                (decoded.tokens.clone(), depths, steps.collect::<Vec<_>>(), decoded.n_residual_fallbacks)
            };
            assert_eq!(of(&found), of(&expected), "window {window}, {n_tokens} tokens, seed {seed}");
        }
    }
}

#[test]
fn rows_in_turn_are_lossless_and_rows_side_by_side_are_not() {
    let coupled = ToyModel { sampling: Sampling { coupled: true, ..SAMPLING }, ..target() };
    for seed in 0..50 {
        let uniforms = Uniforms::new(seed).coupled(true);
        let mut plain = ToyGeneration::new(coupled.clone(), 12);
        let expected = decode(&mut method(AR, coupled.clone()), &mut plain, &uniforms, &Ticks::new());
        for window in [2, 3, 8] {
            let setting = Setting { window, c: 4, is_refcode: false };
            assert_eq!(pjd_image(coupled.clone(), (12, 4), setting, &uniforms).tokens, expected.tokens);
        }
    }
    let toy = ToyModel { n_vocab: 4, ..target() };
    let joint = toy.joint(6);
    let found = |setting: Setting| {
        let mut counts = vec![0; joint.len()];
        for seed in 0..40_000 {
            let tokens = pjd_image(toy.clone(), (6, 3), setting, &Uniforms::new(seed)).tokens;
            counts[tokens.iter().fold(0, |cell, token| cell * 4 + token.idx())] += 1;
        }
        chi_square(&counts, &joint)
    };
    let (in_turn, side_by_side) = (found(SJD_ROWS), found(Setting { c: 1, ..SJD_ROWS }));
    assert!(P_MIN < in_turn.p_value, "{in_turn:?}");
    assert!(side_by_side.p_value < P_MIN, "{side_by_side:?}");
    // A tail that keeps its old distribution is not lossless in one row either.
    let kept = found(Setting { is_refcode: true, window: 4, c: 99 });
    assert!(kept.p_value < P_MIN, "{kept:?}");
}

/// The toy with two tokens before its rows and one at the end of each: all are token 0. In order it holds so many tokens.
struct Framed(ToyGeneration, usize);

/// Token 0 of so many.
struct Certain(usize);

impl Scores for Certain {
    fn dist(&self, _: NodeId) -> Rc<Dist> {
        Rc::new(Dist::one_hot(self.0, TokenId(0)))
    }
    fn feature(&self, _: NodeId) -> Rc<[f32]> {
        Rc::from([])
    }
}

const COLUMNS: usize = 4;
const BEFORE: usize = 2;

fn is_structural(position: usize) -> bool {
    position.checked_sub(BEFORE).is_none_or(|at| at % (COLUMNS + 1) == COLUMNS)
}

impl Generation for Framed {
    fn n_tokens(&self) -> usize {
        self.0.n_tokens()
    }
    fn n_vocab(&self) -> usize {
        self.0.n_vocab()
    }
    fn prefill(&mut self) -> Rc<Dist> {
        self.0.prefill();
        Rc::new(Dist::one_hot(self.n_vocab(), TokenId(0)))
    }
    fn score(&mut self, tree: &TokenTree) -> Box<dyn Scores> {
        let free = self.0.score(tree);
        if is_structural(self.1 + 1) { Box::new(Certain(self.n_vocab())) } else { free }
    }
    fn commit(&mut self, path: &[NodeId]) {
        self.1 += path.len();
        self.0.commit(path);
    }
    fn rows(&self) -> PictureRows {
        let len = COLUMNS + 1;
        PictureRows { n_before: BEFORE, len, n: (self.n_tokens() - BEFORE) / len }
    }
    fn score_placed(&mut self, tokens: &[Placed]) -> Box<dyn Scores> {
        self.0.score_placed(tokens)
    }
    fn keep_placed(&mut self, kept: &[NodeId]) {
        self.0.keep_placed(kept);
    }
    fn forced(&self, position: usize) -> Option<TokenId> {
        is_structural(position).then_some(TokenId(0))
    }
}

#[test]
fn structural_tokens_are_known_and_never_drafted() {
    let n_tokens = BEFORE + 3 * (COLUMNS + 1);
    let coupled = ToyModel { sampling: Sampling { coupled: true, ..SAMPLING }, ..target() };
    for seed in 0..30 {
        let run = |cell: &str, uniforms: &Uniforms| {
            let mut generation = Framed(ToyGeneration::new(coupled.clone(), n_tokens), 0);
            decode(&mut built(cell, coupled.clone()), &mut generation, uniforms, &Ticks::new())
        };
        let decoded = run(&pjd(Setting { window: 3, c: 2, is_refcode: false }), &Uniforms::new(seed));
        let n_structural = BEFORE + 3;
        assert_eq!((decoded.tokens.len(), decoded.forced as usize), (n_tokens, n_structural));
        assert!((0..n_tokens).filter(|&at| is_structural(at)).all(|at| decoded.tokens[at].0 == 0));
        let emitted: u32 = decoded.steps.iter().map(|step| step.n_emitted).sum();
        assert_eq!(emitted as usize, n_tokens - 1, "structural tokens are emitted with what is before them");
        let uniforms = Uniforms::new(seed).coupled(true);
        let in_turn = run(&pjd(Setting { c: COLUMNS, ..SJD_ROWS }), &uniforms);
        assert_eq!(in_turn.tokens, run(&format!("drafter = {AR}"), &uniforms).tokens);
    }
}

#[test]
fn it_is_read_written_and_refused_as_a_frontier() {
    let config = parsed(&pjd(Setting { window: 16, c: 11, is_refcode: true }));
    assert!(!config.is_lossless());
    let line = "frontier=pjd(window=16,c=11,tail=refcode)";
    assert_eq!(config.canonical(), line);
    let again: specimen_decode::method::MethodConfig =
        serde_json::from_str(&serde_json::to_string(&config).unwrap()).unwrap();
    assert_eq!(again, config);
    assert_eq!(config.max_tree_nodes(), 16 + 128);
    let refused = |keys: &str| {
        let text = format!("frontier = {{ kind = \"pjd\", {keys} }}");
        let config = toml::from_str::<specimen_decode::method::MethodConfig>(&text);
        config.map_err(|error| error.to_string()).and_then(|c| c.validate().map_err(|e| e.to_string()))
    };
    assert!(refused("window = 1, c = 4").unwrap_err().contains("`window` is 1, expected 2..=1024"));
    assert!(refused("window = 4, c = 0").unwrap_err().contains("`c` is 0, expected 1..=1024"));
    assert!(refused("window = 4").unwrap_err().contains("missing field `c`"));
}
