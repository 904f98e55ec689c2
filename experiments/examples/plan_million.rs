//! Times the planning of a million items: `cargo run --release -p specimen-experiments --example plan_million`.

use specimen_experiments::{parse::SpecText, plan::Plan, prompts};
use std::{error::Error, io::Write, time::Instant};

const SPEC: &str = r#"
schema = 1
name = "million"
seed = 42
dataset = { name = "unconditional", limit = 200000 }
model = { name = "igpt-mnist", dtype = "f32" }
sampling = { temperature = 1.0, top_k = 0, top_p = 1.0, guidance = 1.0 }
timing = { warmup = 2, blocks = 4 }
[[cell]]
name = "ar"
[[cell]]
name = "sd"
drafter = { proposer = "model", model = "igpt-fmnist", shape = "chain", depth = 3 }
[axes]
"cell.sd.drafter.depth" = [1, 2, 3, 4]
"#;

fn main() -> Result<(), Box<dyn Error>> {
    let started = Instant::now();
    let spec = SpecText::parse("million.toml", SPEC)?.resolve()?;
    let prompts = prompts::open(&spec.dataset, None)?;
    let opened_s = started.elapsed().as_secs_f64();
    let plan = Plan::new(spec, &prompts)?;
    let total_s = started.elapsed().as_secs_f64();
    let n = plan.items.len();
    writeln!(
        std::io::stdout(),
        "{n} items in {total_s:.2} s, {opened_s:.2} s of it for the prompts: {}",
        plan.digest
    )?;
    Ok(())
}
