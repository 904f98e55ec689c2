//! `specimen convert`: published weights to safetensors. Nothing in a file is ever
//! run.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use serde::Serialize;
use specimen_catalog::{
    ENTRIES, convert::Element, convert::Limits, convert::Options, convert::Recipe, convert::Report, entry,
    hub::HubError,
};
use specimen_foundation::{fail, failure, text::counted, text::escaped};

use crate::{
    cmd::{byte_progress::ByteProgress, overwrite::check_absent},
    console::{Console, answer, answer_json},
    shared_args::Format,
};

/// What to convert.
#[derive(Debug, Args)]
pub struct ConvertArgs {
    /// A checkpoint (.pt, .pth, .bin, .ckpt, .safetensors), or the index of one in several files (.index.json)
    pub input: PathBuf,
    /// The safetensors file to write
    pub output: PathBuf,
    /// Rename, cut and leave out tensors by this model's table; otherwise names are kept
    #[arg(long, value_name = "NAME")]
    pub model: Option<String>,
    /// Cast every float
    #[arg(long, value_enum)]
    pub dtype: Option<Cast>,
    /// Where in a pickle the model's tensors are, as in `ema` or `model.state_dict` [default: at the top, or below
    /// state_dict, model, module or model_state_dict]
    #[arg(long, value_name = "KEY")]
    pub key: Option<String>,
    /// A class in a pickle whose objects contain no weights and are left out; may be repeated
    #[arg(long, value_name = "MODULE.CLASS")]
    pub inert: Vec<String>,
    /// Replace the output if it is there
    #[arg(long)]
    pub force: bool,
}

/// A float to cast to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Cast {
    /// IEEE half.
    F16,
    /// The upper half of an f32.
    Bf16,
    /// IEEE single.
    F32,
    /// IEEE double.
    F64,
}

/// The answer, as `--format json` prints it.
#[derive(Serialize)]
struct ConvertAnswer<'a> {
    schema: u32,
    output: String,
    n_bytes: u64,
    blake3: &'a str,
    n_tensors: usize,
    format: &'a str,
    /// Where in the pickle the tensors were; empty at the top.
    key: &'a str,
    dropped: &'a [String],
    sources: Vec<SourceLine<'a>>,
}

/// One file that was read.
#[derive(Serialize)]
struct SourceLine<'a> {
    file: &'a str,
    sha256: &'a str,
}

/// Converts, and prints what came of it.
pub(crate) fn convert(args: &ConvertArgs, console: &Console) -> anyhow::Result<()> {
    check_absent(&args.output, args.force)?;
    let dtype = args.dtype.map(|cast| match cast {
        Cast::F16 => Element::F16,
        Cast::Bf16 => Element::Bf16,
        Cast::F32 => Element::F32,
        Cast::F64 => Element::F64,
    });
    if let Some("npz" | "npy") = args.output.extension().and_then(|extension| extension.to_str()) {
        let by_python = specimen_measure::error::not_converted(&args.input);
        fail!(Usage: "{by_python}");
    }
    let recipe = args.model.as_deref().map(recipe).transpose()?;
    let key = args.key.as_deref();
    let options = Options { recipe, dtype, key, inert: &args.inert, limits: Limits::PUBLISHED };
    let report = converted(&args.input, &args.output, &options, console)?;
    let sources = report.sources.iter().map(|(file, sha256)| SourceLine { file, sha256 });
    let answered = ConvertAnswer {
        schema: 1,
        output: args.output.display().to_string(),
        n_bytes: report.n_bytes,
        blake3: &report.blake3,
        n_tensors: report.n_tensors,
        format: report.format,
        key: &report.key,
        dropped: &report.dropped,
        sources: sources.collect(),
    };
    match console.format() {
        Format::Json => answer_json(&answered),
        Format::Human => answer(&human(&answered)),
    }
}

/// Converts `input` to `output`, with progress.
pub(crate) fn converted(
    input: &Path,
    output: &Path,
    options: &Options<'_>,
    console: &Console,
) -> Result<Report, specimen_catalog::convert::ConvertError> {
    let mut shown = ByteProgress::new(console, format!("converting to {}", output.display()));
    let report = specimen_catalog::convert::convert(input, output, options, &mut |progress| {
        shown.reached(progress.n_done, Some(progress.n_total));
    })?;
    for path in &report.removed {
        console.say(format!("removed {}, left by a killed conversion", path.display()));
    }
    Ok(report)
}

/// The table of the model `name`.
fn recipe(name: &str) -> anyhow::Result<&'static Recipe> {
    let found = entry::published_entry(name).map_err(HubError::from)?.convert.as_ref();
    let with_table = || ENTRIES.iter().filter(|known| known.convert.is_some());
    Ok(found.ok_or_else(|| {
        let known = with_table().map(|known| known.name.as_str()).collect::<Vec<_>>().join(", ");
        failure!(Usage: "model `{name}` has no table of names; leave --model out, or use one of {known}")
    })?)
}

fn human(answered: &ConvertAnswer<'_>) -> String {
    let ConvertAnswer { output, n_bytes, blake3, n_tensors, format, key, dropped, .. } = answered;
    let below = if key.is_empty() { String::new() } else { format!(", below `{}`", escaped(key)) };
    let left_out = match dropped.len() {
        0 => String::new(),
        1 => format!("\nleft out one tensor, `{}`", escaped(&dropped[0])),
        n => format!("\nleft out {n} tensors, the first is `{}`", escaped(&dropped[0])),
    };
    let read = |line: &SourceLine<'_>| format!("\nread {} (SHA-256 {})", escaped(line.file), line.sha256);
    let sources = answered.sources.iter().map(read);
    format!(
        "{output}: {}, {n_bytes} bytes, BLAKE3 {blake3}\nfrom {format}{below}{}{left_out}",
        counted(n_tensors, "tensor"),
        sources.collect::<String>()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_from_a_file_begins_no_line_of_the_answer() {
        let dropped = ["a\nb".to_owned(), "c".to_owned()];
        let mut answered = ConvertAnswer {
            schema: 1,
            output: "o".to_owned(),
            n_bytes: 1,
            blake3: "d",
            n_tensors: 1,
            format: "a file",
            key: "e\nf",
            dropped: &dropped,
            sources: vec![SourceLine { file: "g\nh", sha256: "i" }],
        };
        assert_eq!(human(&answered).lines().count(), 4, "{}", human(&answered));
        answered.dropped = &dropped[..1];
        assert_eq!(human(&answered).lines().count(), 4, "{}", human(&answered));
    }
}
