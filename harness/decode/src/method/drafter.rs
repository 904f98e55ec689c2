//! The drafter axis of a configuration: who proposes, and in which shape.

use serde::{Deserialize, Serialize};

use super::MethodError;
use crate::{
    features::FeaturesConfig,
    methods::{eagle1::StaticTree, sjd::JacobiConfig},
    trees::{NAMED_TREES, named_tree},
};

/// What proposes tokens, and in which shape.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "super::wire::WireDrafter", into = "super::wire::WireDrafter")]
pub struct DrafterConfig {
    /// The network that proposes.
    pub proposer: Proposer,
    /// How its proposals are arranged; `None` exactly for [`Proposer::None`] and [`Proposer::Jacobi`].
    pub shape: Option<Shape>,
    /// Which weights to load; present exactly for [`Proposer::Model`].
    pub model: Option<String>,
    /// Which of the target's heads of this kind; `None`: its standard one. For EAGLE heads only.
    pub weights: Option<String>,
    /// The window; present exactly for [`Proposer::Jacobi`].
    pub jacobi: Option<JacobiConfig>,
    /// Tokens that the drafter's distributions keep, at least 1; `None`: as many as the sampling keeps. For networks only.
    pub filter_top_k: Option<usize>,
    /// Staleness of the features an EAGLE head continues from; `None`: fresh wherever there are fresh ones.
    pub features: Option<FeaturesConfig>,
}

/// The network that proposes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Proposer {
    /// Nothing: autoregressive decoding.
    None,
    /// An EAGLE-1 head over the target's features.
    Eagle1,
    /// An EAGLE-3 head over features of three inner layers; its trees are those of EAGLE-1 and EAGLE-2.
    Eagle3,
    /// The target's own last iteration.
    Jacobi,
    /// Another autoregressive model.
    Model,
}

/// How proposals are arranged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shape {
    /// One sampled token after the other.
    Chain {
        /// Tokens drafted a step (`K`, also gamma), in `1..=64`.
        depth: usize,
    },
    /// A tree of fixed fan-outs, sampled without replacement.
    Static {
        /// The tree, by name or as index paths.
        tree: Tree,
    },
    /// A tree of the most probable tokens.
    Dynamic {
        /// Proposals per node and nodes run per level, in `1..=256`.
        top_k: usize,
        /// Draft forwards after the first, in `1..=32`.
        depth: usize,
        /// Nodes kept, root included, in `2..=1024`.
        total_token: usize,
    },
}

/// A static shape as the spec gives it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, expecting = "a tree is a name (\"mc_sim_7b_63\") or a list of index paths ([[0], [0, 0]])")]
pub enum Tree {
    /// One of [`NAMED_TREES`].
    Named(String),
    /// Index paths; the root is implied.
    Listed(Vec<Vec<usize>>),
}

/// Keys a `drafter` table may have.
pub const DRAFTER_KEYS: &[&str] = &[
    "proposer",
    "shape",
    "model",
    "weights",
    "depth",
    "tree",
    "top_k",
    "total_token",
    "window",
    "init",
    "width",
    "active",
    "refresh",
    "couple",
    "branch",
    "features",
    "filter_top_k",
];

impl DrafterConfig {
    /// Proposer and weights of the head that drafts, as specs and manifests write them; `None` where no head does.
    #[must_use]
    pub fn head(&self) -> Option<(&'static str, Option<&str>)> {
        let proposer = match self.proposer {
            Proposer::Eagle1 => "eagle1",
            Proposer::Eagle3 => "eagle3",
            Proposer::None | Proposer::Jacobi | Proposer::Model => return None,
        };
        Some((proposer, self.weights.as_deref()))
    }

    /// The drafter of autoregressive decoding, which proposes nothing.
    #[must_use]
    pub fn none() -> Self {
        Self {
            proposer: Proposer::None,
            shape: None,
            model: None,
            weights: None,
            jacobi: None,
            filter_top_k: None,
            features: None,
        }
    }

    /// Whether each token that it proposes follows the one before it.
    pub(super) fn is_chain(&self) -> bool {
        let has_branch = self.jacobi.as_ref().is_some_and(|window| window.branch.is_some());
        matches!(self.shape, None | Some(Shape::Chain { .. })) && !has_branch
    }

    /// Guesses of a Jacobi window; 0 for every other proposer.
    pub(super) fn n_guesses(&self) -> usize {
        self.jacobi.as_ref().map_or(0, |jacobi| jacobi.window - 1)
    }

