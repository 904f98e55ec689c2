//! A protocol of the metrics that compare two pictures of one size: what such a value depends on besides the pictures, as
//! data with a name and a digest. It has no pixel steps, since the pictures are compared as they are.
//!
//! The digest of a metric is BLAKE3 of the canonical JSON of its table alone; `NAME@DIGEST12` is printed with every value.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use specimen_catalog::PAIR_PROTOCOLS;
use specimen_foundation::{names::known_names, text::joined_lines};

use crate::bounded;
use crate::error::MeasureError;
use crate::metrics::{PAIR_METRICS, PairMetric, pair_metric};
use crate::metrics::{psnr::PsnrRule, ssim::SsimRule};
use crate::protocol::{MAX_PROTOCOL_BYTES, SCHEMA, schema_of, short_label};

/// A protocol of metrics of pairs.
// Invariant: at least one metric has its table.
#[derive(Clone, Debug, PartialEq)]
pub struct PairProtocol {
    name: String,
    about: String,
    tool: Option<String>,
    alias: Option<String>,
    source: String,
    cite: Vec<String>,
    recipe: PairRecipe,
}

/// The tables of a protocol of pairs, of which the digest of a metric covers its own.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct PairRecipe {
    schema: u32,
    /// Peak signal-to-noise ratio.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub psnr: Option<PsnrRule>,
    /// Structural similarity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ssim: Option<SsimRule>,
}

/// A file.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Wire {
    schema: u32,
    name: String,
    about: String,
    tool: Option<String>,
    alias: Option<String>,
    source: String,
    #[serde(default)]
    cite: Vec<String>,
    psnr: Option<PsnrRule>,
    ssim: Option<SsimRule>,
}

impl PairRecipe {
    /// The metrics that have a table.
    #[must_use]
    pub fn metrics(&self) -> Vec<&'static PairMetric> {
        PAIR_METRICS.into_iter().filter(|metric| self.has(metric.name)).collect()
    }

    fn has(&self, metric: &str) -> bool {
        match metric {
            "psnr" => self.psnr.is_some(),
            "ssim" => self.ssim.is_some(),
            _ => false,
        }
    }

    /// The same with the table of one metric only.
    fn only(&self, metric: &str) -> Self {
        Self {
            schema: self.schema,
            psnr: self.psnr.filter(|_| metric == "psnr"),
            ssim: self.ssim.filter(|_| metric == "ssim"),
        }
    }
}

impl PairProtocol {
    /// The names of those that are built in, sorted.
    pub fn names() -> impl Iterator<Item = &'static str> {
        PAIR_PROTOCOLS.iter().map(|(name, _)| *name)
    }

    /// Whether an argument means a protocol of pairs: a built-in one by its name or that of its tool, or the path of a
    /// `.toml` file without pixel steps. A file that cannot be read means none; reading it as a protocol says why.
    #[must_use]
    pub fn is_meant(name_or_path: &str) -> bool {
        if !name_or_path.ends_with(".toml") {
            return Self::named(name_or_path).is_ok();
        }
        let text = bounded::read_text(name_or_path.as_ref(), MAX_PROTOCOL_BYTES);
        let table = text.ok().and_then(|text| text.parse::<toml::Table>().ok());
        table.is_some_and(|table| !table.contains_key("pixels"))
    }

    /// The built-in protocol called `name`, by its own name or that of a tool.
    ///
    /// # Errors
    /// An unknown name, with those that are known.
    pub fn named(name: &str) -> Result<Self, MeasureError> {
        let mut built_in = PAIR_PROTOCOLS.iter().map(|(known, text)| Self::parse(known, text));
        let is_it = |read: &Self| read.name == name || read.alias() == Some(name);
        built_in.find(|read| read.as_ref().is_ok_and(is_it)).unwrap_or_else(|| {
            let known = known_names(name, Self::names());
            Err(MeasureError::UnknownProtocol { found: name.to_owned(), known })
        })
    }

    /// The protocol that an argument means: the path of a `.toml` file, or a name.
    ///
    /// # Errors
    /// An unknown name, with those that are known; a file that is no protocol of pairs.
    pub fn find(name_or_path: &str) -> Result<Self, MeasureError> {
        if !name_or_path.ends_with(".toml") {
            return Self::named(name_or_path);
        }
        Self::parse(name_or_path, &bounded::read_text(name_or_path.as_ref(), MAX_PROTOCOL_BYTES)?)
    }

    /// Reads the text of a protocol's file, which messages call `place`.
    ///
    /// # Errors
    /// A text that is no TOML, unknown keys, impossible settings, a protocol without a metric.
    pub fn parse(place: &str, text: &str) -> Result<Self, MeasureError> {
        let fault = |reason: String| MeasureError::Protocol { place: place.to_owned(), reason };
        let Wire { schema, name, about, tool, alias, source, cite, psnr, ssim } =
            toml::from_str(text).map_err(|error| fault(joined_lines(&error.to_string(), " ")))?;
        if schema != SCHEMA {
            return Err(fault(format!("schema {schema}, this program reads {SCHEMA}")));
        }
        if name.is_empty() || name.contains(|c: char| c.is_whitespace() || c == '@') {
            return Err(fault(format!("the name `{name}`; a name has no spaces and no `@`")));
        }
        if let Some(why) = ssim.and_then(SsimRule::fault) {
            return Err(fault(format!("[ssim] {why}")));
        }
        let recipe = PairRecipe { schema, psnr, ssim };
        if recipe.metrics().is_empty() {
            return Err(fault("no metric of pairs has a table, such as [psnr]".to_owned()));
        }
        Ok(Self { name, about, tool, alias, source, cite, recipe })
    }

    /// The JSON Schema (draft 2020-12) of such a file.
    #[must_use]
    pub fn schema() -> serde_json::Value {
        schema_of::<Wire>("a protocol of pairs of specimen")
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it is, in prose.
    #[must_use]
    pub fn about(&self) -> &str {
        &self.about
    }

    /// The tool whose values it agrees with.
    #[must_use]
    pub fn tool(&self) -> Option<&str> {
        self.tool.as_deref()
    }

    /// The tool's name, by which [`PairProtocol::named`] finds it too.
    #[must_use]
    pub fn alias(&self) -> Option<&str> {
        self.alias.as_deref()
    }

    /// Where its facts come from.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Keys of the works to cite, in the catalog of citations.
    #[must_use]
    pub fn cite(&self) -> &[String] {
        &self.cite
    }

    /// The tables of its metrics.
    #[must_use]
    pub fn recipe(&self) -> &PairRecipe {
        &self.recipe
    }

    /// `NAME@DIGEST12` of what a value of `metric` depends on.
    #[must_use]
    pub fn label(&self, metric: &str) -> String {
        short_label(&self.name, &self.recipe.only(metric))
    }

    /// The metric called `name`.
    ///
    /// # Errors
    /// No metric of pairs of this name; one that the protocol does not define.
    pub fn metric(&self, name: &str) -> Result<&'static PairMetric, MeasureError> {
        pair_metric(name).filter(|metric| self.recipe.has(metric.name)).ok_or_else(|| {
            let defines = |known: &&str| Self::named(known).is_ok_and(|known| known.recipe.has(name));
            MeasureError::NoRule {
                protocol: self.name.clone(),
                metric: name.to_owned(),
                known: Self::names().filter(defines).collect::<Vec<_>>().join(", "),
            }
        })
    }
}
