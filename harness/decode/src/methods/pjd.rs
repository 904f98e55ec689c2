//! PJD, parallel Jacobi decoding: a Jacobi window in every row under way (Liao et al., arXiv 2606.05703; facts from a reading
//! note and from the code boyaliao/PJD at e7b93ad). Not lossless.
//!
//! A row opens as soon as the one above it has `c` committed tokens. One forward scores the newest committed token of every
//! open row and the drafts behind it: together as many as the row is behind the one above it, at most `W`. A draft sees the
//! drafts before it in its row and all committed tokens before it, but no drafts of other rows. Each row tests its drafts left
//! to right as SJD does. In the top row the first rejection gives a token of the residual, and a window accepted whole a bonus
//! token. The other rows wait: they only take what they accepted. Whatever is unsettled is drawn from the distributions of
//! this forward, rejected positions of waiting rows too, and tested against these next.
//!
//! From the code, where the text is silent: a row's first input is the structural token before it, which is known while the row
//! above is not whole. A row's newest token is run in every forward until there is a newer one, so a waiting row draws its
//! drafts again in every forward. First guesses are random codes.
//!
//! Our readings: without structural tokens (LlamaGen, whose code is not published) a row's first token follows a missing one; a
//! token stands in as in ZipAR, is seen by the drafts of that row only, and is forgotten. Structural tokens are never drafted
//! and `c` counts codes; the code counts the row end before the row too: its 11 is `c = 10`. In the top row the last position is
//! drafted, as in SJD; the code leaves it to the bonus token, which has the same distribution. The code's mask is right for
//! two rows: it adds up the widths before a row twice, so later rows see drafts of others. Here they do not.

mod options;

use std::{ops::Range, rc::Rc};

use crate::{
    clock::{Clock, Laps},
    decoder::first_token,
    dist::{Dist, TokenId},
    frontier::{Frontier, PictureRows, Placed, drawn},
    generation::{Generation, Scores},
    method::Works,
    noise::Noise,
    rng::{Purpose, Uniforms, slot},
    trace::{Decoded, StepTrace},
    tree::NodeId,
};

pub use self::options::{PjdConfig, Tail};

/// The work that parallel Jacobi decoding is from.
pub(crate) const WORKS: Works = Works { method: "pjd", cite: &["liao2026pjd"] };

/// Decodes by PJD.
pub struct Pjd(pub PjdConfig);

#[derive(Clone)]
struct Guess {
    token: TokenId,
    /// What it is tested against.
    recorded: Rc<Dist>,
}

/// A row without its structural tokens: positions `start..end`.
struct Row {
    start: usize,
    end: usize,
    n_committed: usize,
    /// Drafts of the positions behind the newest committed token.
    guesses: Vec<Guess>,
}

struct Image {
    rows: Vec<Row>,
    /// Structural tokens, and those that are committed.
    tokens: Vec<Option<TokenId>>,
    /// Whether the keys and values of a position stay.
    is_kept: Vec<bool>,
}

/// The tokens of a row in one forward: committed ones, then its drafts.
struct Run {
    row: usize,
    nodes: Range<usize>,
    /// The node that predicts the row's next token; each draft behind it predicts one more.
    root: usize,
    was_full: bool,
}

/// What the test of a row gives.
struct Walk {
    n_accepted: usize,
    /// The residual's token, or the bonus token; only in the top row.
    next: Option<TokenId>,
}

/// A forward, and the draws that belong to it.
struct Forward<'a> {
    scores: &'a dyn Scores,
    uniforms: &'a Uniforms,
    step: u32,
    n_tokens: usize,
}

impl Row {
    fn is_full(&self) -> bool {
        self.next() == self.end
    }

    /// The position behind its newest committed token.
    fn next(&self) -> usize {
        self.start + self.n_committed
    }

    fn n_left(&self) -> usize {
        self.end - self.next()
    }
}

impl Image {
    fn new(generation: &dyn Generation) -> Self {
        let n_tokens = generation.n_tokens();
        let tokens: Vec<Option<TokenId>> =
            (0..n_tokens).map(|position| generation.forced(position)).collect();
        let PictureRows { n_before, len, n } = generation.rows();
        let row = |start: usize| {
            let all = start..(start + len).min(n_tokens);
            let end = all.clone().find(|&position| tokens[position].is_some()).unwrap_or(all.end);
            Row { start, end, n_committed: 0, guesses: Vec::new() }
        };
        let rows = (0..n).map(|at| row(n_before + at * len)).collect();
        Self { rows, tokens, is_kept: vec![false; n_tokens] }
    }

    /// The first row that is not whole.
    fn top(&self) -> Option<usize> {
        self.rows.iter().position(|row| !row.is_full())
    }

