//! Times what a driver does with the rows of a large run, on made-up rows in a temporary folder:
//! `cargo run --release -p specimen-record --example large_run -- 100000`.
//! Four cells, four shards of two attempts each, 256 tokens and 64 steps a record.

use std::error::Error;
use std::io::Write;
use std::time::Instant;

use specimen_record::{
    Appender, Block, Digest, Durability, Item, ItemKey, PlanFile, Record, RecordError, RunDir, SCHEMA, Seed,
    Status, StepsRow, coverage, merge, read_document, run_progress, write_document,
};

const CELLS: [&str; 4] = ["ar", "sd-chain3", "eagle1-static13", "eagle2-dynamic"];
const N_TOKENS: u32 = 256;
const N_SHARDS: u32 = 4;
const N_ATTEMPTS: u32 = 2;

fn main() -> Result<(), Box<dyn Error>> {
    let n_items: u32 = std::env::args().nth(1).map_or(Ok(100_000), |n| n.parse())?;
    let folder = tempfile::tempdir()?;
    let run = RunDir::create(folder.path().join("run"))?;
    let spec = serde_json::json!({"seed": 1});
    let plan = timed("make the plan", || plan(n_items, &spec))?;
    timed("write plan.json", || write_document(&run.plan(), &plan))?;
    timed("append the rows", || write_rows(&run, &plan))?;
    timed("read plan.json", || read_document::<PlanFile>(&run.plan()))?;
    timed("digest the plan", || Ok::<_, RecordError>(PlanFile::digest_of(&plan.items, &spec)))?;
    let progress = timed("progress", || run_progress(&run, &plan))?;
    let coverage = timed("coverage", || coverage(&run, &plan))?;
    let merged = timed("merge", || merge(&run, &plan))?;
    let n_ok: u64 = progress.cells.iter().map(|cell| cell.n_ok).sum();
    assert_eq!((n_ok, coverage.ok.len() as u64), (merged.n_records, merged.n_records));
    writeln!(std::io::stdout(), "{} records: {}", merged.n_records, merged.result_digest)?;
    Ok(())
}

fn timed<T, E: Into<Box<dyn Error>>>(
    what: &str,
    work: impl FnOnce() -> Result<T, E>,
) -> Result<T, Box<dyn Error>> {
    let (started, computed_s) = (Instant::now(), cpu_s());
    let made = work().map_err(Into::into)?;
    let (wall_s, cpu_s) = (started.elapsed().as_secs_f64(), cpu_s() - computed_s);
    writeln!(std::io::stdout(), "{what:<16} {wall_s:>7.3} s, {cpu_s:>7.3} s of a core")?;
    Ok(made)
}

/// Seconds this thread has computed so far; NaN where the system does not tell.
fn cpu_s() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = text.split_whitespace().next().and_then(|n| n.parse::<f64>().ok());
    nanoseconds.map_or(f64::NAN, |n| n * 1e-9)
}

fn plan(n_items: u32, spec: &serde_json::Value) -> Result<PlanFile, Box<dyn Error>> {
    let n_prompts = n_items.div_ceil(CELLS.len() as u32);
    let mut items = Vec::new();
    for cell in CELLS {
        for prompt in 0..n_prompts {
            let prompt_id = prompt.to_string();
            items.push(Item {
                key: ItemKey::new(cell, &prompt_id, 0),
                cell: cell.to_owned(),
                seed: Seed(u64::from(prompt).wrapping_mul(0x9e37_79b9_7f4a_7c15)),
                block: prompt / 4,
                prompt: format!("picture {prompt} of a red square above a blue circle"),
                prompt_id,
                sample: 0,
            });
        }
    }
    let mut blocks: Vec<Block> =
        (0..n_prompts.div_ceil(4)).map(|index| Block { index, items: Vec::new() }).collect();
    for item in &items {
        blocks[item.block as usize].items.push(item.key.clone());
    }
    Ok(PlanFile::new("large", items, blocks, spec)?)
}

fn write_rows(run: &RunDir, plan: &PlanFile) -> Result<(), Box<dyn Error>> {
    for shard in 0..N_SHARDS {
        for attempt in 0..N_ATTEMPTS {
            let place = (shard, attempt);
            let of_place =
                |item: &&Item| (item.block % N_SHARDS, item.block / N_SHARDS % N_ATTEMPTS) == place;
            let mut steps = Appender::create(&run.attempt_steps(shard, attempt), Durability::OnFinish)?;
            let mut records = Appender::create(&run.attempt_records(shard, attempt), Durability::OnFinish)?;
            for item in plan.items.iter().filter(of_place) {
                steps.append(&StepsRow {
                    schema: SCHEMA,
                    key: item.key.clone(),
                    steps: vec![[13, 3, 4, 1, 4]; 64],
                })?;
                records.append(&record(item))?;
            }
            steps.finish()?;
            records.finish()?;
        }
    }
    Ok(())
}

/// Tokens spread over a codebook of 16,384, as those of a published model are.
fn record(item: &Item) -> Record {
    let token = |at: u32| (item.seed.0 >> 8) as u32 ^ at.wrapping_mul(0x9e37_79b9);
    let tokens: Vec<u32> = (0..N_TOKENS).map(|at| token(at) % 16_384).collect();
    Record {
        status: Status::Ok,
        err: None,
        tokens_digest: Digest::of_tokens(&tokens),
        n_tokens: u64::from(N_TOKENS),
        tokens,
        image: Some(item.key.file_name("png")),
        image_digest: Some(Digest::of(item.key.as_str().as_bytes())),
        width: 64,
        height: 64,
        nfe: Some(65),
        n_steps: 64,
        n_draft_forwards: 256,
        accepted: 192,
        emitted: 256,
        tvd_spent: 0.1,
        tested_by_depth: vec![64; 4],
        accepted_by_depth: vec![64, 64, 48, 16],
        prompt_tokens_cut: 0,
        ..Record::failed(item, "none")
    }
}
