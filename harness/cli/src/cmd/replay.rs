//! `specimen replay`: records of a run made again and compared, token by token and pixel by pixel.

use std::{fmt::Write, path::PathBuf};

use clap::Args;
use serde::Serialize;
use specimen_decode::rng::{Purpose, Uniforms};
use specimen_record::{ItemKey, Record, RunDir};
use specimen_runner::{
    error::RunError,
    images::replay::{Replay, Replayed},
    process::stop_request::StopRequest,
};

use crate::{
    args::Format,
    console::{Console, answer, answer_json},
    exit::CliError,
    spec_args::data_root,
};

/// Arguments of `specimen replay`.
#[derive(Debug, Args)]
pub struct ReplayArgs {
    /// Folder of the run
    pub run: PathBuf,
    /// Keys of items, cell/prompt/sample, as in `ar/3/0` or `casc[tau_pos=0.85]/3/0`
    #[arg(required_unless_present = "random", conflicts_with = "random")]
    pub keys: Vec<String>,
    /// Choose N records at random instead, by the choice of --seed
    #[arg(long, value_name = "N", requires = "seed", value_parser = clap::value_parser!(u32).range(1..))]
    pub random: Option<u32>,
    /// Seed of that choice
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
}

/// The answer, as `--format json` prints it.
#[derive(Serialize)]
struct Answer<'r> {
    schema: u32,
    n: usize,
    n_same: usize,
    records: &'r [Replayed],
}

/// Makes the records again. Any difference is an error with code 1.
pub(crate) fn replay(args: &ReplayArgs, console: &Console) -> anyhow::Result<()> {
    let stop = StopRequest::on_signals()?;
    specimen_weights::use_threads(1);
    let run = RunDir::open(&args.run)?;
    let mut replay = Replay::open(&run, data_root())?;
    let records = replay.records()?;
    let chosen = choose(args, &replay, &records)?;
    let mut replayed = Vec::with_capacity(chosen.len());
    for record in chosen {
        stop.check()?;
        let outcome = replay.again(record)?;
        console.detail(words(&outcome));
        replayed.push(outcome);
    }
    let n_same = replayed.iter().filter(|outcome| outcome.is_same()).count();
    match console.format() {
        Format::Json => {
            answer_json(&Answer { schema: 1, n: replayed.len(), n_same, records: &replayed })?;
        }
        Format::Human => {
            let mut text = String::new();
            for outcome in &replayed {
                writeln!(text, "{}", words(outcome)).expect("writing to a string cannot fail");
            }
            writeln!(text, "{n_same} of {} records are the same", replayed.len())
                .expect("writing to a string cannot fail");
            answer(&text)?;
        }
    }
    match replayed.iter().find(|outcome| !outcome.is_same()) {
        None => Ok(()),
        Some(first) => Err(RunError::Replay {
            n_different: replayed.len() - n_same,
            n: replayed.len(),
            first: first.key.to_string(),
        }
        .into()),
    }
}

fn choose<'r>(
    args: &ReplayArgs,
    replay: &Replay<'_>,
    records: &'r [Record],
) -> anyhow::Result<Vec<&'r Record>> {
    match args.random {
        None => args.keys.iter().map(|key| named(key, records)).collect(),
        Some(n) => at_random(n, args.seed.unwrap_or_default(), replay, records),
    }
}

/// The first `n` of a shuffle of all records that can be made again.
pub(crate) fn at_random<'r>(
    n: u32,
    seed: u64,
    replay: &Replay<'_>,
    records: &'r [Record],
) -> anyhow::Result<Vec<&'r Record>> {
    let lot = Uniforms::new(seed);
    let mut order: Vec<&Record> = records.iter().filter(|record| replay.is_made_here(record)).collect();
    if order.is_empty() {
        return Err(CliError::Usage("no image of the run was made by this program".to_owned()).into());
    }
    let n = (n as usize).min(order.len());
    for at in 0..n {
        let left = (order.len() - at) as f64;
        let draw = (lot.uniform(Purpose::Init, 0, at as u32) * left) as usize;
        order.swap(at, at + draw);
    }
    order.truncate(n);
    Ok(order)
}

fn named<'r>(key: &str, records: &'r [Record]) -> anyhow::Result<&'r Record> {
    // As the files spell it, with escapes, or as tables do: `casc[tau_pos=0.85]/3/0`.
    let wanted: Option<ItemKey> = key.parse().ok();
    let is_it = |record: &&Record| wanted.as_ref() == Some(&record.key) || plain(&record.key) == key;
    records.iter().find(is_it).ok_or_else(|| {
        let example =
            records.first().map_or_else(String::new, |r| format!("; the first is {}", plain(&r.key)));
        CliError::Usage(format!("the run has no image of the item {key}{example}")).into()
    })
}

/// A key as tables spell it: `casc[tau_pos=0.85]/3/0`.
fn plain(key: &ItemKey) -> String {
    format!("{}/{}/{}", key.cell(), key.prompt_id(), key.sample())
}

pub(crate) fn words(outcome: &Replayed) -> String {
    let key = plain(&outcome.key);
    match (&outcome.err, outcome.first_different_token) {
        (Some(why), _) => format!("{key}: not made: {why}"),
        (None, Some(at)) => format!("{key}: token {at} differs"),
        (None, None) if !outcome.same_pixels => format!("{key}: same tokens, other pixels"),
        (None, None) => format!("{key}: same tokens, same pixels"),
    }
}
