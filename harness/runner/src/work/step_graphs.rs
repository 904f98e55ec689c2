//! How the steps of an attempt's models ran: as CUDA graphs or not, and what was captured while images were timed.
//!
//! A warm-up makes images of its cell, and so captures the graphs of their steps. A step of another size may still come up in an
//! image whose times count. Its capture stays in these times, as everything does, and is counted here.

use std::collections::BTreeMap;

use specimen_experiments::spec::ModelSpec;
use specimen_models::seam::{captures::Captures, loaded_model::LoadedModel};
use specimen_record::{ModelSteps, StepKind};

/// What is known of the models so far.
#[derive(Default)]
pub(crate) struct StepGraphs {
    of_models: BTreeMap<ModelSpec, ModelSteps>,
}

/// What images are made for.
#[derive(Clone, Copy)]
pub(crate) struct ImageKind {
    /// Whether several are decoded together.
    pub(crate) is_batch: bool,
    /// Whether their times count.
    pub(crate) is_timed: bool,
}

impl StepGraphs {
    /// What `images` gives, which makes images of `model`, and how its steps ran is noted. Once for a model there is a
    /// sentence with it: the first step could not be captured.
    pub(crate) fn watched<T>(
        &mut self,
        spec: &ModelSpec,
        model: &LoadedModel,
        ImageKind { is_batch, is_timed }: ImageKind,
        images: impl FnOnce() -> T,
    ) -> (T, Option<String>) {
        let captures = || model.steps.as_ref().map(|steps| steps.captures());
        let before = captures();
        let made = images();
        // Images that are decoded together share buffers, with graphs or without.
        let captures = before.zip(captures()).or(is_batch.then(Default::default));
        self.note(spec, captures, is_timed);
        (made, model.take_refusal())
    }

    /// Notes how images of `model` were made. `captures`: what was captured for it before they were and after; `None` where
    /// its steps are eager. `is_timed`: whether their times count.
    fn note(&mut self, model: &ModelSpec, captures: Option<(Captures, Captures)>, is_timed: bool) {
        let of_model = self.of_models.entry(model.without_batch()).or_insert_with(|| ModelSteps {
            model: model.name.clone(),
            dtype: model.dtype.name().to_owned(),
            device: model.device.clone(),
            ran: StepKind::Eager,
            n_captured: 0,
            n_refused: 0,
            n_while_timed: 0,
            ns_while_timed: 0,
        });
        let Some((before, after)) = captures else { return };
        (of_model.n_captured, of_model.n_refused) = (after.n_captured, after.n_refused);
        of_model.ran = if after.n_captured > 0 { StepKind::Graphs } else { StepKind::Buffers };
        if is_timed {
            let n_tried = |captures: Captures| captures.n_captured + captures.n_refused;
            of_model.n_while_timed += n_tried(after) - n_tried(before);
            of_model.ns_while_timed += after.ns - before.ns;
        }
    }

    /// The models by name.
    pub(crate) fn rows(&self) -> Vec<ModelSteps> {
        self.of_models.values().cloned().collect()
    }

    /// A sentence for each model of which graphs were captured, or refused, while images were timed.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let late = self.of_models.values().filter(|steps| steps.n_while_timed > 0);
        let words = |steps: &ModelSteps| {
            let ModelSteps { model, n_while_timed, ns_while_timed, .. } = steps;
            let seconds = *ns_while_timed as f64 * 1e-9;
            format!(
                "{n_while_timed} CUDA graph(s) of `{model}` were captured, or refused, while images were timed, and \
                 {seconds:.2} s of their times are that; more images of warm-up (`warmup` in [timing]) capture them before"
            )
        };
        late.map(words).collect()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use std::rc::Rc;

    use specimen_decode::{
        clock::MonotonicClock,
        pipeline::{FilterOrder, Sampling},
    };
    use specimen_experiments::spec::Dtype;
    use specimen_models::seam::static_steps::StepBuffers;

    use super::*;
    use crate::images::{
        generate::{Request, generate},
        load::Models,
    };

