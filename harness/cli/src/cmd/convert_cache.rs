//! `specimen convert CACHE.pt OUT.npz|OUT.npy`: statistics and features that torch-fidelity keeps, as files that every metric
//! here and the other tools read.

use std::path::Path;

use anyhow::Context;
use serde::Serialize;
use specimen_convert::{Cache, Element, Limits};
use specimen_measure::statistics::{Numbers, of_parts, write, write_array};

use crate::{
    args::Format,
    cmd::convert::ConvertArgs,
    console::{Console, answer, answer_json},
    exit::CliError,
};

/// What a path's ending asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kept {
    /// `.npz`: mean and covariance.
    Statistics,
    /// `.npy`: rows of features.
    Features,
}

impl Kept {
    /// The kind of a file by its extension; absent unless it is `.npz` or `.npy`.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        match extension.as_str() {
            "npz" => Some(Self::Statistics),
            "npy" => Some(Self::Features),
            _ => None,
        }
    }
}

/// The answer, as `--format json` prints it.
#[derive(Serialize)]
struct CacheAnswer {
    schema: u32,
    output: String,
    /// Its contents, in words.
    holds: String,
    /// What the input does not state, so that the output cannot either.
    not_known: Vec<&'static str>,
    format: &'static str,
    sources: Vec<serde_json::Value>,
}

/// Converts, and prints what came of it. `dtype` is a cast of features.
pub(crate) fn convert_cache(
    args: &ConvertArgs,
    kept: Kept,
    dtype: Option<Element>,
    console: &Console,
) -> anyhow::Result<()> {
    let (input, output) = (&args.input, &args.output);
    let refused = match (kept, &args.model, dtype) {
        (_, Some(_), _) => Some("--model"),
        (Kept::Statistics, None, Some(_)) => Some("--dtype"),
        _ => None,
    };
    if let Some(option) = refused {
        let text = format!("{}: `{option}` has no meaning for statistics and features", output.display());
        return Err(CliError::Usage(text).into());
    }
    let opened = Cache::open(input, args.key.as_deref(), &args.inert, &Limits::PUBLISHED)?;
    let (holds, not_known) = match kept {
        Kept::Statistics => {
            let statistics = opened.statistics()?;
            let d = statistics.mean.len();
            make_folder_of(output)?;
            write(&of_parts(input, statistics.mean, statistics.covariance)?, None, output)?;
            let unknown = vec!["how many pictures they are of (n)", "the network, its layer and the pixels"];
            (format!("mean and covariance of {d} features (mu, sigma)"), unknown)
        }
        Kept::Features => {
            let features = opened.features(dtype)?;
            let numbers = match features.element {
                Element::F16 => Numbers::F16,
                Element::F32 => Numbers::F32,
                _ => Numbers::F64,
            };
            make_folder_of(output)?;
            write_array(output, [features.n, features.d], numbers, &features.bytes)?;
            let of =
                if features.name.is_empty() { String::new() } else { format!(", layer `{}`", features.name) };
            let holds = format!("{} rows of {} features, {}{of}", features.n, features.d, features.element);
            (holds, vec!["the network, its layer and the pixels"])
        }
    };
    let sources = opened.source().sha256()?.into_iter();
    let answered = CacheAnswer {
        schema: 1,
        output: output.display().to_string(),
        holds,
        not_known,
        format: opened.source().format(),
        sources: sources.map(|(file, sha256)| serde_json::json!({"file": file, "sha256": sha256})).collect(),
    };
    match console.format() {
        Format::Json => answer_json(&answered),
        Format::Human => {
            let CacheAnswer { output, holds, not_known, format, .. } = &answered;
            let unknown = not_known.join("; ");
            answer(&format!("{output}: {holds}\nfrom {format}, which does not state: {unknown}"))
        }
    }
}

/// Makes the folder of `path` where it is not there, as it is made for weights.
fn make_folder_of(path: &Path) -> anyhow::Result<()> {
    let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) else { return Ok(()) };
    std::fs::create_dir_all(folder).with_context(|| format!("{}: cannot write it", path.display()))
}
