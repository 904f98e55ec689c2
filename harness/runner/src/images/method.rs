//! From a method's configuration to the method itself, with the networks and tables that the model lends it.

use specimen_decode::{
    decoder::Method,
    method::{MethodConfig, Parts, Proposer},
};
use specimen_foundation::failure;
use specimen_models::{
    heads::drafters::DrafterKind,
    seam::{draft_time::DraftTime, generation::ModelGeneration, loaded_model::LoadedModel},
};

use crate::error::RunError;

/// A method that decodes `generation`, and the clock of its drafter's forwards, where it has a drafter that
/// is a network.
pub fn method_on(
    method: &MethodConfig,
    model: &LoadedModel,
    generation: &ModelGeneration,
) -> Result<(Method, Option<DraftTime>), RunError> {
    let (draft_model, time) = match drafter_kind(method)? {
        None => (None, None),
        Some(kind) => {
            let (draft_model, time) = model.drafter(&kind, generation, method.max_run_nodes())?;
            (Some(draft_model), Some(time))
        }
    };
    let parts = Parts { draft_model, ..model.tables.parts(&method.needs()) };
    let built = method.build_with(parts).map_err(|e| failure!(Spec: "model `{}`: {e}", model.name))?;
    Ok((built, time))
}

/// Which network of the model proposes; `None` where none does.
fn drafter_kind(method: &MethodConfig) -> Result<Option<DrafterKind>, RunError> {
    Ok(match method.drafter.proposer {
        Proposer::None | Proposer::Jacobi => None,
        Proposer::Eagle1 => Some(DrafterKind::Eagle1(method.drafter.weights.clone())),
        Proposer::Eagle3 => Some(DrafterKind::Eagle3(method.drafter.weights.clone())),
        Proposer::Model => {
            let name =
                method.drafter.model.clone().ok_or_else(
                    || failure!(Spec: "a drafter with proposer = \"model\" needs `model = \"…\"`"),
                )?;
            Some(DrafterKind::Model(name))
        }
    })
}
