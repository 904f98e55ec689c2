//! What a model that draws images is, known without opening it.

use serde::{Deserialize, de::DeserializeOwned};

/// The code that runs a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Family {
    /// The embedded text-to-image model of the scenes.
    Tiny,
    /// Noise from a seed, for tests of the harness.
    Stub,
    /// Image-GPT over grey levels.
    Igpt,
    /// LlamaGen, of classes or of captions.
    Llamagen,
    /// Janus-Pro.
    Janus,
    /// Chameleon, Lumina-mGPT and Anole.
    Chameleon,
    /// Emu3-Gen.
    Emu3,
    /// Liquid.
    Liquid,
}

/// What a model can lend a method.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ability {
    /// Tokens have neighbours (LANTERN).
    Neighbours,
    /// There is a VQ codebook (path similarity of VVS).
    Codebook,
    /// There are input embeddings (distance filter of GSD).
    Embeddings,
    /// Tokens can be taken without a forward, and heads continue from older features (VVS).
    FeatureReuse,
    /// Guidance can have a third row (Anole).
    ThreeWayGuidance,
}

/// A model that draws images.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// The code that runs it.
    pub family: Family,
    /// Tokens of an image.
    pub n_tokens: usize,
    /// Pixels across.
    pub width: usize,
    /// Pixels down.
    pub height: usize,
    /// What it can lend a method.
    pub gives: Vec<Ability>,
    /// Models that can draft for it.
    #[serde(default)]
    pub draft_models: Vec<String>,
    /// Sizes of its network, under the names that the family gives them; empty where the files say them.
    #[serde(default)]
    sizes: toml::Table,
}

impl Target {
    /// Whether it can lend `ability`.
    pub fn gives(&self, ability: Ability) -> bool {
        self.gives.contains(&ability)
    }

    /// Classes, of a model whose prompts are the numbers of these.
    pub fn n_classes(&self) -> Option<u64> {
        let of_classes = self.sizes.get("condition")?.get("class")?;
        of_classes.get("n_classes")?.as_integer()?.try_into().ok()
    }

    /// Image tokens that it can choose from; `None` where only its files say so.
    pub fn n_vocab(&self) -> Option<usize> {
        self.sizes.get("n_vocab")?.as_integer()?.try_into().ok()
    }

    /// The sizes of its network as its family has them.
    pub fn sizes<S: DeserializeOwned>(&self) -> Result<S, toml::de::Error> {
        self.sizes.clone().try_into()
    }
}

/// A head that can draft for a model.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Head {
    /// `proposer` in specs: `eagle1` or `eagle3`.
    pub proposer: String,
    /// `weights` in specs; absent for the one that is meant where a spec names none.
    pub weights: Option<String>,
    /// The entry that says how to come by it; absent for one that is made with its model.
    pub manifest: Option<String>,
    /// Keys of the works to cite for it besides those of its kind, in `citations/`.
    #[serde(default)]
    pub cite: Vec<String>,
}

/// The `weights` of a head that has no name of its own, where others of its model have one.
pub const STANDARD: &str = "standard";

impl Head {
    /// Its name where a name is asked for.
    pub fn name(&self) -> &str {
        self.weights.as_deref().unwrap_or(STANDARD)
    }
}
