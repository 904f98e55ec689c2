//! `specimen generate`: one image, and what it took.

use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;
use specimen_experiments::{bundled::bundled, error::SpecError, names, parse::SpecText, spec::Cell};
use specimen_foundation::{
    fail, failure, failure::FailureMessage, names::known_names, names::nearest, text::counted,
};
use specimen_models::seam::clock::DeviceClock;
use specimen_record::Phases;
use specimen_runner::images::{
    generate::{Generated, Request, generate as generate_image, save},
    load::{Models, device_of},
    out_of_memory::within_memory,
};

use crate::{
    console::{Console, answer, answer_json},
    shared_args::Format,
    spec_args::data_root,
};

/// What to generate, and how.
#[derive(Debug, Args)]
pub struct GenerateArgs {
    /// The prompt, such as "a large red circle on sand at sunset"; empty for models without prompts
    pub prompt: String,
    /// Seed of the image; the same seed gives the same image. A seed of a run, which its records have in hexadecimal digits,
    /// has `0x` before them
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = seed)]
    pub seed: u64,
    /// The decoding method: a cell of `specimen specs show quickstart` (ar, sd-chain3, sjd, cascade …), a drafter
    /// as a spec writes it, '{ proposer = "eagle1", shape = "chain", depth = 5 }', or a relaxed method,
    /// '{ drafter = { … }, accept = [{ kind = "cascade", … }], schedule = { … } }'. For a cell of any other spec: --spec and --cell
    #[arg(long, value_name = "METHOD", default_value = "ar")]
    pub method: String,
    #[command(flatten)]
    pub model: ModelArgs,
    /// Take model, sampling and method from a cell of this spec: a TOML file, or the name of a spec in the program
    #[arg(long, value_name = "SPEC", conflicts_with_all = ["method", "model", "guidance", "temperature", "top_k", "top_p", "dtype", "device"])]
    pub spec: Option<PathBuf>,
    /// The cell of --spec, by its name, values of axes included, as in `casc[tau_pos=0.85]`
    #[arg(long, value_name = "CELL", requires = "spec")]
    pub cell: Option<String>,
    /// Set a value of --spec, as in `sampling.guidance=5`; may be repeated
    #[arg(long, value_name = "PATH=VALUE", requires = "spec")]
    pub set: Vec<String>,
    /// The image file, PNG [default: <model>-<seed>.png]
    #[arg(short, long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

/// A seed as it is typed: a whole number, or `0x` and hexadecimal digits.
fn seed(text: &str) -> Result<u64, String> {
    let found = match text.strip_prefix("0x") {
        None => text.parse().ok(),
        // The library's parser takes a sign.
        Some(digits) if digits.bytes().all(|digit| digit.is_ascii_hexdigit()) => {
            u64::from_str_radix(digits, 16).ok()
        }
        Some(_) => None,
    };
    found.ok_or_else(|| {
        format!(
            "expected a whole number from 0 to {}, or `0x` and the hexadecimal digits of a record",
            u64::MAX
        )
    })
}

/// The model, and how it samples.
#[derive(Clone, Debug, Args)]
pub struct ModelArgs {
    /// The model, one of those that [`names::models`] lists
    #[arg(long, value_name = "NAME", default_value = "tiny", help = model_help())]
    pub model: String,
    /// Scale of classifier-free guidance, 1 for none [default: 3 for tiny, 1 for models without prompts; others need it]
    #[arg(long, value_name = "SCALE", allow_negative_numbers = true)]
    pub guidance: Option<f64>,
    /// Temperature, 0 for greedy
    #[arg(long, value_name = "T", default_value_t = 1.0, allow_negative_numbers = true)]
    pub temperature: f64,
    /// Tokens kept before drawing, 0 for all
    #[arg(long, value_name = "K", default_value_t = 0, allow_negative_numbers = true)]
    pub top_k: u32,
    /// Mass kept before drawing, 1 for all
    #[arg(long, value_name = "P", default_value_t = 1.0, allow_negative_numbers = true)]
    pub top_p: f64,
    /// Kind of number the network computes in: bf16, f32, f16
    #[arg(long, value_name = "KIND", default_value = "bf16")]
    pub dtype: String,
    /// Where it computes: cpu, cuda, cuda:N
    #[arg(long, value_name = "DEVICE", default_value = "cpu")]
    pub device: String,
}

