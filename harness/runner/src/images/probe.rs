//! Two images of every cell, from which the time and memory of a whole run are estimated.

use specimen_datasets::data_root::DataRoot;
use specimen_experiments::plan::{Item, Plan};
use specimen_foundation::failure;
use specimen_models::seam::clock::DeviceClock;

use crate::{
    error::RunError,
    images::{
        external_processes::ExternalProcesses,
        generate::{Request, generate},
        load::{Models, device_of},
        out_of_memory::within_memory,
    },
    machine,
    plan::stored_plan::plan_file,
    process::stop_request::StopRequest,
};

/// What two images of every cell took.
#[derive(Clone, Debug, PartialEq)]
pub struct Probe {
    /// Seconds from prompt to pixels of each cell's second image, in the order of the spec; the first one
    /// warms up.
    pub seconds_per_image: Vec<f64>,
    /// Largest resident size of this process while it made them, in bytes; a worker will need as much.
    pub memory_bytes: Option<u64>,
}

/// Makes two images of every cell and keeps none.
pub fn probe(plan: &Plan, data_root: Option<DataRoot>, stop: &StopRequest) -> Result<Probe, RunError> {
    let mut models = Models::of(&plan.spec, data_root);
    let mut external_processes = ExternalProcesses::new("/dev/stderr".into(), std::env::temp_dir());
    let items = plan_file(plan)?.items;
    let mut seconds_per_image = Vec::with_capacity(plan.spec.cells.len());
    for (idx, cell) in plan.spec.cells.iter().enumerate() {
        if let Some(external) = &cell.external {
            let mut seconds = 0.0;
            for item in items.iter().filter(|item| item.cell == cell.name).cycle().take(2) {
                stop.check()?;
                let made = external_processes.make(cell, external, item)?;
                let made = made.map_err(|e| failure!(Environment: "cell `{}`: {e}", cell.name))?;
                seconds = made.wall_ns as f64 * 1e-9;
            }
            seconds_per_image.push(seconds);
            continue;
        }
        let model = models.get(&cell.model)?;
        let clock = DeviceClock::new(device_of(&cell.model.device)?);
        let of_cell: Vec<&Item> = plan.items.iter().filter(|item| item.cell as usize == idx).collect();
        let mut seconds = 0.0;
        for item in of_cell.iter().cycle().take(2) {
            stop.check()?;
            let request = Request {
                model: &model,
                method: &cell.method,
                sampling: cell.sampling,
                prompt: &plan.prompts[item.prompt as usize].text,
                seed: item.seed,
            };
            let made = within_memory(&cell.model, Some(&cell.method), || generate(&request, &clock));
            seconds = made?.e2e_ns as f64 * 1e-9;
        }
        seconds_per_image.push(seconds);
    }
    let memory_bytes = machine::peak_memory_mb().map(|mb| mb << 20);
    Ok(Probe { seconds_per_image, memory_bytes })
}