    fn model(name: &str) -> ModelSpec {
        ModelSpec {
            name: name.to_owned(),
            dtype: Dtype::Bf16,
            device: "cuda:0".to_owned(),
            weights: None,
            three_way_guidance: false,
            graphs: None,
            batch: None,
            heads: BTreeMap::new(),
            rehearsed: None,
        }
    }

    fn captures(n_captured: u64, n_refused: u64, ns: u64) -> Captures {
        Captures { n_captured, n_refused, ns }
    }

    #[test]
    fn captures_of_the_warm_up_are_counted_and_those_while_timed_are_named() {
        let mut graphs = StepGraphs::default();
        let tiny = model("tiny");
        graphs.note(&tiny, Some((captures(0, 0, 0), captures(3, 1, 900))), false);
        graphs.note(&tiny, Some((captures(3, 1, 900), captures(3, 1, 900))), true);
        assert_eq!(graphs.warnings(), [""; 0]);
        // A batch is the same network.
        let batch = ModelSpec { batch: Some(2), ..tiny.clone() };
        graphs.note(&batch, Some((captures(3, 1, 900), captures(4, 2, 1_500_000_900))), true);
        let rows = graphs.rows();
        assert_eq!(rows.len(), 1);
        assert_eq!((rows[0].ran, rows[0].n_captured, rows[0].n_refused), (StepKind::Graphs, 4, 2));
        assert_eq!((rows[0].n_while_timed, rows[0].ns_while_timed), (2, 1_500_000_000));
        let warnings = graphs.warnings();
        assert!(
            warnings[0].contains("2 CUDA graph(s) of `tiny`") && warnings[0].contains("1.50 s"),
            "{warnings:?}"
        );
    }

    #[test]
    fn a_capture_that_fails_is_said_once_and_recorded_and_costs_no_image() {
        let spec = ModelSpec { dtype: Dtype::F32, device: "cpu".to_owned(), ..model("janus-toy") };
        let toy = |steps: Option<StepBuffers>| {
            // The loader is gone then, and the model is the only one.
            let loaded = Models::new(None).get(&spec).unwrap();
            LoadedModel { steps: steps.map(Rc::new), ..Rc::into_inner(loaded).unwrap() }
        };
        let refused = toy(Some(StepBuffers::refused_by(|_| "operation not permitted".to_owned())));
        let mut graphs = StepGraphs::default();
        let mut image = |model: &LoadedModel, seed| {
            let method = &serde_json::from_str(r#"{ "drafter": { "proposer": "none" } }"#).unwrap();
            let (guidance, filter_order) = (2.0, FilterOrder::TopKThenTopP);
            let sampling =
                Sampling { guidance, temperature: 1.0, top_k: 0, top_p: 1.0, filter_order, coupled: false };
            let request = Request { model, method, sampling, prompt: "a bus", seed };
            let kind = ImageKind { is_batch: false, is_timed: true };
            let made = || generate(&request, &MonotonicClock::new()).unwrap().decoded.tokens;
            graphs.watched(&spec, model, kind, made)
        };
        let sentence =
            "steps of `janus-toy` run without a CUDA graph and take longer: operation not permitted"
                .to_owned();
        let eager = toy(None);
        for (seed, said) in [(1, Some(sentence)), (2, None), (3, None)] {
            let (tokens, _) = image(&eager, seed);
            assert_eq!(image(&refused, seed), (tokens, said), "seed {seed}");
        }
        let row = serde_json::to_value(&graphs.rows()[0]).unwrap();
        assert_eq!((&row["model"], &row["ran"]), (&"janus-toy".into(), &"buffers".into()));
        // Steps of one size, over buffers that all images share: tried once.
        assert_eq!((&row["n_captured"], &row["n_refused"]), (&0.into(), &1.into()), "{row}");
    }

    #[test]
    fn steps_without_a_graph_are_over_buffers_or_eager() {
        let mut graphs = StepGraphs::default();
        graphs.note(&model("a"), None, true);
        graphs.note(&model("b"), Some((captures(0, 0, 0), captures(0, 1, 5))), false);
        let ran: Vec<_> = graphs.rows().iter().map(|steps| (steps.model.clone(), steps.ran)).collect();
        assert_eq!(ran, [("a".to_owned(), StepKind::Eager), ("b".to_owned(), StepKind::Buffers)]);
    }
}