/// The models by name; those that are not in the binary need their weights.
fn model_help() -> String {
    format!("The model: {}", names::models().collect::<Vec<_>>().join(", "))
}

/// A spec of one cell but for the cell; the arguments are written over it, and its grammar checks them.
const ONE_CELL: &str = r#"
schema   = 1
name     = "generate"
seed     = 0
dataset  = { name = "unconditional", limit = 1 }
model    = { name = "tiny", dtype = "bf16" }
sampling = { temperature = 1.0, top_k = 0, top_p = 1.0, guidance = 3.0 }
timing   = { warmup = 0, blocks = 1 }
"#;

/// The answer, as `--format json` prints it.
#[derive(Serialize)]
struct ImageAnswer {
    schema: u32,
    image: PathBuf,
    width: u32,
    height: u32,
    n_tokens: usize,
    target_forwards: u32,
    draft_forwards: u64,
    /// Tokens at the end of the prompt that the model did not read.
    prompt_tokens_cut: u64,
    seconds: Seconds,
}

/// Seconds by phase.
#[derive(Serialize)]
struct Seconds {
    text_encode: f64,
    prefill: f64,
    draft: f64,
    schedule: f64,
    target: f64,
    verify: f64,
    update: f64,
    vq_decode: f64,
    decode: f64,
    total: f64,
}

/// Generates the image.
pub(crate) fn generate(args: &GenerateArgs, console: &Console) -> anyhow::Result<()> {
    specimen_weights::use_threads(1);
    let cell = match &args.spec {
        Some(spec) => cell_of_spec(spec, args.cell.as_deref(), &args.set)?,
        None => cell_of(&args.model, &args.method)?,
    };
    let out =
        args.out.clone().unwrap_or_else(|| PathBuf::from(format!("{}-{}.png", cell.model.name, args.seed)));
    if out.extension().is_none_or(|ending| !ending.eq_ignore_ascii_case("png")) {
        let reason =
            format!("--out: images are written as PNG, and `{}` does not end in .png", out.display());
        fail!(Usage: "{reason}");
    }
    let model = Models::new(data_root()).get(&cell.model)?;
    model.warnings.iter().for_each(|what| console.warn(what));
    let clock = DeviceClock::new(device_of(&cell.model.device)?);
    let request = Request {
        model: &model,
        method: &cell.method,
        sampling: cell.sampling,
        prompt: &args.prompt,
        seed: args.seed,
    };
    let generated = within_memory(&cell.model, Some(&cell.method), || generate_image(&request, &clock))?;
    model.take_refusal().iter().for_each(|what| console.warn(what));
    if generated.n_prompt_cut > 0 {
        let n = counted(generated.n_prompt_cut, "token");
        console.warn(format!("`{}` did not read the last {n} of the prompt: it is too long", model.name));
    }
    save(&generated.picture, &out)?;
    let image = describe(&generated, out);
    match console.format() {
        Format::Json => answer_json(&image),
        Format::Human => answer(&human(&image)),
    }
}

/// Whether the model called `name` takes prompts.
pub(crate) fn has_prompts(name: &str) -> bool {
    !matches!(name, "igpt-mnist" | "igpt-fmnist" | "stub")
}

/// The cell called `name` of a spec.
fn cell_of_spec(path: &Path, name: Option<&str>, set: &[String]) -> anyhow::Result<Cell> {
    let mut text = SpecText::read(path)?;
    for setting in set {
        text.set(setting)?;
    }
    let spec = text.resolve()?;
    let shown = path.display();
    let names = || spec.cells.iter().map(|cell| cell.name.as_str());
    let Some(name) = name else {
        let all = names().collect::<Vec<_>>().join(", ");
        fail!(Usage: "--spec {shown}: name one of its cells with --cell: {all}");
    };
    let Some(cell) = spec.cells.iter().find(|cell| cell.name == name) else {
        let known = known_names(name, names());
        fail!(Usage: "--cell: {shown} has no cell `{name}`; it has {known}");
    };
    if cell.is_of_another_program() {
        let why =
            format!("--cell: the images of `{name}` are another program's; `specimen run` asks it for them");
        fail!(Usage: "{why}");
    }
    Ok(cell.clone())
}

