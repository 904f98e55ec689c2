//! How fast a baseline decodes: its plain step beside what memory bandwidth allows, and on a CPU beside the same model in the
//! other kind of number. Timed once in a warm-up; a speedup is only worth as much as what it is over.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    rc::Rc,
    sync::OnceLock,
};

use specimen_catalog::entry::entry;
use specimen_experiments::spec::{Cell, Dtype, ModelSpec};
use specimen_models::seam::{
    clock::{DeviceClock, memory_bandwidth},
    loaded_model::LoadedModel,
};
use specimen_record::{OtherStep, PlainStep};
use tch::Device;

use crate::{
    error::RunError,
    images::{
        load::{CPU, Models, device_of},
        step_costs::plain_step_seconds,
    },
    machine::free_memory,
};

/// The steps of the baselines that were timed so far.
#[derive(Default)]
pub(crate) struct PlainSteps(Vec<PlainStep>);

impl PlainSteps {
    /// Times a step of `cell`, if it can decode `prompt`. What fails here fails again where the image is made, which says it.
    pub(crate) fn time(&mut self, cell: &Cell, prompt: &str, models: &mut Models, clock: &DeviceClock) {
        if let Ok(Ok(Some(step))) = catch_unwind(AssertUnwindSafe(|| timed(cell, prompt, models, clock))) {
            self.0.push(step);
        }
    }

    /// One a baseline.
    pub(crate) fn rows(&self) -> &[PlainStep] {
        &self.0
    }
}

fn timed(
    cell: &Cell,
    prompt: &str,
    models: &mut Models,
    clock: &DeviceClock,
) -> Result<Option<PlainStep>, RunError> {
    let model = models.get(&cell.model)?;
    let seconds = |models: &[&LoadedModel]| plain_step_seconds(models, prompt, &cell.sampling, clock);
    let other_spec = (cell.model.device == CPU).then(|| in_other_dtype(&cell.model));
    let other = other_spec.as_ref().map(|spec| (spec.dtype.name().to_owned(), opened(spec, models)));
    let (found, other) = match other {
        Some((dtype, Ok(other))) => match seconds(&[&model, &other])? {
            Some(found) => {
                let other = OtherStep { dtype, step_s: Some(found[1]), why: None };
                (Some(found), Some(other))
            }
            None => (None, None),
        },
        Some((dtype, Err(why))) => {
            (seconds(&[&model])?, Some(OtherStep { dtype, step_s: None, why: Some(why) }))
        }
        None => (seconds(&[&model])?, None),
    };
    let bytes =
        entry(&cell.model.name).ok().and_then(|entry| entry.streamed_bytes(cell.model.dtype.n_bytes()));
    let bound = |bytes: u64| Some(bytes as f64 / bandwidth(device_of(&cell.model.device).ok()?));
    Ok(found.map(|found| PlainStep {
        cell: cell.name.clone(),
        model: cell.model.name.clone(),
        dtype: cell.model.dtype.name().to_owned(),
        step_s: found[0],
        bound_s: bytes.and_then(bound),
        other,
    }))
}

/// Bytes a second from memory, measured once a process.
fn bandwidth(device: Device) -> f64 {
    static MEASURED: OnceLock<f64> = OnceLock::new();
    *MEASURED.get_or_init(|| memory_bandwidth(device))
}

/// The same model in the other kind of number.
fn in_other_dtype(model: &ModelSpec) -> ModelSpec {
    let dtype = if model.dtype == Dtype::F32 { Dtype::Bf16 } else { Dtype::F32 };
    ModelSpec { dtype, ..model.clone() }
}

/// The model that `spec` names, opened for a moment, or why not.
fn opened(spec: &ModelSpec, models: &Models) -> Result<Rc<LoadedModel>, String> {
    let need = spec.need(None, spec.dtype).map(|need| need.total());
    if let (Some(need), Some(free)) = (need, free_memory())
        && need > free / 2
    {
        return Err("it would take more than half of the free memory".to_owned());
    }
    models.open(spec).map_err(|error| error.to_string())
}
