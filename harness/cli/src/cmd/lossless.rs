//! `specimen doctor --lossless`: whether every exact method samples from the target's distribution.

use clap::{Args, ValueEnum};
use serde::Serialize;
use specimen_datasets::scenes::{Scene, VAL_SEED};
use specimen_decode::pipeline::Sampling;
use specimen_experiments::{
    parse::SpecText,
    spec::{Dtype, ModelSpec},
};
use specimen_foundation::{fail, failure, text::counted};
use specimen_runner::{
    images::load::Models,
    lossless::{
        Case, examine,
        sampler::{EXTERNAL, SamplerToy},
        subject::{ModelPrompt, Subject, Toy},
        verdict::{Claim, Examination, Examined, Gap, Missing, TestResult, Verdict},
    },
};

use crate::{
    console::{Console, answer, answer_json},
    shared_args::Format,
    spec_args::data_root,
};

/// The spec that lists every method, with its name in messages.
const METHODS: (&str, &str) = (
    "experiments/specs/ci/methods_tiny.toml",
    include_str!("../../../../experiments/specs/ci/methods_tiny.toml"),
);

/// The spec of those that the toy alone shows.
const METHODS_OF_TOY: (&str, &str) = (
    "experiments/specs/ci/methods_toy.toml",
    include_str!("../../../../experiments/specs/ci/methods_toy.toml"),
);

/// What to examine.
#[derive(Clone, Debug, Args)]
pub struct LosslessArgs {
    /// What the methods decode: a toy whose distribution is known exactly, or the embedded model
    #[arg(long, value_enum, default_value_t = On::Tiny, requires = "lossless")]
    pub model: On,
    /// Images of each method [default: 40000 of the toy, 32 of the embedded model]
    #[arg(long, requires = "lossless", value_parser = clap::value_parser!(u64).range(20..=10_000_000))]
    pub samples: Option<u64>,
    /// Tokens to decode of each image of the embedded model
    #[arg(long, requires = "lossless", default_value_t = 64, value_parser = clap::value_parser!(u16).range(2..=256))]
    pub tokens: u16,
    /// Tokens that the embedded model keeps by top-k, 0 for all; the toy keeps 3 of its 4
    #[arg(long, requires = "lossless", value_name = "N", value_parser = clap::value_parser!(u16).range(0..=1024))]
    pub top_k: Option<u16>,
    /// Whether the steps of the embedded model run over buffers that stay where they are, as CUDA graphs need them
    #[arg(long, requires = "lossless", default_value_t = false)]
    pub graphs: bool,
    /// Test another program's sampler on a toy instead: the program and its arguments, to the end of the line
    #[arg(long, requires = "lossless", value_name = "COMMAND", num_args = 1.., allow_hyphen_values = true, conflicts_with_all = ["model", "tokens", "top_k", "only", "graphs"])]
    pub external: Vec<String>,
    /// Only the methods whose name contains this
    #[arg(long, requires = "lossless", value_name = "TEXT")]
    pub only: Option<String>,
}

/// What the methods decode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum On {
    /// Four tokens, images of seven in three rows.
    Toy,
    /// The embedded model, in f32: the first tokens for one prompt.
    Tiny,
}

/// The answer, as `--format json` prints it.
#[derive(Serialize)]
struct LosslessAnswer<'e> {
    schema: u32,
    #[serde(flatten)]
    examination: &'e Examination,
}

/// The method of this program next to another program's sampler.
const CONTROL: &str = "sd-chain";
/// Images of a toy: fewer miss what released samplers were found to do.
const TOY_IMAGES: u64 = 40_000;

/// Fewer images of the toy leave too few of its 2,187 possible ones expected often enough to be counted.
const TOY_MIN: u64 = 1000;

/// Tests all methods and prints the results. Fails if an exact method does not sample from the target's distribution, or
/// if a relaxed one was not detected.
pub(crate) fn lossless(args: &LosslessArgs, console: &Console) -> anyhow::Result<()> {
    specimen_weights::use_threads(1);
    let spec = SpecText::parse(METHODS.0, METHODS.1)?.resolve()?;
    if !args.external.is_empty() {
        let chain = spec.cells.iter().find(|cell| cell.name == CONTROL).expect("the spec has a chain");
        let cases = [EXTERNAL, CONTROL].map(|name| Case::new(name, chain.method.clone()));
        let toy = SamplerToy::start(&args.external)?;
        return answered(&toy, &cases, (args.samples, TOY_IMAGES), console);
    }
    let sampling = spec.cells.first().map(|cell| cell.sampling);
    let mut cells = spec.cells;
    if args.model == On::Toy {
        cells.extend(SpecText::parse(METHODS_OF_TOY.0, METHODS_OF_TOY.1)?.resolve()?.cells);
    }
    let wanted = |name: &str| args.only.as_deref().is_none_or(|text| name.contains(text));
    let cases: Vec<Case> = cells
        .iter()
        .filter(|cell| wanted(&cell.name))
        .map(|cell| Case::new(&cell.name, cell.method.clone()))
        .collect();
    let (Some(sampling), false) = (sampling, cases.is_empty()) else {
        let known: Vec<&str> = cells.iter().map(|cell| cell.name.as_str()).collect();
        let asked = args.only.as_deref().unwrap_or_default();
        let known = known.join(", ");
        fail!(Usage: "--only: no method has `{asked}` in its name; known: {known}");
    };
    if args.model == On::Toy && args.graphs {
        fail!(Usage: "--graphs: the toy has no network");
    }
    if args.model == On::Toy && args.samples.is_some_and(|n| n < TOY_MIN) {
        let few = format!("--samples: a test of the toy needs at least {TOY_MIN} images");
        fail!(Usage: "{few}");
    }
    let (subject, n_images): (Box<dyn Subject>, u64) = match args.model {
        On::Toy => (Box::new(Toy::new()), TOY_IMAGES),
        On::Tiny => {
            // In bf16 a forward over a tree rounds otherwise than one over a sequence.
            let model = ModelSpec {
                name: "tiny".to_owned(),
                dtype: Dtype::F32,
                device: "cpu".to_owned(),
                weights: None,
                three_way_guidance: false,
                graphs: args.graphs.then_some(true),
                batch: None,
                heads: std::collections::BTreeMap::new(),
                rehearsed: None,
            };
            let model = Models::new(data_root()).get(&model)?;
            let prompt = Scene::new(VAL_SEED, 0).caption();
            let top_k = args.top_k.map_or(sampling.top_k, u32::from);
            let sampling = Sampling { top_k, ..sampling };
            (Box::new(ModelPrompt { model, prompt, sampling, n_tokens: usize::from(args.tokens) }), 32)
        }
    };
    answered(&*subject, &cases, (args.samples, n_images), console)
}