/// The cell of a model and a method.
pub(crate) fn cell_of(args: &ModelArgs, method: &str) -> Result<Cell, FailureMessage> {
    // The cell is one of this command; whoever reads the message wrote an option.
    let wrong = |error: SpecError| failure!(Usage: "{}", error.fault.to_string().replace("cell.image.", "--method: "));
    for (option, value) in [("temperature", args.temperature), ("top-p", args.top_p)] {
        if !value.is_finite() {
            fail!(Usage: "--{option}: expected a finite number, found {value}");
        }
    }
    if let Some(guidance) = args.guidance.filter(|guidance| !guidance.is_finite()) {
        fail!(Usage: "--guidance: expected a finite number, found {guidance}");
    }
    let guidance = match (args.guidance, args.model.as_str()) {
        (Some(guidance), _) => guidance,
        (None, "tiny") => 3.0,
        (None, model) if !has_prompts(model) => 1.0,
        (None, model) if names::models().any(|known| known == model) => {
            let reason = format!(
                "--guidance: published settings of {model} differ, so there is no default; papers have 3 to 7.5"
            );
            fail!(Usage: "{reason}");
        }
        // Reading the settings says that there is no such model.
        (None, _) => 1.0,
    };
    let text = |value: &str| format!("'''{value}'''");
    let settings = [
        format!("model.name={}", text(&args.model)),
        format!("model.dtype={}", text(&args.dtype)),
        format!("model.device={}", text(&args.device)),
        format!("sampling.temperature={:?}", args.temperature),
        format!("sampling.top_k={}", args.top_k),
        format!("sampling.top_p={:?}", args.top_p),
        format!("sampling.guidance={guidance:?}"),
    ];
    let text = format!("{ONE_CELL}cell = [{{ name = \"image\"{} }}]\n", named_cell(method)?);
    let mut spec = SpecText::parse("one cell", &text).map_err(wrong)?;
    for setting in &settings {
        spec.set(setting).map_err(wrong)?;
    }
    let spec = spec.resolve().map_err(wrong)?;
    Ok(spec.cells.into_iter().next().expect("the spec has one cell"))
}

fn describe(generated: &Generated, image: PathBuf) -> ImageAnswer {
    let seconds = |ns: u64| ns as f64 * 1e-9;
    let Phases { text_encode, prefill, draft, schedule, target, verify, update, vq_decode, .. } =
        generated.phases;
    ImageAnswer {
        schema: 1,
        image,
        width: generated.picture.width,
        height: generated.picture.height,
        n_tokens: generated.decoded.tokens.len(),
        target_forwards: generated.decoded.nfe(),
        draft_forwards: generated.n_draft_forwards,
        prompt_tokens_cut: generated.n_prompt_cut,
        seconds: Seconds {
            text_encode: seconds(text_encode),
            prefill: seconds(prefill),
            draft: seconds(draft),
            schedule: seconds(schedule),
            target: seconds(target),
            verify: seconds(verify),
            update: seconds(update),
            vq_decode: seconds(vq_decode),
            decode: seconds(generated.decode_ns),
            total: seconds(generated.e2e_ns),
        },
    }
}

fn human(answer: &ImageAnswer) -> String {
    let ImageAnswer { width, height, n_tokens, target_forwards, draft_forwards, seconds, .. } = answer;
    let phases = [
        ("text encode", seconds.text_encode),
        ("prefill", seconds.prefill),
        ("draft", seconds.draft),
        ("schedule", seconds.schedule),
        ("target", seconds.target),
        ("verify", seconds.verify),
        ("update", seconds.update),
        ("vq decode", seconds.vq_decode),
    ];
    let phases: Vec<String> = phases.iter().map(|(name, value)| format!("{name} {value:.4}")).collect();
    format!(
        "image    {} ({width}x{height})\n\
         tokens   {n_tokens}\n\
         forwards target {target_forwards} (the prefill is one), draft {draft_forwards}\n\
         seconds  {}\n\
         in all   {:.3} s, of which decoding {:.3} s\n",
        answer.image.display(),
        phases.join(", "),
        seconds.total,
        seconds.decode,
    )
}

