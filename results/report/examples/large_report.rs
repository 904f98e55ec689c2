//! Times the report of a large run on made-up rows in a temporary folder, by default 6 cells, 5000 prompts and 3
//! samples: `cargo build --release --workspace --examples`, then `target/release/examples/large_report`.
//! 256 tokens and 72 steps a record; all images of a sample number are names of one file.

#[path = "../tests/suite/fixture/mod.rs"]
#[allow(dead_code, clippy::unwrap_used, reason = "tests use more of it, and may panic")]
mod fixture;

use std::error::Error;
use std::io::Write;
use std::time::Instant;

use specimen_record::{
    Appender, Block, Digest, Durability, Item, ItemKey, PlanFile, Record, RunDir, SCHEMA, Seed, Status,
    StepsRow, Summary, merge, write_document,
};
use specimen_report::{Options, Quality, report};

const N_CELLS: usize = 6;
const N_SAMPLES: u32 = 3;
const N_TOKENS: u32 = 256;

fn main() -> Result<(), Box<dyn Error>> {
    let n_prompts: u32 = std::env::args().nth(1).map_or(Ok(5000), |n| n.parse())?;
    let folder = tempfile::tempdir()?;
    let run = RunDir::create(folder.path().join("run"))?;
    let mut summary: Summary = fixture::summary();
    summary.cells.truncate(N_CELLS);
    let plan = plan(&summary, n_prompts)?;
    write_document(&run.plan(), &plan)?;
    write_rows(&run, &plan)?;
    merge(&run, &plan)?;
    write_document(&run.summary(), &summary)?;
    let mut out = std::io::stdout();
    writeln!(out, "{} records", plan.items.len())?;
    let started = Instant::now();
    let options = Options::new(Quality::Difference("target-nll".to_owned()), 6);
    let made = report(&run, &options)?;
    let page = std::fs::metadata(&made.page)?.len();
    writeln!(out, "report {:.2} s, page {:.1} MB", started.elapsed().as_secs_f64(), page as f64 * 1e-6)?;
    writeln!(out, "largest resident size {}, rows and report", peak())?;
    Ok(())
}

fn plan(summary: &Summary, n_prompts: u32) -> Result<PlanFile, Box<dyn Error>> {
    let mut items = Vec::new();
    for cell in &summary.cells {
        for (prompt, sample) in (0..n_prompts).flat_map(|prompt| (0..N_SAMPLES).map(move |s| (prompt, s))) {
            let prompt_id = prompt.to_string();
            items.push(Item {
                key: ItemKey::new(&cell.id, &prompt_id, sample),
                cell: cell.id.clone(),
                prompt_id,
                sample,
                seed: Seed(u64::from(prompt * N_SAMPLES + sample)),
                block: 0,
                prompt: format!("prompt number {prompt}, a red circle above a blue square on sand at sunset"),
            });
        }
    }
    let blocks = vec![Block { index: 0, items: items.iter().map(|item| item.key.clone()).collect() }];
    Ok(PlanFile::new("large", items, blocks, &serde_json::json!({}))?)
}

fn write_rows(run: &RunDir, plan: &PlanFile) -> Result<(), Box<dyn Error>> {
    std::fs::create_dir_all(run.images_dir(0))?;
    let picture = fixture::picture(&plan.items[0]);
    // A file system gives one file only so many names.
    let file_of = |sample: u32| run.root().join(format!("picture-{sample}.png"));
    (0..N_SAMPLES).try_for_each(|sample| picture.save(file_of(sample)))?;
    let digest = Digest::of(picture.as_raw());
    let mut records = Appender::create(&run.attempt_records(0, 0), Durability::OnFinish)?;
    let mut steps = Appender::create(&run.attempt_steps(0, 0), Durability::OnFinish)?;
    for item in &plan.items {
        let name = item.key.file_name("png");
        std::fs::hard_link(file_of(item.sample), run.images_dir(0).join(&name))?;
        let trace: Vec<[u32; 5]> = (0..72).map(|at| [13, at % 6, 1 + at % 6, 1, 5]).collect();
        let mut record = Record::failed(item, "");
        let sum = |column: usize| trace.iter().map(|step| u64::from(step[column])).sum();
        (record.accepted, record.emitted, record.n_draft_forwards) = (sum(1), sum(2), sum(4));
        steps.append(&StepsRow { schema: SCHEMA, key: item.key.clone(), steps: trace })?;
        (record.status, record.err) = (Status::Ok, None);
        record.tokens = (0..N_TOKENS).map(|at| (at * 37 + item.sample) % 1024).collect();
        record.tokens_digest = Digest::of_tokens(&record.tokens);
        (record.n_tokens, record.nfe, record.n_steps) = (u64::from(N_TOKENS), Some(73), 72);
        (record.width, record.height) = picture.dimensions();
        (record.image, record.image_digest) = (Some(name), Some(digest.clone()));
        records.append(&record)?;
    }
    records.finish()?;
    steps.finish()?;
    Ok(())
}

/// The largest resident size so far, in the system's words.
fn peak() -> String {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.map_or_else(|| "not told".to_owned(), |size| size.trim().to_owned())
}
