//! Another program's sampler on a toy: it is given the distributions of target and drafter step by step, and answers what it
//! accepts and draws. Its images are tested against the exact joint distribution, next to those of this program's own walk
//! over the same kind of drafts.
//!
//! One request and one answer are a line of JSON each; `docs/how-the-lossless-test-works.md` describes them.

use std::{cell::RefCell, path::Path, process::Stdio, time::Duration};

use serde::{Deserialize, Serialize};
use specimen_decode::{
    clock::MonotonicClock,
    decoder::decode,
    dist::TokenId,
    pipeline::{FilterOrder, Sampling},
    rng::{Purpose, Uniforms, slot},
    toy::{ToyDraftModel, ToyGeneration, ToyModel},
};
use specimen_foundation::{failure, plain_words::plain_words};

use super::{
    Case,
    goodness_of_fit::FitTests,
    subject::{Subject, test_whole},
};
use crate::{
    error::RunError,
    external::{Process, Start},
};

/// The case whose images the other program makes; others are decoded here.
pub const EXTERNAL: &str = "external";

/// Version of the lines.
const PROTOCOL: u32 = 1;
/// Tokens of the vocabulary.
const N_VOCAB: usize = 4;
/// Tokens of an image: what is wrong adds up over positions, and shorter images hide it.
const N_TOKENS: usize = 6;
/// Tokens of a draft.
const N_DRAFTS: usize = 3;
/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// One step: a draft in sequence, and the target's distributions.
#[derive(Serialize)]
struct Step {
    protocol: u32,
    id: String,
    /// Another one for each step, for draws of the program's own.
    seed: u64,
    draft: Vec<Guess>,
    /// `target[i]` is the distribution of the token after the first `i` tokens of the draft: one more than there are drafts.
    target: Vec<Vec<f32>>,
}

/// A token of the draft, and what it was drawn from.
#[derive(Serialize)]
struct Guess {
    token: u32,
    distribution: Vec<f32>,
}

/// What the program makes of a step.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Reply {
    protocol: u32,
    id: String,
    /// So many tokens of the draft are accepted, from the first on.
    accepted: usize,
    /// The token after them.
    token: u32,
}

/// The toy, and the program.
pub struct SamplerToy {
    target: ToyModel,
    drafter: ToyModel,
    joint: Vec<f64>,
    process: RefCell<Process>,
}

impl SamplerToy {
    /// Starts the program that `command` names, with its arguments, in this folder.
    pub fn start(command: &[String]) -> Result<Self, RunError> {
        let start = Start {
            command,
            cwd: Path::new("."),
            env: &[],
            stderr: Stdio::inherit(),
            start_timeout: PATIENCE,
            timeout: PATIENCE,
        };
        let process = Process::start(start).map_err(|error| failure!(Environment: "{error}"))?;
        let sampling = Sampling {
            guidance: 3.0,
            temperature: 1.0,
            top_k: 0,
            top_p: 1.0,
            filter_order: FilterOrder::TopKThenTopP,
            coupled: false,
        };
        let target = ToyModel { seed: 11, n_vocab: N_VOCAB, spread: 0.5, sampling };
        let drafter = ToyModel { seed: 12, ..target.clone() };
        Ok(Self { joint: target.joint(N_TOKENS), target, drafter, process: RefCell::new(process) })
    }

    /// An image that the program decodes.
    fn sampled(&self, seed: u64) -> Result<Vec<TokenId>, RunError> {
        let uniforms = Uniforms::new(seed);
        let first = self.target.distribution(&[]).sample(uniforms.uniform(Purpose::Root, 0, 0));
        let mut tokens = vec![first];
        let mut n_steps = 0;
        while tokens.len() < N_TOKENS {
            let mut context = tokens.clone();
            let mut step = Step {
                protocol: PROTOCOL,
                id: format!("{seed}/{n_steps}"),
                seed: seed << 8 | u64::from(n_steps),
                draft: Vec::new(),
                target: vec![self.target.distribution(&context).probs().to_vec()],
            };
            for rank in 0..N_DRAFTS.min(N_TOKENS - tokens.len()) {
                let drawn_from = self.drafter.distribution(&context);
                let token = drawn_from.sample(uniforms.uniform(Purpose::Draft, n_steps, slot(rank, 0)));
                step.draft.push(Guess { token: token.0, distribution: drawn_from.probs().to_vec() });
                context.push(token);
                step.target.push(self.target.distribution(&context).probs().to_vec());
            }
            let (accepted, token) = self.ask(&step)?;
            tokens.extend_from_slice(&context[tokens.len()..][..accepted]);
            tokens.push(token);
            n_steps += 1;
        }
        // The token after a whole draft can be one too many.
        tokens.truncate(N_TOKENS);
        Ok(tokens)
    }

    /// How many drafts the program accepts, and the token after them.
    fn ask(&self, step: &Step) -> Result<(usize, TokenId), RunError> {
        let mut process = self.process.borrow_mut();
        let line = serde_json::to_string(step).expect("numbers and texts have a form in JSON") + "\n";
        let (bytes, _) = process.ask_line(line).map_err(|error| failure!(Environment: "{error}"))?;
        let wrong = |expected: &str, found: String| {
            let at = process.n_lines();
            failure!(Environment: "line {at} of the program: expected {expected}, found {found}")
        };
        let text = String::from_utf8_lossy(&bytes);
        let reply: Reply = serde_json::from_str(&text).map_err(|error| {
            wrong(
                "{\"protocol\": 1, \"id\": …, \"accepted\": …, \"token\": …}",
                format!("`{text}` ({})", plain_words(&error.to_string())),
            )
        })?;
        if (reply.protocol, &reply.id) != (PROTOCOL, &step.id) {
            return Err(wrong(
                &format!("protocol {PROTOCOL} and id {}", step.id),
                format!("protocol {} and id {}", reply.protocol, reply.id),
            )
            .into());
        }
        if step.draft.len() < reply.accepted {
            return Err(
                wrong(&format!("`accepted` up to {}", step.draft.len()), reply.accepted.to_string()).into()
            );
        }
        if N_VOCAB <= reply.token as usize {
            return Err(wrong(&format!("`token` below {N_VOCAB}"), reply.token.to_string()).into());
        }
        Ok((reply.accepted, TokenId(reply.token)))
    }
}

impl Subject for SamplerToy {
    fn describe(&self) -> String {
        format!(
            "toy, {N_TOKENS} tokens of {N_VOCAB}, drafts of {N_DRAFTS}, its joint distribution counted whole"
        )
    }

    fn n_tokens(&self) -> usize {
        N_TOKENS
    }

    fn image(&self, case: &Case, seed: u64) -> Result<Vec<TokenId>, RunError> {
        if case.name == EXTERNAL {
            return self.sampled(seed);
        }
        let drafter = Box::new(ToyDraftModel::new(self.drafter.clone()));
        let built = case.method.build(Some(drafter));
        let mut method = built.map_err(|error| failure!(Spec: "the toy: {error}"))?;
        let mut generation = ToyGeneration::new(self.target.clone(), N_TOKENS);
        Ok(decode(&mut method, &mut generation, &Uniforms::new(seed), &MonotonicClock::new()).tokens)
    }

    fn test(&self, images: &[Vec<TokenId>]) -> Result<FitTests, RunError> {
        test_whole(images, N_VOCAB, &self.joint)
    }

    fn n_tests(&self) -> usize {
        1
    }

    fn counted(&self, n_images: u64) -> (&'static str, u64) {
        ("joint", n_images)
    }
}
