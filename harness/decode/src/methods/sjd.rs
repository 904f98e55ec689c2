//! Speculative Jacobi decoding: the target's last iteration drafts the next one (Teng et al., arXiv
//! 2410.01699; reference code tyshiwo1/Accelerating-T2I-AR-with-SJD). No drafter network.
//!
//! Our reading: a window of `L - 1` guesses is scored in one forward; what the walk leaves unsettled is drawn
//! anew from the distributions of that forward, and these distributions are what the next walk tests the draws
//! against. Guesses for positions never scored are point masses, so the method is lossless whatever they are. Fresh
//! draws and accept tests have different addresses and so are independent, which losslessness needs. At temperature 0
//! all distributions are point masses and this is the greedy Jacobi iteration.

use std::rc::Rc;

use serde::{Deserialize, Serialize};

use crate::{
    dist::{Dist, TokenId},
    drafter::Drafter,
    generation::Scores,
    method::{MethodError, Works},
    methods::{
        scd::{Couple, Redrawn},
        sjd_pac::{Branch, Drawn, Siblings},
        sjd_vp::{Previous, Refresh, RefreshDistributions},
    },
    noise::Noise,
    rng::{Purpose, Uniforms, slot},
    tree::{NodeId, Proposal, TokenTree},
};

/// The work that speculative Jacobi decoding is from.
pub(crate) const WORKS: Works = Works { method: "sjd", cite: &["teng2025sjd"] };

/// `{ proposer = "jacobi", window = 16, init = "random" }`.
#[derive(Clone, Debug, PartialEq)]
pub struct JacobiConfig {
    /// `L`: positions of one forward, the newest sampled token included, in `2..=1024`.
    pub window: usize,
    /// The first guess for a position.
    pub init: Init,
    /// Active for image positions `[l, r)` of the first guess; elsewhere decoding is autoregressive. `None`:
    /// everywhere.
    pub active: Option<[usize; 2]>,
    /// What unsettled positions are drawn from.
    pub refresh: Refresh,
    /// How what they are drawn to depends on what they held.
    pub couple: Couple,
    /// The tree at its front; `None`: the window is a chain.
    pub branch: Option<Branch>,
}

/// The first guess for a position nothing is known about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Init {
    /// Each code of the picture with the same probability, no structural token (Lumina-mGPT, Emu3).
    Random,
    /// The token before it (LlamaGen's `repeat_horizon`).
    RepeatLeft,
    /// The token one row up; that before it in the first row.
    RepeatAbove {
        /// Tokens per row.
        width: usize,
    },
}

/// [`Init`] as a spec names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum InitKind {
    Random,
    RepeatLeft,
    RepeatAbove,
}

/// Drafts from the target's own last forward.
pub struct JacobiDrafter {
    config: JacobiConfig,
    n_vocab: usize,
    /// Random guesses are below it.
    n_codes: usize,
    /// Guesses for the positions after the newest sampled token.
    window: Vec<Guess>,
    /// Tokens the image missed after the root at the last draft.
    n_left: usize,
    /// Nodes of the last draft that hold the guesses, behind its root.
    main: Vec<NodeId>,
    noise: Noise,
}

struct Guess {
    token: TokenId,
    /// What it is tested against.
    recorded: Rc<Dist>,
    /// The target's distribution at its position in the last iteration; `None` if that has not been seen.
    target: Option<Rc<Dist>>,
    /// What the guess before it left of that; only for [`Siblings::Refcode`].
    residual: Option<Dist>,
}

impl JacobiConfig {
    pub(crate) fn validate(&self) -> Result<(), MethodError> {
        MethodError::check_range("window", 2..=1024, self.window)?;
        if let Init::RepeatAbove { width } = self.init {
            MethodError::check_range("width", 1..=4096, width)?;
        }
        if let Some([start, end]) = self.active
            && end <= start
        {
            return Err(MethodError(format!(
                "drafter key `active` is [{start}, {end}], expected a start below its end"
            )));
        }
        self.branch.map_or(Ok(()), |branch| branch.validate(self.window, self.couple))?;
        self.refresh.validate()
    }

    /// Whether every guess is tested against what it was drawn from.
    pub(crate) fn is_lossless(&self) -> bool {
        self.refresh.is_lossless() && self.branch.is_none_or(|branch| branch.siblings.are_exact())
    }

    /// Positions after the newest sampled token that have a guess.
    fn n_positions(&self) -> usize {
        let on_tree = self.branch.map_or((1, 0), |branch| (branch.n_nodes(), branch.depth - 1));
        self.window - on_tree.0 + on_tree.1
    }

    /// One line, for instance `jacobi(window=16,init=random)`.
    #[must_use]
    pub fn canonical(&self) -> String {
        let init = match self.init {
            Init::Random => "random".to_owned(),
            Init::RepeatLeft => "repeat-left".to_owned(),
            Init::RepeatAbove { width } => format!("repeat-above,width={width}"),
        };
        let active = self.active.map_or(String::new(), |[start, end]| format!(",active={start}..{end}"));
        let couple = match self.couple {
            Couple::Independent => String::new(),
            coupled => format!(",couple={}", coupled.name()),
        };
        let branch = self.branch.map_or_else(String::new, Branch::canonical);
        format!(
            "jacobi(window={},init={init}{active}{}{couple}{branch})",
            self.window,
            self.refresh.canonical()
        )
    }
}