    /// Rows that are open or whole.
    fn n_open(&self, c: usize) -> usize {
        let opens_next = |row: &&Row| row.is_full() || c <= row.n_committed;
        (1 + self.rows.iter().take_while(opens_next).count()).min(self.rows.len())
    }

    /// Tokens that the image has so far: what is committed, the structural tokens before the first row, and those behind each
    /// whole row.
    fn n_known(&self) -> usize {
        let ends = self.rows.iter().skip(1).map(|row| row.start).chain([self.tokens.len()]);
        let of_row =
            |(row, end): (&Row, usize)| if row.is_full() { end - row.start } else { row.n_committed };
        self.rows[0].start + self.rows.iter().zip(ends).map(of_row).sum::<usize>()
    }

    fn commit(&mut self, row: usize, token: TokenId) {
        let row = &mut self.rows[row];
        self.tokens[row.next()] = Some(token);
        row.n_committed += 1;
    }

    /// Gives every open row from `top` on its window: what it held, and first guesses behind that.
    fn draft(&mut self, config: &PjdConfig, top: usize, first_guess: impl Fn(usize, usize) -> Guess) {
        for at in top..self.n_open(config.c) {
            let of_row = match at == top {
                true => config.window,
                false => config.window.min(self.rows[at - 1].n_committed - self.rows[at].n_committed),
            };
            let row = &mut self.rows[at];
            // The newest committed token is one of the window.
            let n_guesses = of_row.saturating_sub(1).min(row.n_left());
            row.guesses.truncate(n_guesses);
            row.guesses.extend((row.guesses.len()..n_guesses).map(|place| first_guess(at, place)));
        }
    }

    /// The tokens of the next forward, by position.
    fn place(&self, config: &PjdConfig) -> (Vec<Placed>, Vec<Run>) {
        let (mut placed, mut runs) = (Vec::new(), Vec::new());
        for (at, row) in self.rows[..self.n_open(config.c)].iter().enumerate() {
            let committed = |position: usize| {
                let token = self.tokens[position].expect("what stands before a row's drafts is known");
                Placed { position, token, draft_of: None }
            };
            let above = at.checked_sub(1).map(|above| &self.rows[above]);
            let known = above.map_or(0, |above| above.end)..row.next();
            let mut tokens: Vec<Placed> =
                known.clone().filter(|&position| !self.is_kept[position]).map(committed).collect();
            if known.is_empty() && above.is_some_and(|above| !above.is_full()) {
                // The token above the missing one, or the newest of its row; the first row has none above it.
                let newest = committed(self.rows[at.saturating_sub(2)].next() - 1);
                tokens.push(Placed { position: row.start - 1, draft_of: Some(at), ..newest });
            }
            // Where a row begins behind a whole one, that one's last token has just been placed.
            let root = (placed.len() + tokens.len()).saturating_sub(1);
            let guesses = row.guesses.iter().enumerate();
            tokens.extend(guesses.map(|(place, guess)| Placed {
                position: row.next() + place,
                token: guess.token,
                draft_of: Some(at),
            }));
            if config.most_placed() < placed.len() + tokens.len() {
                break;
            }
            let nodes = placed.len()..placed.len() + tokens.len();
            placed.append(&mut tokens);
            runs.push(Run { row: at, nodes, root, was_full: row.is_full() });
        }
        (placed, runs)
    }

    /// Takes in what a row's walk gave, and draws the drafts behind it.
    fn settle(&mut self, run: &Run, walk: Walk, tail: Tail, forward: &Forward<'_>) {
        let row = &mut self.rows[run.row];
        let accepted = row.guesses.iter().take(walk.n_accepted).map(|guess| guess.token);
        let tokens: Vec<TokenId> = accepted.chain(walk.next).collect();
        let redraw = |place: usize| {
            let new = forward.scores.dist(NodeId(run.root + place));
            let stays = |held: &&Guess| 0.5 * held.recorded.prob(held.token) < new.prob(held.token);
            let is_tail = tail == Tail::Refcode && walk.n_accepted < place;
            let held = row.guesses.get(place).filter(|_| is_tail).filter(stays).cloned();
            held.unwrap_or_else(|| forward.guess(new, run.row, place, row.next() + place))
        };
        let unsettled = tokens.len()..(row.guesses.len() + 1).min(row.n_left());
        row.guesses = unsettled.map(redraw).collect();
        tokens.into_iter().for_each(|token| self.commit(run.row, token));
    }

    /// The nodes whose keys and values stay: all before the newest committed token of their row, and it too in a whole row.
    fn keep(&mut self, runs: &[Run], placed: &[Placed]) -> Vec<NodeId> {
        let mut kept = Vec::new();
        for run in runs {
            let row = &self.rows[run.row];
            let stays = |&node: &usize| {
                let Placed { position, draft_of, .. } = placed[node];
                let is_stand_in = draft_of.is_some() && position < row.start;
                run.was_full || (position + 1 < row.next() && !is_stand_in)
            };
            kept.extend(run.nodes.clone().filter(stays).map(NodeId));
        }
        kept.iter().for_each(|node| self.is_kept[placed[node.0].position] = true);
        kept
    }
}

