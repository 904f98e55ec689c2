//! A protocol: everything a metric's value depends on besides the pictures, as data with a name and a digest.
//!
//! Its file pins the pixel steps, the network with layer and element type, and a table for each metric it defines.
//! The digest of a metric is BLAKE3 of the canonical JSON of pixels, network and that metric's table (not of name and
//! prose), so two names with one recipe have one digest; `NAME@DIGEST12` is printed with every value.
//!
//! `pillow = "12"` in a file says whose order of passes its resizes have where they follow Pillow. The steps themselves
//! say it too, so the line is in no digest, and neither are `cite` and `known-pixels`, by which `doctor` tests the steps. `NAME+pillow-13` is a built-in protocol with the order of Pillow 13.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use specimen_catalog::PROTOCOLS;
use specimen_foundation::{failure, names::known_names};
use specimen_pixels::{Pipeline, resample::PassOrder};

use crate::error::MeasureError;
use crate::metrics::{METRICS, Metric, metric, with_tables};
use crate::metrics::{
    clip_score::ClipScoreRule,
    fid::FidRule,
    inception_score::InceptionScoreRule,
    kid::KidRule,
    preference::{PreferenceRule, rule_of},
};
use crate::network::{Dtype, NetworkRule};
use crate::protocol_head::{Head, fault_at, read, read_file, schema_of};

/// What the name of a built-in protocol ends in when its resizes have the order of passes of Pillow 13.
const PILLOW_13: &str = "+pillow-13";
/// Hexadecimal digits of a digest that are printed.
const DIGEST_DIGITS: usize = 12;

/// A protocol.
// Invariant: every picture leaves the steps with one size; at least one metric has its table.
#[derive(Clone, Debug, PartialEq)]
pub struct Protocol {
    head: Head,
    known_pixels: Option<String>,
    recipe: Recipe,
}

/// Settings of metrics that may be other than a protocol's; `None`: the protocol's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MetricSettings {
    /// Rows of a subset of KID.
    pub subset_size: Option<usize>,
    /// Subsets of KID.
    pub n_subsets: Option<usize>,
    /// Which neighbour a ball of precision and recall reaches.
    pub k: Option<usize>,
    /// Seed of the subsets of KID and of the shuffle of the Inception Score.
    pub seed: Option<u32>,
}

/// A line of versions of Pillow, as a protocol's file names it.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
enum Pillow {
    /// Up to 12.3.
    #[serde(rename = "12")]
    Twelve,
    /// From 13.0 on.
    #[serde(rename = "13")]
    Thirteen,
}

impl Pillow {
    fn order(self) -> PassOrder {
        match self {
            Self::Twelve => PassOrder::Pillow12,
            Self::Thirteen => PassOrder::Pillow13,
        }
    }
}

