//! ZipAR: rows of the picture are decoded side by side, each some tokens ahead of the next (He et al., arXiv 2412.04062; facts
//! from the code ThisisBillhe/ZipAR at 2a5695c). No drafter and no test: not lossless.
//!
//! The first row is decoded token by token. A row opens as soon as the one before it has `window` tokens, and every forward
//! then gives one token of each open row. A token sees what is decoded of the positions before its own. The first token of a
//! row follows the last one of the row before, which is missing yet: the token above it stands in, or the newest of that row,
//! and is forgotten after that forward. Where a row ends with a structural token, this one is known and needs no stand-in.
//!
//! The paper's adaptive window is not in its code, and not here.

use serde::{Deserialize, Serialize};

use crate::{
    clock::{Clock, Laps},
    decoder::first_token,
    dist::TokenId,
    frontier::{Frontier, PictureRows, Placed, drawn},
    generation::Generation,
    method::{MethodError, Works},
    rng::Uniforms,
    trace::{Decoded, StepTrace},
    tree::NodeId,
};

/// The work that ZipAR is from.
pub(crate) const WORKS: Works = Works { method: "zipar", cite: &["he2024zipar"] };

/// Rows that are under way at most: buffers are sized for them. More than a picture of any model has.
pub(crate) const MOST_ROWS: usize = 128;

/// `{ kind = "zipar", window = 8 }`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ZiparConfig {
    /// Tokens that a row has before the next one opens, in `1..=1024`; from a row's length on, decoding is autoregressive.
    pub window: usize,
}

impl ZiparConfig {
    pub(crate) fn validate(self) -> Result<(), MethodError> {
        MethodError::check_range("window", 1..=1024, self.window)
    }

    pub(crate) fn canonical(self) -> String {
        format!("zipar(window={})", self.window)
    }
}

/// Decodes by ZipAR.
pub struct Zipar(pub ZiparConfig);

/// A row under way: positions `start..end`. The first one has what is before it, the last one what is after it.
struct Row {
    start: usize,
    end: usize,
    n_decoded: usize,
    /// Whether its newest token was run.
    newest_ran: bool,
}

/// A token of the next forward.
struct Input {
    placed: Placed,
    /// The row whose next token it predicts.
    predicts: Option<usize>,
    is_stand_in: bool,
}

struct Image {
    rows: Vec<Row>,
    tokens: Vec<Option<TokenId>>,
}

impl Row {
    fn is_full(&self) -> bool {
        self.start + self.n_decoded == self.end
    }

    fn newest(&self) -> Option<usize> {
        (self.n_decoded > 0).then(|| self.start + self.n_decoded - 1)
    }
}

impl Image {
    fn new(PictureRows { n_before, len, n }: PictureRows, n_tokens: usize) -> Self {
        let edges: Vec<usize> =
            std::iter::once(0).chain((1..n).map(|row| n_before + row * len)).chain([n_tokens]).collect();
        let row = |edge: &[usize]| Row { start: edge[0], end: edge[1], n_decoded: 0, newest_ran: false };
        Self { rows: edges.windows(2).map(row).collect(), tokens: vec![None; n_tokens] }
    }

    /// Takes `token` in as the next one of `row`.
    fn take(&mut self, row: usize, token: TokenId) {
        let row = &mut self.rows[row];
        self.tokens[row.start + row.n_decoded] = Some(token);
        (row.n_decoded, row.newest_ran) = (row.n_decoded + 1, false);
    }

    fn is_full(&self) -> bool {
        self.rows.iter().all(Row::is_full)
    }

    /// The tokens of the next forward, by position.
    fn inputs(&self, window: usize, generation: &dyn Generation) -> Vec<Input> {
        let mut inputs = Vec::new();
        for (at, row) in self.rows.iter().enumerate() {
            let before = at.checked_sub(1).map(|before| &self.rows[before]);
            let opens =
                before.is_some_and(|before| at > 1 && !before.is_full() && window <= before.n_decoded);
            let placed = |position: usize| {
                let token = self.tokens[position].expect("a row's newest token is decoded");
                Placed { position, token, draft_of: None }
            };
            match row.newest() {
                Some(newest) if !row.newest_ran => {
                    let is_next_closed = self.rows.get(at + 1).is_some_and(|next| next.n_decoded == 0);
                    let next = is_next_closed.then_some(at + 1);
                    let predicts = if row.is_full() { next } else { Some(at) };
                    inputs.push(Input { placed: placed(newest), predicts, is_stand_in: false });
                }
                None if opens && inputs.len() < MOST_ROWS - 1 => {
                    let position = row.start - 1;
                    let above = self.rows[at - 2].newest().expect("rows open one after the other");
                    let token = generation.forced(position).unwrap_or(placed(above).token);
                    let placed = Placed { position, token, draft_of: None };
                    inputs.push(Input { placed, predicts: Some(at), is_stand_in: true });
                }
                _ => {}
            }
        }
        inputs
    }
}

impl Frontier for Zipar {
    fn decode(&mut self, generation: &mut dyn Generation, uniforms: &Uniforms, clock: &dyn Clock) -> Decoded {
        let n_tokens = generation.n_tokens();
        let mut image = Image::new(generation.rows(), n_tokens);
        let (mut total, mut laps) = (Laps::start(clock), Laps::start(clock));
        let first = first_token(&generation.prefill(), uniforms, n_tokens);
        image.take(0, first);
        let mut decoded = Decoded { prefill_ns: laps.lap_ns(), ..Decoded::default() };
        while !image.is_full() {
            let step = decoded.steps.len() as u32;
            let inputs = image.inputs(self.0.window, generation);
            let placed: Vec<Placed> = inputs.iter().map(|input| input.placed).collect();
            let update_ns = laps.lap_ns();
            let scores = generation.score_placed(&placed);
            let target_ns = laps.lap_ns();
            // All are drawn before any is taken in: none of them saw another.
            let draw = |(node, input): (usize, &Input)| {
                let row = input.predicts?;
                let position = image.rows[row].start + image.rows[row].n_decoded;
                Some((row, drawn(&scores.dist(NodeId(node)), uniforms, step, (row, n_tokens - position))))
            };
            let drawn: Vec<(usize, TokenId)> = inputs.iter().enumerate().filter_map(draw).collect();
            let verify_ns = laps.lap_ns();
            for row in image.rows.iter_mut().filter(|row| row.n_decoded > 0) {
                row.newest_ran = true;
            }
            let n_emitted = drawn.len() as u32;
            drawn.into_iter().for_each(|(row, token)| image.take(row, token));
            let kept: Vec<NodeId> =
                (0..inputs.len()).filter(|&at| !inputs[at].is_stand_in).map(NodeId).collect();
            generation.keep_placed(&kept);
            decoded.steps.push(StepTrace {
                n_emitted,
                n_target_forwards: 1,
                target_ns,
                verify_ns,
                update_ns: update_ns + laps.lap_ns(),
                ..StepTrace::default()
            });
        }
        decoded.forced = (0..n_tokens).filter(|&at| generation.forced(at).is_some()).count() as u32;
        decoded.tokens = image.tokens.into_iter().flatten().collect();
        decoded.total_ns = total.lap_ns();
        decoded
    }
}
