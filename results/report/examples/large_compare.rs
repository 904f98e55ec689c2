//! Times a comparison over a large made-up run: six methods, 5,000 prompts, three seeds each,
//! `cargo run --release -p specimen-report --example large_compare`.
#![allow(clippy::print_stdout, reason = "an example answers on stdout")]

use std::error::Error;
use std::time::Instant;

use specimen_record::{
    Appender, Block, CellSummary, Digest, Durability, Guarantee, Item, ItemKey, Phases, PlanFile, Reading,
    Record, RunDir, SCHEMA, SUMMARY_SCHEMA, Sampling, Seed, Status, Summary, TimingRow, merge,
    write_document,
};
use specimen_report::verdicts::{
    compare::comparison::{Options, compare},
    values::RunValues,
};

const CELLS: [&str; 6] = ["ar", "naive", "lantern", "gsd", "vvs", "cascade"];
const N_PROMPTS: u32 = 5000;
const N_SAMPLES: u32 = 3;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let run = RunDir::create(folder.path().join("run"))?;
    timed("write the run", || write(&run))?;
    let values = timed("read it prompt by prompt", || RunValues::read(&run))?;
    let options = Options {
        cells: CELLS[1..].iter().map(|cell| ("naive".to_owned(), (*cell).to_owned())).collect(),
        ..Options::default()
    };
    let found = timed("compare five pairs of cells", || compare(&values, &values, &options))?;
    println!("{} rows", found.rows.len());
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    println!(
        "{}",
        status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or("no peak of memory is known")
    );
    Ok(())
}

fn timed<T, E>(what: &str, work: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
    let start = Instant::now();
    let done = work();
    println!("{what}: {:.2} s", start.elapsed().as_secs_f64());
    done
}

fn write(run: &RunDir) -> Result<(), Box<dyn Error>> {
    let mut items = Vec::new();
    for cell in CELLS {
        for prompt in 0..N_PROMPTS {
            for sample in 0..N_SAMPLES {
                items.push(Item {
                    key: ItemKey::new(cell, &prompt.to_string(), sample),
                    cell: cell.to_owned(),
                    prompt_id: prompt.to_string(),
                    sample,
                    seed: Seed(u64::from(prompt * N_SAMPLES + sample)),
                    block: prompt / 50,
                    prompt: "made up".to_owned(),
                });
            }
        }
    }
    let mut keys = vec![Vec::new(); N_PROMPTS.div_ceil(50) as usize];
    items.iter().for_each(|item| keys[item.block as usize].push(item.key.clone()));
    let blocks = (0..).zip(keys).map(|(index, items)| Block { index, items }).collect();
    let plan = PlanFile::new("large", items, blocks, &serde_json::json!({}))?;
    let mut records = Appender::create(&run.attempt_records(0, 0), Durability::OnFinish)?;
    let mut times = Appender::create(&run.attempt_timing(0, 0), Durability::OnFinish)?;
    for (order, item) in (0_u32..).zip(&plan.items) {
        let noise = u64::from(order).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 54;
        let verifies = 300 + noise % 40;
        let accepted = verifies * 2 + noise % 97;
        let tokens: Vec<u32> = (0..1024).map(|at| (at * 7 + order) % 16384).collect();
        records.append(&Record {
            status: Status::Ok,
            err: None,
            nfe: Some(verifies + 1),
            n_steps: verifies,
            accepted,
            emitted: accepted + verifies,
            n_tokens: 1024,
            tokens_digest: Digest::of_tokens(&tokens),
            tokens,
            ..Record::failed(item, "made up")
        })?;
        let decode_ns = (verifies * 10 + noise) * 1_000_000;
        times.append(&TimingRow {
            schema: SCHEMA,
            key: item.key.clone(),
            attempt: 0,
            block: item.block,
            order,
            warmup: false,
            phases_ns: phases(decode_ns),
            decode_ns,
            e2e_ns: decode_ns,
            told_ns: None,
            batch: None,
        })?;
    }
    records.finish()?;
    times.finish()?;
    merge(run, &plan)?;
    write_document(&run.summary(), &summary(&plan))?;
    Ok(())
}

fn phases(target: u64) -> Phases {
    Phases {
        text_encode: 0,
        prefill: 0,
        draft: 0,
        schedule: 0,
        target,
        verify: 0,
        update: 0,
        vq_decode: 0,
        save: 0,
    }
}

fn summary(plan: &PlanFile) -> Summary {
    Summary {
        schema: SUMMARY_SCHEMA,
        spec: serde_json::json!({}),
        name: "large".to_owned(),
        plan_digest: plan.digest.clone(),
        result_digest: Digest::of(b"large"),
        baseline: "ar".to_owned(),
        device: "cpu".to_owned(),
        dtype: "f32".to_owned(),
        threads: 1,
        cpu_model: "made up".to_owned(),
        cpu_features: Vec::new(),
        gpus: Vec::new(),
        timing_quality: None,
        costs: None,
        cells: CELLS.iter().map(|id| cell(id)).collect(),
    }
}

fn cell(id: &str) -> CellSummary {
    let measures = ["speedup", "speedup_e2e", "accepted_per_step", "tokens_per_forward", "tpf", "nfe"];
    let measures = measures.into_iter().chain(["step_compression", "decode_s", "e2e_s", "tvd_spent"]);
    CellSummary {
        id: id.to_owned(),
        model: "made-up".to_owned(),
        dataset: "made-up".to_owned(),
        drafter: id.to_owned(),
        method: id.to_owned(),
        family: None,
        guarantee: Guarantee::Exact,
        origin: None,
        baseline: Some("ar".to_owned()),
        dtype: "f32".to_owned(),
        device: "cpu".to_owned(),
        sampling: Sampling { temperature: 1.0, top_k: 0, top_p: 1.0, guidance: 1.0, coupled: false },
        params: std::collections::BTreeMap::new(),
        n_images: u64::from(N_PROMPTS * N_SAMPLES),
        n_failed: 0,
        measures: measures.map(|measure| (measure.to_owned(), Reading::of(1.0))).collect(),
        acceptance_by_depth: Vec::new(),
        timing_quality: None,
        metrics: Vec::new(),
    }
}
