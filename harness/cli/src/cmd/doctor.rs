//! `specimen doctor`: whether this machine computes as it should. Each check says what it found; a failed one
//! says what to do.

use clap::Args;
use serde::Serialize;
use specimen_datasets::scenes::Scene;
use specimen_decode::method::MethodConfig;
use specimen_experiments::spec::{Dtype, ModelSpec};
use specimen_extract::scene_features::SceneFeatures;
use specimen_foundation::{failure, folders::DATA_VARIABLE, processor};
use specimen_measure::{
    known_answers::{known_answers, wrong_pixels},
    network::FeatureNetwork,
    protocol::Protocol,
};
use specimen_models::seam::clock::DeviceClock;
use specimen_record::Digest;
use specimen_runner::{
    error::RunError,
    images::{
        generate::{Request, generate},
        load::{Models, device_of},
    },
};
use specimen_weights::{
    cuda,
    libtorch::{self, BUILT_FOR},
};

use crate::{
    cmd::{
        doctor_gpu::{GpuTokens, gpu_tokens},
        doctor_weights::{WeightsArgs, weights_checked},
        lossless::{LosslessArgs, lossless},
    },
    console::{Console, answer, answer_json, message_of},
    shared_args::Format,
    spec_args::data_root,
};

/// What to check.
#[derive(Clone, Debug, Args)]
pub struct DoctorArgs {
    /// Instead, decode with every method and test its images against the target's distribution
    #[arg(long)]
    pub lossless: bool,
    #[command(flatten)]
    pub examined: LosslessArgs,
    /// Instead, compare the published weights of the metrics that are here with what the reference tools say of three pictures
    #[arg(long, conflicts_with = "lossless")]
    pub weights: bool,
    #[command(flatten)]
    pub checked: WeightsArgs,
}

/// One check.
#[derive(Debug, Serialize)]
struct Check {
    name: &'static str,
    status: Status,
    /// What was found, in words.
    found: String,
    /// What to do, where there is something to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    remedy: Option<String>,
}

/// How a check ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Status {
    /// As it should be.
    Ok,
    /// Nothing is wrong, but something is slower or absent.
    Note,
    /// Results from this machine are not to be trusted, or there will be none.
    Failed,
}

/// The answer, as `--format json` prints it.
#[derive(Serialize)]
struct DoctorAnswer {
    schema: u32,
    healthy: bool,
    checks: Vec<Check>,
}

/// Runs all checks and prints them; fails when one did.
pub(crate) fn doctor(args: &DoctorArgs, console: &Console) -> anyhow::Result<()> {
    if args.lossless {
        return lossless(&args.examined, console);
    }
    if args.weights {
        return weights_checked(&args.checked, console);
    }
    // Before the first tensor.
    let graphics = gpus();
    specimen_weights::use_threads(1);
    let mut checks =
        vec![library(), graphics, cores(), bf16(), weights(), evaluator(), data(), known_answer()];
    checks.extend(gpu_answer());
    checks.extend([metric_answers(), protocol_pixels(), pillow(), jpeg()]);
    let failed: Vec<&str> =
        checks.iter().filter(|check| check.status == Status::Failed).map(|check| check.name).collect();
    let error = (!failed.is_empty()).then(
        || failure!(Environment: "{} of {} checks failed: {}", failed.len(), checks.len(), failed.join(", ")),
    );
    match console.format() {
        Format::Json => answer_json(&DoctorAnswer { schema: 1, healthy: error.is_none(), checks })?,
        Format::Human => answer(&human(&checks))?,
    }
    error.map_or(Ok(()), |error| Err(error.into()))
}

fn human(checks: &[Check]) -> String {
    let mut text = String::new();
    for Check { name, status, found, remedy } in checks {
        let mark = match status {
            Status::Ok => "ok    ",
            Status::Note => "note  ",
            Status::Failed => "FAILED",
        };
        let remedy = remedy.as_ref().map(|remedy| format!("; {remedy}")).unwrap_or_default();
        text.push_str(&format!("{mark}  {name:<16}  {found}{remedy}\n"));
    }
    text
}

fn ok(name: &'static str, found: String) -> Check {
    Check { name, status: Status::Ok, found, remedy: None }
}