impl Forward<'_> {
    /// A draft from `new`.
    fn guess(&self, new: Rc<Dist>, row: usize, place: usize, position: usize) -> Guess {
        let token = match self.uniforms.is_coupled() {
            true => Noise::default().first(&new, self.uniforms, self.n_tokens - position),
            false => new.sample(self.uniforms.uniform(Purpose::Draft, self.step, slot(row, place))),
        };
        Guess { token, recorded: new }
    }

    /// Tests the drafts of a row; what it tested is counted in `decoded`.
    fn walk(&self, row: &Row, run: &Run, is_top: bool, decoded: &mut Decoded) -> Walk {
        let p = |place: usize| self.scores.dist(NodeId(run.root + place));
        let left = |place: usize| self.n_tokens - row.next() - place;
        let is_accepted = |place: usize, Guess { token, recorded }: &Guess| {
            if self.uniforms.is_coupled() {
                return Noise::default().first(&p(place), self.uniforms, left(place)) == *token;
            }
            let u = self.uniforms.uniform(Purpose::Accept, self.step, slot(place + 1, run.row));
            u * f64::from(recorded.prob(*token)) < f64::from(p(place).prob(*token))
        };
        let guesses = row.guesses.iter().enumerate();
        let n_accepted = guesses.take_while(|&(place, guess)| is_accepted(place, guess)).count();
        let rejected = row.guesses.get(n_accepted);
        let n_tested = n_accepted + usize::from(rejected.is_some());
        decoded.count_depths(n_tested, n_accepted);
        let next = (is_top && n_accepted < row.n_left()).then(|| {
            let p = p(n_accepted);
            // With coupled seeds the target's own token is drawn.
            let rejected = rejected.filter(|_| !self.uniforms.is_coupled());
            let residual = rejected.map(|guess| p.residual(&guess.recorded));
            decoded.n_residual_fallbacks += u32::from(residual == Some(None));
            let residual = residual.flatten();
            drawn(residual.as_ref().unwrap_or(&p), self.uniforms, self.step, (run.row, left(n_accepted)))
        });
        Walk { n_accepted, next }
    }
}

impl Frontier for Pjd {
    fn decode(&mut self, generation: &mut dyn Generation, uniforms: &Uniforms, clock: &dyn Clock) -> Decoded {
        let (n_tokens, n_codes) = (generation.n_tokens(), generation.n_codes() as f64);
        let mut image = Image::new(generation);
        let forced = image.tokens.iter().flatten().count() as u32;
        let (mut total, mut laps) = (Laps::start(clock), Laps::start(clock));
        let distribution = generation.prefill();
        if image.tokens[0].is_none() {
            image.commit(0, first_token(&distribution, uniforms, n_tokens));
        }
        let mut decoded = Decoded { prefill_ns: laps.lap_ns(), forced, ..Decoded::default() };
        // The first token is of the prefill, structural or not.
        let mut n_known = 1;
        while let Some(top) = image.top() {
            let step = decoded.steps.len() as u32;
            image.draft(&self.0, top, |row, place| {
                let u = uniforms.uniform(Purpose::Init, step, slot(row, place));
                let token = TokenId((u * n_codes) as u32);
                Guess { token, recorded: Rc::new(Dist::one_hot(generation.n_vocab(), token)) }
            });
            let (placed, runs) = image.place(&self.0);
            let draft_ns = laps.lap_ns();
            let scores = generation.score_placed(&placed);
            let target_ns = laps.lap_ns();
            let forward = Forward { scores: &*scores, uniforms, step, n_tokens };
            let walk = |run: &Run| forward.walk(&image.rows[run.row], run, run.row == top, &mut decoded);
            let walks: Vec<Walk> = runs.iter().map(walk).collect();
            let mut trace = StepTrace { n_target_forwards: 1, draft_ns, target_ns, ..StepTrace::default() };
            trace.verify_ns = laps.lap_ns();
            for (run, walk) in runs.iter().zip(walks) {
                trace.n_drafted += image.rows[run.row].guesses.len() as u32;
                trace.n_accepted += walk.n_accepted as u32;
                image.settle(run, walk, self.0.tail, &forward);
            }
            trace.n_emitted = (image.n_known() - n_known) as u32;
            n_known += trace.n_emitted as usize;
            generation.keep_placed(&image.keep(&runs, &placed));
            trace.update_ns = laps.lap_ns();
            decoded.steps.push(trace);
        }
        decoded.tokens = image.tokens.into_iter().map(|token| token.expect("every row is whole")).collect();
        decoded.total_ns = total.lap_ns();
        decoded
    }
}
