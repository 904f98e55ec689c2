//! What a head is worth: accepted tokens a step of lossless decoding with it, on prompts that it was not trained on, beside
//! those of the head that training began with and of the model's own head of the kind, where it has one.

use std::collections::BTreeMap;

use specimen_decode::{clock::MonotonicClock, decoder::decode, method::Parts, rng::Uniforms, trace::Decoded};
use specimen_foundation::failure;
use specimen_models::{
    heads::{
        described_head::{DescribedHead, RepeatedTensor},
        drafters::StartDraft,
    },
    seam::{draft_time::DraftTime, loaded_model::LoadedModel},
};
use specimen_stats::{
    bootstrap::{BootstrapPlan, Interval},
    paired::{MeanDifference, Paired},
};
use specimen_weights::{Init, LoadError, ParamSource};
use tch::{Device, Tensor};

use crate::{corpus::StepDraws, head_spec::HeadSpec};

/// Resamples of the interval.
const N_RESAMPLES: usize = 2000;

/// Decodes with a head.
pub struct Trial<'a> {
    /// The training.
    pub spec: &'a HeadSpec,
    /// The target.
    pub model: &'a LoadedModel,
    /// The head.
    pub described: &'a DescribedHead,
    /// Where it computes.
    pub device: Device,
    /// Prompts, one image each.
    pub prompts: &'a [&'a str],
}

/// Accepted tokens a step, without the bonus or corrected token, as means over images.
#[derive(Clone, Copy, Debug)]
pub struct TrialResult {
    /// Of the head that training began with.
    pub untrained: f64,
    /// Of the trained one.
    pub trained: f64,
    /// How far the second is above the first, over the same prompts and seeds; absent with fewer than two prompts.
    pub gain: Option<MeanDifference>,
    /// Of the model's standard head of the kind, and how far the trained one is above it; absent where there is none on this
    /// machine.
    pub standard: Option<(f64, Option<MeanDifference>)>,
}

/// The tensors of a head by their names.
struct Tensors<'a> {
    trained: &'a BTreeMap<String, Tensor>,
    repeated: &'a [RepeatedTensor],
    device: Device,
}

impl ParamSource for Tensors<'_> {
    fn param(&mut self, name: &str, _: &[i64], _: Init) -> Result<Tensor, LoadError> {
        let repeated = self.repeated.iter().find(|repeated| repeated.name == name);
        let repeated = repeated.map(|repeated| &repeated.tensor);
        let tensor = repeated.or_else(|| self.trained.get(name));
        Ok(tensor.expect("a head asks for the same tensors every time").to_device(self.device))
    }
}

impl Trial<'_> {
    /// Both heads on all prompts.
    pub fn compare(
        &self,
        untrained: &BTreeMap<String, Tensor>,
        trained: &BTreeMap<String, Tensor>,
    ) -> anyhow::Result<TrialResult> {
        let of_tensors = |tensors| self.accepted(&self.built(tensors)?);
        let (before, after) = (of_tensors(untrained)?, of_tensors(trained)?);
        let standard = self.spec.rest.head.kind().drafter(None);
        let standard = self.model.heads.get(self.model.name, &standard).ok();
        let standard = standard.map(|start| self.accepted(start)).transpose()?;
        let gain = |before: &[f64]| -> anyhow::Result<Option<MeanDifference>> {
            if before.len() < 2 {
                return Ok(None);
            }
            let plan = BootstrapPlan::new(self.spec.rest.seed, N_RESAMPLES, 0.95)?;
            let numbered = |values: &[f64]| (0..).zip(values.to_vec());
            Ok(Some(Paired::join(numbered(before), numbered(&after))?.mean_difference(&plan)?))
        };
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        Ok(TrialResult {
            untrained: mean(&before),
            trained: mean(&after),
            gain: gain(&before)?,
            standard: standard.map(|of| Ok::<_, anyhow::Error>((mean(&of), gain(&of)?))).transpose()?,
        })
    }

    /// What drafts by the head of `tensors`.
    fn built(&self, tensors: &BTreeMap<String, Tensor>) -> anyhow::Result<StartDraft> {
        let _guard = tch::no_grad_guard();
        let mut source =
            Tensors { trained: tensors, repeated: &self.described.repeated, device: self.device };
        Ok(self.described.made(&mut source)?)
    }

    /// Accepted tokens a step of each image.
    fn accepted(&self, start: &StartDraft) -> anyhow::Result<Vec<f64>> {
        let _guard = tch::no_grad_guard();
        let method = &self.spec.trial;
        let wrong = |reason: String| failure!(Spec: "{}: {reason}", self.spec.path.display());
        let mut accepted = Vec::new();
        for (at, prompt) in self.prompts.iter().enumerate() {
            let mut generation = self.model.open(prompt, &self.spec.sampling, method.max_tree_nodes())?;
            let draft = start(&generation, method.max_run_nodes(), DraftTime::new(self.device));
            let parts = Parts { draft_model: Some(draft), ..self.model.tables.parts(&method.needs()) };
            let mut built = method.build_with(parts).map_err(|error| wrong(format!("trial: {error}")))?;
            let seed = StepDraws::new(self.spec.rest.seed ^ 0x7A1, at as u64).bits();
            let decoded = decode(&mut built, &mut generation, &Uniforms::new(seed), &MonotonicClock::new());
            accepted.push(a_step(&decoded));
        }
        Ok(accepted)
    }
}

/// Accepted tokens a step of one image.
fn a_step(decoded: &Decoded) -> f64 {
    let n: u32 = decoded.steps.iter().map(|step| step.n_accepted).sum();
    f64::from(n) / decoded.steps.len().max(1) as f64
}

/// A gain with its interval, of which there is none of few prompts.
pub fn gain_in_words(gain: &MeanDifference) -> String {
    match gain.interval {
        Some(Interval { lower, upper, .. }) => {
            format!("{:+.3}, 95 % interval {lower:.3} to {upper:.3}", gain.value)
        }
        None => format!("{:+.3} without an interval", gain.value),
    }
}

impl TrialResult {
    /// The numbers by their names.
    pub fn named(&self) -> Vec<(String, f64)> {
        let mut named = vec![
            ("accepted_per_step_untrained".to_owned(), self.untrained),
            ("accepted_per_step".to_owned(), self.trained),
        ];
        if let Some(gain) = &self.gain {
            named.push(("accepted_per_step_gain".to_owned(), gain.value));
            if let Some(Interval { lower, upper, .. }) = gain.interval {
                named.push(("accepted_per_step_gain_low".to_owned(), lower));
                named.push(("accepted_per_step_gain_high".to_owned(), upper));
            }
            named.push(("n_trial".to_owned(), gain.n_pairs as f64));
        }
        if let Some((standard, gain)) = &self.standard {
            named.push(("accepted_per_step_standard".to_owned(), *standard));
            if let Some(gain) = gain {
                named.push(("gain_over_standard".to_owned(), gain.value));
                if let Some(Interval { lower, upper, .. }) = gain.interval {
                    named.push(("gain_over_standard_low".to_owned(), lower));
                    named.push(("gain_over_standard_high".to_owned(), upper));
                }
            }
        }
        named
    }
}