fn note(name: &'static str, found: String, remedy: &str) -> Check {
    Check { name, status: Status::Note, found, remedy: Some(remedy.to_owned()) }
}

fn failed(name: &'static str, found: String, remedy: &str) -> Check {
    Check { name, status: Status::Failed, found, remedy: Some(remedy.to_owned()) }
}

fn library() -> Check {
    const NAME: &str = "libtorch";
    if let Some(other) = libtorch::other() {
        return failed(NAME, other, libtorch::REMEDY);
    }
    match libtorch::loaded() {
        None => {
            note(NAME, format!("built against {BUILT_FOR}"), "this system does not show which one is loaded")
        }
        Some(loaded) => {
            let place = loaded.folder.display();
            match loaded.version {
                Some(version) => ok(NAME, format!("{version} from {place}")),
                None => note(
                    NAME,
                    format!("built against {BUILT_FOR}, loaded from {place}"),
                    "its version is unknown",
                ),
            }
        }
    }
}

/// Whether cells on a GPU can run here. That none can is no fault: a Python package of torch that a machine without
/// GPUs links has a CUDA part often, and seldom all that it needs.
fn gpus() -> Check {
    const NAME: &str = "GPUs";
    const CPU_ONLY: &str = "everything runs on the CPU";
    match cuda::open() {
        Ok(part) => {
            let n = cuda::n_devices();
            let part = part.display();
            match n {
                1.. => ok(NAME, format!("{n} by {part}")),
                _ => note(NAME, format!("{part} is loaded and finds none"), CPU_ONLY),
            }
        }
        Err(error) => note(NAME, message_of(&error.into()), CPU_ONLY),
    }
}

fn cores() -> Check {
    let n = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    ok("threads", format!("{n} of the machine, 1 for each worker"))
}

fn bf16() -> Check {
    const NAME: &str = "bf16";
    if !processor::is_slow_in_bf16() {
        return ok(NAME, "this CPU multiplies bf16 natively".to_owned());
    }
    const SLOWER: &str =
        "bf16 is as fast as f32 at most, and drafting gains less than on a CPU that multiplies it";
    let reason = if processor::has_bf16() {
        "has AMX, for which libtorch arranges weights anew in each product"
    } else {
        "has no bf16 instructions"
    };
    note(NAME, format!("this CPU {reason}: products of bf16 are taken in f32"), SLOWER)
}

fn weights() -> Check {
    const NAME: &str = "embedded weights";
    match Models::new(None).get(&tiny()) {
        Ok(model) => {
            let digests: Vec<String> =
                model.weights.iter().map(|w| format!("{} {:.12}", w.role, w.digest)).collect();
            ok(NAME, digests.join(", "))
        }
        Err(error) => failed(NAME, message_of(&error.into()), REBUILD),
    }
}

const REBUILD: &str = "the binary is damaged; build it again from a fresh checkout";

fn evaluator() -> Check {
    const NAME: &str = "evaluator";
    match SceneFeatures::embedded() {
        Ok(net) => ok(NAME, net.identity()),
        Err(error) => failed(NAME, message_of(&error.into()), REBUILD),
    }
}

fn data() -> Check {
    const NAME: &str = "data folder";
    match data_root() {
        None => {
            let remedy = format!("set {DATA_VARIABLE} for published datasets and weights; `tiny` needs none");
            note(NAME, "none".to_owned(), &remedy)
        }
        Some(root) if root.path().is_dir() => ok(NAME, root.path().display().to_string()),
        Some(root) => {
            let remedy = format!("correct {DATA_VARIABLE} or make the folder");
            failed(NAME, format!("{} is not a folder", root.path().display()), &remedy)
        }
    }
}

/// The same image twice, greedily: the same bytes, or nothing measured here can be repeated.
fn known_answer() -> Check {
    const NAME: &str = "known answer";
    match greedy_image().and_then(|first| Ok((first, greedy_image()?))) {
        Ok((first, second)) if first == second => {
            ok(NAME, format!("one image twice, both {:.16}", first.as_str()))
        }
        Ok((first, second)) => {
            let found = format!("one image twice gives {:.16} and {:.16}", first.as_str(), second.as_str());
            failed(
                NAME,
                found,
                "this machine does not compute reproducibly; test its memory, turn overclocking off",
            )
        }
        Err(error) => failed(NAME, message_of(&error.into()), REBUILD),
    }
}

