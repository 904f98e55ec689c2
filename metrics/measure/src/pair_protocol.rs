//! A protocol of the metrics that compare two pictures of one size: what such a value depends on besides the pictures, as
//! data with a name and a digest. It has no pixel steps, since the pictures are compared as they are.
//!
//! The digest of a metric is BLAKE3 of the canonical JSON of its table alone; `NAME@DIGEST12` is printed with every value.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use specimen_catalog::PAIR_PROTOCOLS;
use specimen_foundation::names::known_names;

use crate::bounded;
use crate::error::MeasureError;
use crate::metrics::{PAIR_METRICS, PairMetric, pair_metric, with_pair_tables};
use crate::protocol::short_label;
use crate::protocol_head::{Head, MAX_PROTOCOL_BYTES, fault_at, read, read_file, schema_of};

/// A protocol of metrics of pairs.
// Invariant: at least one metric has its table.
#[derive(Clone, Debug, PartialEq)]
pub struct PairProtocol {
    head: Head,
    recipe: PairRecipe,
}

/// What a table of a protocol of pairs says of itself.
pub(crate) trait PairRule {
    /// What is impossible about it.
    fn fault(&self) -> Option<String> {
        None
    }

    /// The network that compares, if there is one.
    fn network(&self) -> Option<&str> {
        None
    }
}

/// Defines what a file holds and what digests cover, with every table of [`with_pair_tables`].
macro_rules! define_pair_recipe {
    ($($(#[$doc:meta])* $name:literal => $table:ident: $rule:ty,)*) => {
        /// The tables of a protocol of pairs, of which the digest of a metric covers its own.
        #[derive(Clone, Debug, PartialEq, Serialize)]
        #[serde(rename_all = "kebab-case")]
        pub struct PairRecipe {
            schema: u32,
            $($(#[$doc])* #[serde(skip_serializing_if = "Option::is_none")] pub $table: Option<$rule>,)*
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
            $($table: Option<$rule>,)*
        }

        impl Wire {
            fn into_parts(self) -> (Head, PairRecipe) {
                let Self { schema, name, about, tool, alias, source, cite, $($table,)* } = self;
                (Head { name, about, tool, alias, source, cite }, PairRecipe { schema, $($table,)* })
            }
        }

        impl PairRecipe {
            /// The tables that it has, by name.
            fn tables(&self) -> impl Iterator<Item = (&'static str, &dyn PairRule)> {
                let all = [$(($name, self.$table.as_ref().map(|rule| rule as &dyn PairRule)),)*];
                all.into_iter().filter_map(|(name, rule)| Some((name, rule?)))
            }

            /// The same with the table of one metric only.
            fn only(&self, metric: &str) -> Self {
                Self { schema: self.schema, $($table: self.$table.clone().filter(|_| metric == $name),)* }
            }
        }
    };
}
with_pair_tables!(define_pair_recipe);

impl PairRecipe {
    /// The metrics that have a table.
    pub fn metrics(&self) -> Vec<&'static PairMetric> {
        PAIR_METRICS.into_iter().filter(|metric| self.has(metric.name)).collect()
    }

    /// The network that compares, where a metric has one.
    pub fn network(&self) -> Option<&str> {
        self.tables().find_map(|(_, rule)| rule.network())
    }

    fn has(&self, metric: &str) -> bool {
        self.tables().any(|(name, _)| name == metric)
    }
}

impl PairProtocol {
    /// The names of those that are built in, sorted.
    pub fn names() -> impl Iterator<Item = &'static str> {
        PAIR_PROTOCOLS.iter().map(|(name, _)| *name)
    }

    /// Whether an argument means a protocol of pairs: a built-in one by its name or that of its tool, or the path of a
    /// `.toml` file without pixel steps. A file that cannot be read means none; reading it as a protocol says why.
    pub fn is_meant(name_or_path: &str) -> bool {
        if !name_or_path.ends_with(".toml") {
            return Self::named(name_or_path).is_ok();
        }
        let text = bounded::read_text(name_or_path.as_ref(), MAX_PROTOCOL_BYTES);
        let table = text.ok().and_then(|text| text.parse::<toml::Table>().ok());
        table.is_some_and(|table| !table.contains_key("pixels"))
    }

    /// The built-in protocol called `name`, by its own name or that of a tool.
    pub fn named(name: &str) -> Result<Self, MeasureError> {
        let mut built_in = PAIR_PROTOCOLS.iter().map(|(known, text)| Self::parse(known, text));
        built_in.find(|read| read.as_ref().is_ok_and(|read| read.head.is_called(name))).unwrap_or_else(|| {
            let known = known_names(name, Self::names());
            Err(crate::error::unknown_protocol(name, known))
        })
    }

    /// The protocol that an argument means: the path of a `.toml` file, or a name.
    pub fn find(name_or_path: &str) -> Result<Self, MeasureError> {
        if !name_or_path.ends_with(".toml") {
            return Self::named(name_or_path);
        }
        Self::parse(name_or_path, &read_file(name_or_path, Self::names())?)
    }

    /// Reads the text of a protocol's file, which messages call `place`.
    pub fn parse(place: &str, text: &str) -> Result<Self, MeasureError> {
        let (head, recipe) = read::<Wire>(place, text)?.into_parts();
        let head = head.checked(recipe.schema).map_err(fault_at(place))?;
        let faults = recipe.tables().find_map(|(name, rule)| Some(format!("[{name}] {}", rule.fault()?)));
        if let Some(why) = faults {
            return Err(fault_at(place)(why));
        }
        if recipe.metrics().is_empty() {
            return Err(fault_at(place)("no metric of pairs has a table, such as [psnr]".to_owned()));
        }
        Ok(Self { head, recipe })
    }

    /// Its name and what it says of itself.
    pub fn head(&self) -> &Head {
        &self.head
    }

    /// The JSON Schema (draft 2020-12) of such a file.
    pub fn schema() -> serde_json::Value {
        schema_of::<Wire>("a protocol of pairs of specimen")
    }

    /// Its name.
    pub fn name(&self) -> &str {
        self.head.name()
    }

    /// The tables of its metrics.
    pub fn recipe(&self) -> &PairRecipe {
        &self.recipe
    }

    /// `NAME@DIGEST12` of what a value of `metric` depends on.
    pub fn label(&self, metric: &str) -> String {
        short_label(self.name(), &self.recipe.only(metric))
    }

    /// The metric called `name`.
    pub fn metric(&self, name: &str) -> Result<&'static PairMetric, MeasureError> {
        pair_metric(name).filter(|metric| self.recipe.has(metric.name)).ok_or_else(|| {
            let defines = |known: &&str| Self::named(known).is_ok_and(|known| known.recipe.has(name));
            crate::error::no_rule(
                self.name(),
                name,
                Self::names().filter(defines).collect::<Vec<_>>().join(", "),
            )
        })
    }
}