/// Tests `cases` by as many images as asked, else by the number that follows, and prints the results.
fn answered(
    subject: &dyn Subject,
    cases: &[Case],
    (asked, usual): (Option<u64>, u64),
    console: &Console,
) -> anyhow::Result<()> {
    let n_images = asked.unwrap_or(usual);
    let mut said =
        |examined: &Examined| console.say(format!("{}: p {}", examined.name, in_short(examined.p)));
    let found = examine(subject, cases, n_images, &mut said)?;
    match console.format() {
        Format::Json => answer_json(&LosslessAnswer { schema: 1, examination: &found })?,
        Format::Human => answer(&human(&found))?,
    }
    if found.passed {
        return Ok(());
    }
    let (broken, unnoticed) = (found.with_verdict(Verdict::Broken), found.with_verdict(Verdict::Unnoticed));
    let failed = [("not lossless", broken), ("relaxed, but not detected", unnoticed)];
    let failed = failed.iter().filter(|(_, names)| !names.is_empty());
    let mut failed: Vec<String> =
        failed.map(|(what, names)| format!("{what}: {}", names.join(", "))).collect();
    if !found.with_verdict(Verdict::Unnoticed).is_empty() && n_images < usual {
        failed.push(format!("{n_images} images a method may be too few: without --samples it makes {usual}"));
    }
    Err(failure!(Mismatch: "{}", failed.join("; ")).into())
}

fn human(found: &Examination) -> String {
    let Examination { subject, n_images, alpha, detectable_tv, methods, .. } = found;
    let tv_of = methods.first().map_or("cells", |method| method.tv_of);
    let mut text = format!(
        "{subject}; {} a method\n\
         level {alpha} over all exact methods (Holm), and over all relaxed ones",
        counted(n_images, "image")
    );
    if let Some(tv) = detectable_tv {
        text.push_str(&format!("; a total variation of {tv_of} of {tv:.3} would be found with 80 %"));
    }
    text.push_str("\n\n");
    let width = methods.iter().map(|method| method.name.chars().count()).max().unwrap_or(0);
    let tv = format!("TV of {tv_of} (noise)");
    text.push_str(&format!(
        "{:9}  {:width$}  {:7}  {:>9}  {:>9}  {tv:>20}  {:>16}  chi2/df [df] by test\n",
        "", "method", "claims", "p", "p (Holm)", "nats/token (SE)"
    ));
    for method in methods {
        let mark = match method.verdict {
            Verdict::Kept => "kept",
            Verdict::Broken => "BROKEN",
            Verdict::Detected => "detected",
            Verdict::Unnoticed => "UNNOTICED",
        };
        let claim = match method.claim {
            Claim::Exact => "exact",
            Claim::Relaxed => "relaxed",
        };
        let tests: Vec<String> = method.tests.iter().map(test_in_short).collect();
        text.push_str(&format!(
            "{mark:9}  {:width$}  {claim:7}  {:>9}  {:>9}  {:>20}  {:>16}  {}\n",
            method.name,
            in_short(method.p),
            in_short(method.p_holm),
            format!("{:.3} ({:.3})", method.tv, method.tv_of_noise),
            method.gap.map_or("-".to_owned(), |gap| format!("{:+.3} ({:.3})", gap.nats, gap.standard_error)),
            tests.join(", "),
        ));
        for Missing { what, why } in &method.absent {
            text.push_str(&format!("{:9}  {:width$}  no test of {what}: {why}\n", "", ""));
        }
        if let Some(Gap { n_ruled_out: n @ 1.., .. }) = method.gap {
            text.push_str(&format!("{:9}  {:width$}  {} of probability zero\n", "", "", counted(n, "token")));
        }
    }
    text
}

/// A p-value in three digits.
fn in_short(p: f64) -> String {
    if p == 0.0 || p >= 1e-3 { format!("{p:.3}") } else { format!("{p:.1e}") }
}

/// A test in a few words, with positions that were tested where it goes by them.
fn test_in_short(test: &TestResult) -> String {
    let TestResult { what, statistic, degrees_of_freedom, p_by_position, .. } = test;
    let Some(statistic) = statistic else { return format!("{what} impossible") };
    let ratio = statistic / (*degrees_of_freedom).max(1) as f64;
    match p_by_position.len() {
        0 => format!("{what} {ratio:.2} [{degrees_of_freedom}]"),
        n => {
            let n_tested = p_by_position.iter().flatten().count();
            format!("{what} {ratio:.2} [{degrees_of_freedom} over {n_tested} of {n} positions]")
        }
    }
}
