//! The weights that a run is made with.

use specimen_experiments::{plan::Plan, spec::ModelSpec};
use specimen_foundation::failure;
use specimen_record::{Digest, WeightsDigest};

use crate::{
    driver::events::DriverEvent,
    error::RunError,
    images::{external_processes::files_of, load::Models},
};

/// The weights that `plan` asks for, and what is odd about them, which is also reported. A driver that does not compute
/// `here` need not have the device.
pub(super) fn weights_of(
    plan: &Plan,
    models: &mut Models,
    here: bool,
    report: &dyn Fn(DriverEvent),
) -> Result<(Vec<WeightsDigest>, Vec<String>), RunError> {
    let (mut weights, mut notes) = (Vec::new(), Vec::new());
    for spec in plan.spec.models() {
        let device = if here { spec.device.clone() } else { "cpu".to_owned() };
        let model = models.get(&ModelSpec { device, ..spec.clone() })?;
        for what in &model.warnings {
            report(DriverEvent::Weights { what: what.clone() });
            if !notes.contains(what) {
                notes.push(what.clone());
            }
        }
        for file in &model.weights {
            let blake3: Digest = file.digest.parse().map_err(|why| failure!(Spec: "{why}"))?;
            let name = format!("{} {}", spec.name, file.role);
            let entry = WeightsDigest { name, file: file.file.clone(), blake3 };
            if !weights.contains(&entry) {
                weights.push(entry);
            }
        }
    }
    weights.extend(files_of(&plan.spec)?);
    Ok((weights, notes))
}