/// The keys of a method in a cell.
const METHOD_KEYS: [&str; 3] = ["drafter", "accept", "schedule"];

/// The spec whose cells have the names.
const NAMED: &str = "quickstart";

/// What `method` says of a cell, as a spec writes it behind the cell's name: of a name or an inline table of a drafter the
/// drafter, of a table that begins with a key of a method its contents. Empty: plain decoding.
fn named_cell(method: &str) -> Result<String, FailureMessage> {
    if let Some(inner) = method.trim().strip_prefix('{') {
        let first = inner.split('=').next().unwrap_or_default().trim();
        let is_method = METHOD_KEYS.iter().any(|key| first == *key || first.starts_with(&format!("{key}.")));
        // What is neither is read as a drafter, whose grammar says what is wrong with it.
        return Ok(match inner.trim_end().strip_suffix('}').filter(|_| is_method) {
            Some(keys) => format!(", {keys}"),
            None => format!(", drafter = {method}"),
        });
    }
    let spec = bundled(NAMED).expect("the quickstart is in the program");
    spec.cell(method).ok_or_else(|| {
        let names = spec.cell_names();
        let near = nearest(method, names.iter().map(String::as_str));
        let near = near.first().map_or_else(String::new, |name| format!(", did you mean `{name}`?"));
        let names = names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        failure!(Usage: "--method: unknown method `{method}`{near}; expected one of {names}, a drafter such \
            as '{{ proposer = \"eagle1\", shape = \"chain\", depth = 3 }}', or a table of `drafter`, \
            `accept` and `schedule` as in a spec; a cell of another spec is taken by `--spec SPEC --cell \
            CELL`")
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use super::*;

    #[test]
    fn a_seed_is_decimal_or_hexadecimal_as_a_record_has_it() {
        assert_eq!(seed("7"), Ok(7));
        assert_eq!(seed("0x9cbf21aea57bc9dc"), Ok(0x9cbf_21ae_a57b_c9dc));
        for wrong in ["-1", "9cbf21aea57bc9dc", "0x", "0x+5", "0x10000000000000000", "1.5"] {
            assert!(seed(wrong).is_err_and(|why| why.contains("`0x` and the hexadecimal digits")), "{wrong}");
        }
    }

    #[test]
    fn names_are_those_of_the_cells_of_quickstart() {
        assert_eq!(named_cell("ar").unwrap(), "");
        let chain = named_cell("sd-chain3").unwrap();
        assert!(chain.starts_with(", drafter = {") && chain.contains("depth = 3"), "{chain}");
        let relaxed = named_cell("cascade").unwrap();
        assert!(relaxed.contains(", accept = [{") && relaxed.contains("tau_pos = 0.85"), "{relaxed}");
    }

    #[test]
    fn an_unknown_name_is_answered_with_all_names() {
        let message = named_cell("eagle-static13").unwrap_err().to_string();
        assert!(
            message.contains("did you mean `eagle1-static13`?") && message.contains("proposer"),
            "{message}"
        );
        assert!(message.contains("--spec SPEC --cell CELL"), "{message}");
    }

    #[test]
    fn a_table_is_a_method_by_its_first_key_or_a_drafter() {
        let drafter = r#"{ proposer = "eagle1", shape = "chain", depth = 2 }"#;
        assert_eq!(named_cell(drafter).unwrap(), format!(", drafter = {drafter}"));
        let keys = format!("drafter = {drafter}, accept = [{{ kind = \"gsd\", group = 3 }}]");
        assert_eq!(named_cell(&format!("{{{keys}}}")).unwrap(), format!(", {keys}"));
        assert_eq!(named_cell("{ drafter.proposer = \"none\" }").unwrap(), ",  drafter.proposer = \"none\" ");
    }
}