/// The tokens of a GPU are those of the CPU, or nothing that it decodes is to be trusted.
fn gpu_answer() -> Option<Check> {
    const NAME: &str = "GPU tokens";
    Some(match gpu_tokens()? {
        GpuTokens::AsOnCpu(found, None) => ok(NAME, found),
        GpuTokens::AsOnCpu(found, Some(why)) => note(NAME, found, &format!("plain steps take longer: {why}")),
        GpuTokens::Wrong(found) => failed(
            NAME,
            found,
            "trust no image of this GPU; run `make libtorch CUDA=1 build`, or use device = \"cpu\"",
        ),
    })
}

/// Every metric on numbers whose answer is exact arithmetic.
fn metric_answers() -> Check {
    const NAME: &str = "metrics";
    let answers = match known_answers() {
        Ok(answers) => answers,
        Err(error) => {
            return failed(NAME, message_of(&error.into()), "a folder for temporary files is needed");
        }
    };
    let wrong: Vec<String> = answers
        .iter()
        .filter(|answer| !answer.is_right())
        .map(|answer| format!("{} is {}, exactly {}", answer.metric, answer.found, answer.expected))
        .collect();
    if wrong.is_empty() {
        let names: Vec<&str> = answers.iter().map(|answer| answer.metric).collect();
        ok(NAME, format!("{} give their known answers", names.join(", ")))
    } else {
        failed(NAME, wrong.join("; "), "numbers of this machine are wrong; test its memory and processor")
    }
}

/// One picture through the steps of every protocol.
fn protocol_pixels() -> Check {
    const NAME: &str = "protocols";
    match wrong_pixels() {
        Ok(wrong) if wrong.is_empty() => {
            ok(NAME, format!("{} make the expected pixels", Protocol::names().count()))
        }
        Ok(wrong) => {
            let found = format!("unexpected pixels under {}", wrong.join(", "));
            failed(NAME, found, "features on this machine would differ; build the program again")
        }
        Err(error) => failed(NAME, message_of(&error.into()), REBUILD),
    }
}

/// For users who compare a value with that of an installed Pillow.
fn pillow() -> Check {
    let found = "protocols resize as Pillow 12 does; an installed Pillow 13 gives other pixels where the height loses more \
                 than twice as many pixels as the width: compare with it under `--protocol NAME+pillow-13`";
    ok("Pillow", found.to_owned())
}

fn jpeg() -> Check {
    const NAME: &str = "jpeg";
    if specimen_measure::input::simd_jpeg() {
        return ok(NAME, "decoded with SIMD".to_owned());
    }
    let remedy = "the pixels are the same; install nasm and build again for twice the speed";
    note(NAME, "decoded without SIMD".to_owned(), remedy)
}

/// Digest of the pixels of a greedy image by a freshly loaded model.
fn greedy_image() -> Result<Digest, RunError> {
    let spec = tiny();
    let model = Models::new(None).get(&spec)?;
    let prompt = Scene::new(specimen_datasets::scenes::VAL_SEED, 0).caption();
    let sampling = specimen_experiments::spec::Sampling {
        temperature: 0.0,
        top_k: 0,
        top_p: 1.0,
        guidance: 3.0,
        filter_order: specimen_experiments::spec::FilterOrder::TopKThenTopP,
        coupled: false,
    };
    let request = Request { model: &model, method: &MethodConfig::ar(), sampling, prompt: &prompt, seed: 0 };
    let clock = DeviceClock::new(device_of(&spec.device)?);
    Ok(Digest::of(&generate(&request, &clock)?.picture.rgb))
}

fn tiny() -> ModelSpec {
    ModelSpec {
        name: "tiny".to_owned(),
        dtype: Dtype::Bf16,
        device: "cpu".to_owned(),
        weights: None,
        three_way_guidance: false,
        graphs: None,
        batch: None,
        heads: std::collections::BTreeMap::new(),
        rehearsed: None,
    }
}