    pub(super) fn validate(&self) -> Result<(), MethodError> {
        let of = || self.proposer.as_written();
        match (self.proposer, &self.shape) {
            (Proposer::None | Proposer::Jacobi, Some(_)) => {
                return Err(crate::method::error::misplaced_key(of(), "shape"));
            }
            (Proposer::Eagle1 | Proposer::Eagle3 | Proposer::Model, None) => {
                return Err(crate::method::error::missing_key(of(), "shape"));
            }
            (_, shape) => shape.iter().try_for_each(Shape::validate)?,
        }
        match (self.proposer, &self.jacobi) {
            (Proposer::Jacobi, None) => {
                return Err(crate::method::error::missing_key(of(), "window"));
            }
            (Proposer::Jacobi, Some(jacobi)) => jacobi.validate()?,
            (_, Some(_)) => return Err(crate::method::error::misplaced_key(of(), "window")),
            (_, None) => {}
        }
        match (self.proposer, &self.features) {
            (_, None) => {}
            (Proposer::Eagle1 | Proposer::Eagle3, Some(features)) => features.validate()?,
            (_, Some(_)) => return Err(crate::method::error::misplaced_key(of(), "features")),
        }
        match (self.proposer, self.filter_top_k) {
            (_, None) => {}
            (Proposer::None | Proposer::Jacobi, Some(_)) => {
                return Err(crate::method::error::misplaced_key(of(), "filter_top_k"));
            }
            (_, Some(k)) => MethodError::check_range("filter_top_k", 1..=1 << 20, k)?,
        }
        match (self.proposer, &self.weights) {
            (_, None) | (Proposer::Eagle1 | Proposer::Eagle3, Some(_)) => {}
            (_, Some(_)) => return Err(crate::method::error::misplaced_key(of(), "weights")),
        }
        match (self.proposer, &self.model) {
            (Proposer::Model, None) => Err(crate::method::error::missing_key(of(), "model")),
            (Proposer::Model, Some(_)) | (_, None) => Ok(()),
            (_, Some(_)) => Err(crate::method::error::misplaced_key(of(), "model")),
        }
    }

    pub(super) fn canonical(&self) -> String {
        let proposer = match (self.proposer, &self.model) {
            (Proposer::None, _) => "none".to_owned(),
            (Proposer::Eagle1, _) => "eagle1".to_owned(),
            (Proposer::Eagle3, _) => "eagle3".to_owned(),
            (Proposer::Jacobi, _) => self.jacobi.as_ref().map(JacobiConfig::canonical).unwrap_or_default(),
            (Proposer::Model, model) => format!("model({})", model.as_deref().unwrap_or_default()),
        };
        let proposer = match &self.weights {
            None => proposer,
            Some(weights) => format!("{proposer}(weights={weights})"),
        };
        let proposer = match self.filter_top_k {
            None => proposer,
            Some(k) => format!("{proposer}(filter_top_k={k})"),
        };
        let shape = match &self.shape {
            None => return proposer,
            Some(Shape::Chain { depth }) => format!("chain(depth={depth})"),
            Some(Shape::Static { tree: Tree::Named(name) }) => format!("static(tree={name})"),
            Some(Shape::Static { tree: Tree::Listed(paths) }) => {
                format!("static(tree={})", format!("{paths:?}").replace(' ', ""))
            }
            Some(Shape::Dynamic { top_k, depth, total_token }) => {
                format!("dynamic(top_k={top_k},depth={depth},total_token={total_token})")
            }
        };
        match &self.features {
            None => format!("{proposer}/{shape}"),
            Some(features) => format!("{proposer}/{shape}/{}", features.canonical()),
        }
    }
}

impl Proposer {
    /// As a spec writes it, for messages.
    pub(super) fn as_written(self) -> String {
        let name = match self {
            Self::None => "none",
            Self::Eagle1 => "eagle1",
            Self::Eagle3 => "eagle3",
            Self::Jacobi => "jacobi",
            Self::Model => "model",
        };
        format!("proposer = \"{name}\"")
    }
}

impl Shape {
    fn validate(&self) -> Result<(), MethodError> {
        match self {
            &Self::Chain { depth } => MethodError::check_range("depth", 1..=64, depth),
            Self::Static { tree } => tree.resolve().map(|_| ()),
            &Self::Dynamic { top_k, depth, total_token } => {
                MethodError::check_range("top_k", 1..=256, top_k)?;
                MethodError::check_range("depth", 1..=32, depth)?;
                MethodError::check_range("total_token", 2..=1024, total_token)
            }
        }
    }
}

impl Tree {
    /// The shape it names or lists.
    ///
    /// # Errors
    /// If the name is unknown, or the list is no tree.
    pub fn resolve(&self) -> Result<StaticTree, MethodError> {
        let paths = match self {
            Self::Listed(paths) => paths.clone(),
            Self::Named(name) => named_tree(name).ok_or_else(|| {
                let known: Vec<&str> = NAMED_TREES.iter().map(|tree| tree.name).collect();
                MethodError(format!("no tree is called `{name}`; known are {}", known.join(", ")))
            })?,
        };
        StaticTree::from_paths(&paths)
    }
}