/// Defines what a protocol's file holds and what its digest covers, with every table of [`with_tables`].
macro_rules! define_recipe {
    ($($(#[$doc:meta])* $name:literal => $table:ident: $rule:ty,)*) => {
        /// What the digest covers.
        #[derive(Clone, Debug, PartialEq, Serialize)]
        #[serde(rename_all = "kebab-case")]
        pub struct Recipe {
            schema: u32,
            /// From a decoded picture to what the network sees.
            pub pixels: Pipeline,
            /// What makes features of that.
            pub network: NetworkRule,
            $(
                $(#[$doc])*
                #[serde(rename = $name, skip_serializing_if = "Option::is_none")]
                pub $table: Option<$rule>,
            )*
        }

        /// A protocol's file.
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
            pillow: Option<Pillow>,
            known_pixels: Option<String>,
            pixels: Pipeline,
            network: NetworkRule,
            $(#[serde(rename = $name)] $table: Option<$rule>,)*
        }

        impl Wire {
            fn head(&self) -> Head {
                let Self { name, about, tool, alias, source, cite, .. } = self;
                let (name, about, source, cite) = (name.clone(), about.clone(), source.clone(), cite.clone());
                Head { name, about, tool: tool.clone(), alias: alias.clone(), source, cite }
            }

            /// Everything but name and prose.
            fn into_recipe(self) -> Recipe {
                let Self { schema, pixels, network, $($table,)* .. } = self;
                Recipe { schema, pixels, network, $($table,)* }
            }
        }

        impl Recipe {
            /// Whether it has the table called `name`.
            fn has(&self, name: &str) -> bool {
                match name {
                    $($name => self.$table.is_some(),)*
                    _ => false,
                }
            }

            /// The same with the table called `name` only.
            fn with_table_only(mut self, name: &str) -> Self {
                $(if name != $name { self.$table = None; })*
                self
            }
        }
    };
}
with_tables!(define_recipe);

impl Protocol {
    /// The names of the protocols that are built in, sorted.
    pub fn names() -> impl Iterator<Item = &'static str> {
        PROTOCOLS.iter().map(|(name, _)| *name)
    }

    /// The built-in protocol called `name`, by its own name or that of a tool, or `NAME+pillow-13`
    /// of one that resizes with Pillow.
    pub fn named(name: &str) -> Result<Self, MeasureError> {
        if let Some(plain) = name.strip_suffix(PILLOW_13) {
            return Self::named(plain)?.with_pillow_13();
        }
        if let Some((_, text)) = PROTOCOLS.iter().find(|(known, _)| *known == name) {
            return Self::parse(name, text);
        }
        let mut built_in = PROTOCOLS.iter().map(|(known, text)| Self::parse(known, text));
        let aliased = built_in.find(|read| read.as_ref().is_ok_and(|read| read.head.is_called(name)));
        aliased.unwrap_or_else(|| {
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
        let fault = fault_at(place);
        let wire: Wire = read(place, text)?;
        let head = wire.head().checked(wire.schema).map_err(&fault)?;
        let (pillow, known_pixels) = (wire.pillow, wire.known_pixels.clone());
        let recipe = wire.into_recipe();
        let Recipe { ref pixels, ref network, ref fid, .. } = recipe;
        if pixels.output_size().is_none() {
            let remedy = "end them with a square `resize` or a `centre-crop` of fixed size";
            return Err(fault(format!("the pixel steps leave pictures of various sizes; {remedy}")));
        }
        if let Some(pillow) = pillow
            && pixels.pass_orders().any(|order| order != pillow.order())
        {
            let remedy = "give each of its resizes by Pillow the same `passes`";
            return Err(fault(format!("`pillow` and the steps name different versions of Pillow; {remedy}")));
        }
        if network.dtype == Dtype::F16 {
            let why = "no reference tool computes in f16, write f32 or bf16";
            return Err(fault(format!("[network] dtype = \"f16\"; {why}")));
        }
        if let Some(FidRule { ddof }) = fid.filter(|rule| rule.ddof != 1) {
            return Err(fault(format!(
                "[fid] ddof = {ddof}; covariances are divided by n - 1 here, write 1"
            )));
        }
        if let Some(rule) = recipe.imagereward.as_ref().filter(|rule| !(2..=512).contains(&rule.n_tokens)) {
            return Err(fault(format!(
                "[imagereward] n-tokens = {}; a prompt has a first and a last token and at most 512, write 35",
                rule.n_tokens
            )));
        }
        if recipe.metrics().is_empty() {
            return Err(fault("no metric has a table, such as [fid]".to_owned()));
        }
        Ok(Self { head, known_pixels, recipe })
    }

    /// Its name and what it says of itself.
    pub fn head(&self) -> &Head {
        &self.head
    }

    /// The JSON Schema (draft 2020-12) of such a file, by which editors complete keys and mark misspelt ones.
    pub fn schema() -> serde_json::Value {
        schema_of::<Wire>("a protocol of specimen")
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.head.name
    }

    /// Beginning of the BLAKE3 of what its steps make of the picture of the known answers, as computed where this program was
    /// tested against the reference tools; every built-in protocol has it.
    pub fn known_pixels(&self) -> Option<&str> {
        self.known_pixels.as_deref()
    }

    /// Everything that a value depends on.
    pub fn recipe(&self) -> &Recipe {
        &self.recipe
    }

    /// BLAKE3 of the recipe's canonical JSON.
    pub fn digest(&self) -> [u8; 32] {
        digest_of(&self.recipe)
    }

    /// The same with the order of resize passes of Pillow 13; another recipe, and the name says so. Fails where no step
    /// resizes as Pillow does.
    fn with_pillow_13(mut self) -> Result<Self, MeasureError> {
        if self.recipe.pixels.pass_orders().next().is_none() {
            let reason = "none of its steps resizes with Pillow, so it is the same under every version; \
                          leave `+pillow-13` out";
            return Err(crate::error::protocol(self.head.name, reason));
        }
        self.known_pixels = None;
        self.recipe.pixels = self.recipe.pixels.with_pass_order(PassOrder::Pillow13);
        self.head.name.push_str(PILLOW_13);
        Ok(self)
    }

    /// The same, its network computing in `dtype`; another recipe, and the name says so.
    pub fn with_dtype(mut self, dtype: Dtype) -> Self {
        if self.recipe.network.dtype != dtype {
            self.recipe.network.dtype = dtype;
            self.head.name = format!("{}+{}", self.head.name, dtype.name());
        }
        self
    }

    /// The same on another layer of its network for `metric`; another recipe, and the name says so. For `is` that is the
    /// layer of its logits, for all others the layer of the features.
    pub fn with_layer(mut self, layer: &str, metric: &str) -> Self {
        let of_metric = match &mut self.recipe.is {
            Some(is) if metric == "is" => &mut is.layer,
            _ => &mut self.recipe.network.layer,
        };
        if of_metric != layer {
            layer.clone_into(of_metric);
            self.head.name = format!("{}+{layer}", self.head.name);
        }
        self
    }

    /// The same with other settings of its metrics, in the tables that it has; each that differs makes another
    /// recipe, and the name says so.
    pub fn with_settings(mut self, settings: &MetricSettings) -> Result<Self, MeasureError> {
        let MetricSettings { subset_size, n_subsets, k, seed } = *settings;
        let mut said = Vec::new();
        let mut is_seed_taken = false;
        let refuse = |why: String| Err(failure!(Usage: "the protocol `{}`: {why}", self.head.name).into());
        let mut change = |place: &mut usize, name: &str, value: Option<usize>| {
            let Some(value) = value.filter(|value| value != place) else { return };
            *place = value;
            said.push(format!("{name}-{value}"));
        };
        if let Some(KidRule::Subsets { subset_size: size, n_subsets: n, .. }) = &mut self.recipe.kid {
            change(size, "subset-size", subset_size);
            change(n, "subsets", n_subsets);
        } else if subset_size.or(n_subsets).is_some() {
            return refuse(
                "its KID is over all pairs of rows and has no subsets; take `tf1` or `clean`".into(),
            );
        }
        match &mut self.recipe.prdc {
            Some(rule) => change(&mut rule.k, "k", k),
            None if k.is_some() => return refuse("it has no table `[prdc]`, which `-k` is of".into()),
            None => {}
        }
        let mut seeds: Vec<&mut u32> = Vec::new();
        if let Some(KidRule::Subsets { seed, .. }) = &mut self.recipe.kid {
            seeds.push(seed);
        }
        if let Some(InceptionScoreRule { shuffle_seed: Some(seed), .. }) = &mut self.recipe.is {
            seeds.push(seed);
        }
        if let Some(wanted) = seed {
            let mut is_changed = false;
            for seed in seeds {
                is_seed_taken = true;
                is_changed |= *seed != wanted;
                *seed = wanted;
            }
            if !is_seed_taken {
                return refuse("none of its metrics draws anything, so it has no seed".into());
            }
            if is_changed {
                said.push(format!("seed-{wanted}"));
            }
        }
        if let Some(rule) = &self.recipe.kid
            && let Err(error) = rule.subsets()
        {
            return refuse(error.to_string());
        }
        if self.recipe.prdc.is_some_and(|rule| rule.k == 0) {
            return refuse("-k 0; the nearest neighbour is the first".into());
        }
        for one in said {
            self.head.name = format!("{}+{one}", self.head.name);
        }
        Ok(self)
    }

    /// `NAME@DIGEST12` of what a value of `metric` depends on: pixel steps, network, and that metric's table alone, so
    /// that two protocols that agree in these have one digest. A name without a table is that of features alone.
    pub fn label(&self, metric: &str) -> String {
        short_label(&self.head.name, &self.recipe.clone().only(metric))
    }

    /// BLAKE3 of the canonical JSON of what a value of `metric` depends on.
    pub fn digest_of(&self, metric: &str) -> [u8; 32] {
        digest_of(&self.recipe.clone().only(metric))
    }

    /// The rule that `of` picks, which is that of `metric`. Fails where the protocol has none.
    pub(crate) fn rule<'r, R>(
        &'r self,
        metric: &'static str,
        of: impl Fn(&'r Recipe) -> Option<&'r R>,
    ) -> Result<&'r R, MeasureError> {
        of(&self.recipe).ok_or_else(|| self.no_rule(metric))
    }

    /// The metric called `name`.
    pub fn metric(&self, name: &str) -> Result<&'static Metric, MeasureError> {
        let found = metric(name).filter(|metric| self.recipe.has(metric.table));
        found.ok_or_else(|| self.no_rule(name))
    }

    fn no_rule(&self, metric: &str) -> MeasureError {
        let table = self::metric(metric).map_or(metric, |metric| metric.table);
        let defines =
            |name: &str, text: &str| Self::parse(name, text).is_ok_and(|known| known.recipe.has(table));
        let known = PROTOCOLS.iter().filter(|(name, text)| defines(name, text)).map(|(name, _)| *name);
        let known: Vec<&str> = known.collect();
        crate::error::no_rule(self.head.name.clone(), metric, known.join(", "))
    }
}

impl Recipe {
    /// The metrics that have a table of their own, in the order of [`METRICS`].
    pub fn metrics(&self) -> Vec<&'static Metric> {
        METRICS.into_iter().filter(|metric| metric.has_own_table() && self.has(metric.table)).collect()
    }

    /// Name of what is fetched for its metrics: the head where it has one, which needs the network, else the network.
    pub fn fetched(&self) -> &str {
        self.aesthetic.as_ref().map_or(&self.network.name, |rule| &rule.head)
    }

    /// How `metric` prepares texts; `None` of one that takes none.
    pub(crate) fn texts_of(&self, metric: &str) -> Option<ClipScoreRule> {
        match metric {
            "clip-score" => self.clip_score.clone(),
            _ => rule_of(self, metric).map(PreferenceRule::texts),
        }
    }

    /// The layer whose features `metric` takes.
    pub(crate) fn layer_of(&self, metric: &str) -> &str {
        match &self.is {
            Some(is) if metric == "is" => &is.layer,
            _ => &self.network.layer,
        }
    }

    /// The recipe of the table of one metric: without the tables of the others, and with the layer that the metric takes.
    fn only(mut self, table: &str) -> Self {
        self.network.layer = self.layer_of(table).to_owned();
        self.with_table_only(table)
    }

    /// BLAKE3 of the pixel steps' canonical JSON.
    pub(crate) fn pixels_digest(&self) -> [u8; 32] {
        blake3::hash(&serde_json::to_vec(&self.pixels).expect("steps are plain data")).into()
    }
}

/// BLAKE3 of a recipe's canonical JSON.
fn digest_of(recipe: &impl Serialize) -> [u8; 32] {
    blake3::hash(&serde_json::to_vec(recipe).expect("a recipe is plain data")).into()
}

/// `NAME@DIGEST12` of a recipe.
pub(crate) fn short_label(name: &str, recipe: &impl Serialize) -> String {
    let digest = blake3::Hash::from_bytes(digest_of(recipe)).to_hex();
    format!("{name}@{}", &digest[..DIGEST_DIGITS])
}

/// `NAME@DIGEST12` of the whole file, all metrics together.
impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&short_label(&self.head.name, &self.recipe))
    }
}
