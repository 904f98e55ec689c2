//! A cell whose images another process makes: its command, and what it is compared with. The protocol it speaks is
//! `docs/external.md`; nothing here starts anything.

use serde::{Deserialize, Serialize};

use crate::{
    document::Node,
    error::SpecError,
    fields::{self, Fields, out_of_range},
    parse::optional_text,
};

pub(crate) const EXTERNAL_KEYS: &[&str] =
    &["command", "cwd", "env", "files", "timeout_s", "start_timeout_s", "baseline"];
/// Arguments, variables and files that may be named, at most; bytes of one of them, at most.
const MAX_TEXTS: usize = 1_000;
const MAX_BYTES: usize = 32_768;
/// The longest time limit: ten days.
const MAX_TIMEOUT_S: f64 = 864_000.0;
/// How long an image may take where the spec says nothing, and how long the first, before which weights are loaded.
const TIMEOUT_S: f64 = 600.0;
const START_TIMEOUT_S: f64 = 1_800.0;

/// How a process that makes images is started. All of it is part of the run's identity. Relative paths start at the
/// folder that `specimen` is started in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct External {
    /// Program and arguments.
    // Invariant: at least one, the first not empty.
    pub command: Vec<String>,
    /// The folder that it runs in.
    pub cwd: String,
    /// Variables set for it, each `NAME=value`.
    pub env: Vec<String>,
    /// Files whose content decides what it makes; their digests are part of the run.
    pub files: Vec<String>,
    /// Seconds that an image may take.
    pub timeout_s: f64,
    /// Seconds that the first image may take, which the process starts with.
    pub start_timeout_s: f64,
    /// The `[[cell]]` that it is compared with instead of `ar`: another program's plain decoding, for instance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<String>,
}

impl External {
    /// The variables by name.
    pub fn variables(&self) -> impl Iterator<Item = (&str, &str)> {
        self.env.iter().filter_map(|text| text.split_once('='))
    }

    /// The command as one line, for people.
    pub fn command_line(&self) -> String {
        self.command.join(" ")
    }
}

/// Reads `external` of the cell whose keys are `cell`.
pub(crate) fn external(cell: &Fields<'_>, node: &Node) -> Result<External, SpecError> {
    let path = cell.path("external");
    let fields = Fields::new(node, "`external`", &path, EXTERNAL_KEYS)?;
    for (key, why) in [
        ("drafter", "has its own drafter"),
        ("accept", "has its own rule"),
        ("schedule", "has its own schedule"),
        ("frontier", "has its own order"),
    ] {
        if let Some(other) = cell.get(key) {
            return Err(crate::error::conflict(
                format!("the cell has `external` and `{key}`, but its process {why}"),
                format!("remove `{key}`, and pass it as an argument of `command`"),
            )
            .at(other.place.clone()));
        }
    }
    let why = "it is the program that makes the images, with its arguments";
    let command_node = fields.required("command", why)?;
    let command = texts(command_node, &fields.path("command"))?;
    if command.first().is_none_or(String::is_empty) {
        let found = if command.is_empty() { "an empty list" } else { "an empty first text" };
        let expected = "a program and its arguments";
        return Err(out_of_range(command_node, &fields.path("command"), expected, found.to_owned()));
    }
    let list = |key: &str| fields.get(key).map_or(Ok(Vec::new()), |node| texts(node, &fields.path(key)));
    let env = list("env")?;
    if let Some(at) = env.iter().position(|text| text.split_once('=').is_none_or(|(name, _)| name.is_empty()))
    {
        let node = &fields.list("env")?[at];
        let path = format!("{}.{at}", fields.path("env"));
        return Err(out_of_range(node, &path, "NAME=value", format!("{:?}", env[at])));
    }
    let seconds = |key: &str, default: f64| {
        let fits = |s: f64| s > 0.0 && s <= MAX_TIMEOUT_S;
        let expected = "seconds above 0, at most 864000";
        let read = |node| fields::real(node, &fields.path(key), expected, fits);
        fields.get(key).map_or(Ok(default), read)
    };
    Ok(External {
        command,
        cwd: optional_text(&fields, "cwd")?.unwrap_or_else(|| ".".to_owned()),
        env,
        files: list("files")?,
        timeout_s: seconds("timeout_s", TIMEOUT_S)?,
        start_timeout_s: seconds("start_timeout_s", START_TIMEOUT_S)?,
        baseline: optional_text(&fields, "baseline")?,
    })
}

/// A list of texts, each such as the system takes as an argument.
fn texts(node: &Node, path: &str) -> Result<Vec<String>, SpecError> {
    let items = fields::list(node, path)?;
    if items.len() > MAX_TEXTS {
        return Err(out_of_range(node, path, "at most 1000 texts", items.len().to_string()));
    }
    let text = |(at, item): (usize, &Node)| {
        let path = format!("{path}.{at}");
        let text = fields::text(item, &path)?;
        if text.contains('\0') || text.len() > MAX_BYTES {
            let expected = format!("a text without zero bytes, of at most {MAX_BYTES} bytes");
            let found = if text.contains('\0') { "a zero byte".to_owned() } else { text.len().to_string() };
            return Err(out_of_range(item, &path, &expected, found));
        }
        Ok(text.to_owned())
    };
    items.iter().enumerate().map(text).collect()
}
