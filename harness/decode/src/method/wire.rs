//! The text form of a drafter: one flat table whose keys depend on its `shape`.
//!
//! `{ proposer = "none" }`, `{ proposer = "eagle1", shape = "chain", depth = 3 }`,
//! `{ …, shape = "static", tree = "tiny_13" }`, `{ …, shape = "dynamic", top_k = 10, depth = 4, total_token = 59 }`;
//! proposer `model` also has `model`, EAGLE proposers may have `weights`; proposer `jacobi` has no shape but `window`, `init` and their company. Keys that do not belong to the shape are errors, not ignored.

use serde::{Deserialize, Deserializer, Serialize};

use super::{DrafterConfig, MethodError, Proposer, RuleConfig, Shape, Tree, lossless_only};
use crate::{
    features::FeaturesConfig,
    methods::{
        scd::Couple,
        sjd::{Init, InitKind, JacobiConfig},
        sjd_pac::Branch,
        sjd_vp::Refresh,
    },
};

/// A drafter table before its keys were checked against its shape.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WireDrafter {
    proposer: Proposer,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    weights: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    shape: Option<WireShape>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    depth: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tree: Option<Tree>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    top_k: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    total_token: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    window: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    init: Option<InitKind>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    width: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    active: Option<[usize; 2]>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    refresh: Option<Refresh>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    couple: Option<Couple>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    branch: Option<Branch>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    filter_top_k: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    features: Option<FeaturesConfig>,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum WireShape {
    Chain,
    Static,
    Dynamic,
}

impl WireShape {
    fn as_written(self) -> String {
        let name = match self {
            Self::Chain => "chain",
            Self::Static => "static",
            Self::Dynamic => "dynamic",
        };
        format!("shape = \"{name}\"")
    }
}

impl TryFrom<WireDrafter> for DrafterConfig {
    type Error = MethodError;

    fn try_from(mut wire: WireDrafter) -> Result<Self, MethodError> {
        let of = wire.shape.map_or_else(|| wire.proposer.as_written(), WireShape::as_written);
        let shape = match wire.shape {
            None => None,
            Some(WireShape::Chain) => Some(Shape::Chain { depth: needed(&of, "depth", wire.depth.take())? }),
            Some(WireShape::Static) => Some(Shape::Static { tree: needed(&of, "tree", wire.tree.take())? }),
            Some(WireShape::Dynamic) => Some(Shape::Dynamic {
                top_k: needed(&of, "top_k", wire.top_k.take())?,
                depth: needed(&of, "depth", wire.depth.take())?,
                total_token: needed(&of, "total_token", wire.total_token.take())?,
            }),
        };
        let jacobi = match wire.proposer {
            Proposer::Jacobi => Some(wire.take_jacobi(&of)?),
            _ => None,
        };
        let WireDrafter { proposer, ref model, ref weights, filter_top_k, ref features, .. } = wire;
        let (model, weights, features) = (model.clone(), weights.clone(), features.clone());
        let config = Self { proposer, shape, model, weights, jacobi, filter_top_k, features };
        // A proposer without its shape is the cause of keys out of place, so it is reported first.
        config.validate()?;
        let left = [
            ("depth", wire.depth.is_some()),
            ("tree", wire.tree.is_some()),
            ("top_k", wire.top_k.is_some()),
            ("total_token", wire.total_token.is_some()),
            ("window", wire.window.is_some()),
            ("init", wire.init.is_some()),
            ("width", wire.width.is_some()),
            ("active", wire.active.is_some()),
            ("refresh", wire.refresh.is_some()),
            ("couple", wire.couple.is_some()),
            ("branch", wire.branch.is_some()),
        ];
        match left.into_iter().find(|&(_, is_left)| is_left) {
            Some((key, _)) => Err(crate::method::error::misplaced_key(of, key)),
            None => Ok(config),
        }
    }
}

impl WireDrafter {
    fn take_jacobi(&mut self, of: &str) -> Result<JacobiConfig, MethodError> {
        let window = needed(of, "window", self.window.take())?;
        let init = match needed(of, "init", self.init.take())? {
            InitKind::Random => Init::Random,
            InitKind::RepeatLeft => Init::RepeatLeft,
            InitKind::RepeatAbove => {
                let width = needed("init = \"repeat-above\"", "width", self.width.take())?;
                Init::RepeatAbove { width }
            }
        };
        let refresh = self.refresh.take().unwrap_or(Refresh::Plain {});
        let couple = self.couple.take().unwrap_or_default();
        let (active, branch) = (self.active.take(), self.branch.take());
        Ok(JacobiConfig { window, init, active, refresh, couple, branch })
    }

    /// The table of a proposer alone.
    fn bare(proposer: Proposer, model: Option<String>) -> Self {
        Self {
            proposer,
            model,
            weights: None,
            shape: None,
            depth: None,
            tree: None,
            top_k: None,
            total_token: None,
            window: None,
            init: None,
            width: None,
            active: None,
            refresh: None,
            couple: None,
            branch: None,
            filter_top_k: None,
            features: None,
        }
    }

    fn with_jacobi(self, jacobi: JacobiConfig) -> Self {
        let JacobiConfig { window, init, active, refresh, couple, branch } = jacobi;
        let (init, width) = match init {
            Init::Random => (InitKind::Random, None),
            Init::RepeatLeft => (InitKind::RepeatLeft, None),
            Init::RepeatAbove { width } => (InitKind::RepeatAbove, Some(width)),
        };
        let refresh = (refresh != Refresh::Plain {}).then_some(refresh);
        let couple = (couple != Couple::Independent).then_some(couple);
        Self { window: Some(window), init: Some(init), width, active, refresh, couple, branch, ..self }
    }
}

impl From<DrafterConfig> for WireDrafter {
    fn from(config: DrafterConfig) -> Self {
        let DrafterConfig { proposer, shape, model, weights, jacobi, filter_top_k, features } = config;
        let bare = Self { weights, filter_top_k, features, ..Self::bare(proposer, model) };
        let bare = match jacobi {
            Some(jacobi) => bare.with_jacobi(jacobi),
            None => bare,
        };
        match shape {
            None => bare,
            Some(Shape::Chain { depth }) => {
                Self { shape: Some(WireShape::Chain), depth: Some(depth), ..bare }
            }
            Some(Shape::Static { tree }) => Self { shape: Some(WireShape::Static), tree: Some(tree), ..bare },
            Some(Shape::Dynamic { top_k, depth, total_token }) => Self {
                shape: Some(WireShape::Dynamic),
                top_k: Some(top_k),
                depth: Some(depth),
                total_token: Some(total_token),
                ..bare
            },
        }
    }
}

fn needed<T>(of: &str, key: &'static str, value: Option<T>) -> Result<T, MethodError> {
    value.ok_or_else(|| crate::method::error::missing_key(of, key))
}

/// Reads `accept`, so that an empty list and an absent one are written back as what they mean.
pub(crate) fn accept<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<RuleConfig>, D::Error> {
    let rules = Vec::<RuleConfig>::deserialize(deserializer)?;
    Ok(if rules.is_empty() { lossless_only() } else { rules })
}