impl JacobiDrafter {
    /// A drafter that has drafted nothing yet.
    #[must_use]
    pub fn new(config: JacobiConfig) -> Self {
        Self {
            config,
            n_vocab: 0,
            n_codes: 0,
            window: Vec::new(),
            n_left: 0,
            main: Vec::new(),
            noise: Noise::default(),
        }
    }

    /// The first guess for the window's next position.
    fn first_guess(&self, tokens: &[TokenId], step: u32, uniforms: &Uniforms) -> TokenId {
        let at = |position: usize| match position.checked_sub(tokens.len()) {
            None => tokens[position],
            Some(slot) => self.window[slot].token,
        };
        let position = tokens.len() + self.window.len();
        match self.config.init {
            Init::Random => {
                let u = uniforms.uniform(Purpose::Init, step, slot(0, self.window.len()));
                TokenId((u * self.n_codes as f64) as u32)
            }
            Init::RepeatAbove { width } if width <= position => at(position - width),
            Init::RepeatLeft | Init::RepeatAbove { .. } => at(position - 1),
        }
    }
}

impl Drafter for JacobiDrafter {
    fn begin_image(&mut self, _: usize, n_vocab: usize, n_codes: usize) {
        (self.n_vocab, self.n_codes) = (n_vocab, n_codes);
        self.window.clear();
        self.noise = Noise::default();
    }

    fn draft(&mut self, tokens: &[TokenId], n_left: usize, step: u32, uniforms: &Uniforms) -> TokenTree {
        (self.n_left, self.main) = (n_left, vec![TokenTree::ROOT]);
        self.noise.keep_within(n_left);
        let mut tree = TokenTree::new(*tokens.last().expect("the first token is sampled from the prefill"));
        let is_active = |[start, end]: [usize; 2]| (start..end).contains(&tokens.len());
        if !self.config.active.is_none_or(is_active) {
            self.window.clear();
            return tree;
        }
        let n_guesses = self.config.n_positions().min(n_left);
        self.window.truncate(n_guesses);
        while self.window.len() < n_guesses {
            let token = self.first_guess(tokens, step, uniforms);
            let recorded = Rc::new(Dist::one_hot(self.n_vocab, token));
            self.window.push(Guess { token, recorded, target: None, residual: None });
        }
        let mut level = self.main.clone();
        for (place, Guess { token, recorded, residual, .. }) in self.window.iter().enumerate() {
            let branch = self.config.branch.filter(|branch| place + 1 < branch.depth);
            let column = match branch {
                Some(branch) => {
                    let guess = Drawn { token: *token, recorded, residual: residual.as_ref() };
                    branch.column(&guess, place, (step, uniforms))
                }
                None => vec![(*token, recorded.prob(*token))],
            };
            // Behind the tree only the guesses go on.
            if branch.is_none() {
                level.truncate(1);
            }
            let mut next = Vec::new();
            for &parent in &level {
                for &(token, conditional) in &column {
                    let distribution = Rc::clone(recorded);
                    next.push(tree.push(parent, token, Proposal::Sampled { distribution, conditional }));
                }
            }
            level = next;
            self.main.push(level[0]);
        }
        tree
    }

    fn observe(
        &mut self,
        _: &TokenTree,
        path: &[NodeId],
        scores: Option<&dyn Scores>,
        step: u32,
        uniforms: &Uniforms,
    ) {
        let scores = scores.expect("a Jacobi window is drawn from the forward of every step");
        // The node at depth d predicts the position d + 1 after the root. The one after the accepted path
        // became the new root; the image's last position predicts nothing.
        let unsettled = path.len() + 1..self.main.len().min(self.n_left);
        // With coupled seeds the target's token of a position is that of the image's noise, so the guess is too.
        let couple = if uniforms.is_coupled() { Couple::Gumbel } else { self.config.couple };
        let of_residual = self.config.branch.filter(|branch| branch.siblings == Siblings::Refcode);
        let redraw = |depth: usize| {
            let target = scores.dist(self.main[depth]);
            let held = self.window.get(depth);
            let previous = held.and_then(|guess| {
                let target = guess.target.as_deref()?;
                Some(Previous { target, recorded: &guess.recorded })
            });
            let RefreshDistributions { drawn, recorded } =
                self.config.refresh.distributions(Rc::clone(&target), previous);
            let at = Redrawn { uniforms, step, place: depth, left: self.n_left - depth };
            let held = held.map(|guess| (guess.token, &*guess.recorded));
            let token = couple.draw(&drawn, held, &at, &mut self.noise);
            // Only the first places of the new window have siblings.
            let has_siblings = of_residual.is_some_and(|branch| depth - path.len() < branch.depth);
            let residual = held.filter(|_| has_siblings).and_then(|(_, before)| drawn.residual(before));
            Guess { token, recorded, target: Some(target), residual }
        };
        self.window = unsettled.map(redraw).collect();
    }

    fn n_forwards(&self) -> u32 {
        0
    }
}
