//! What can go wrong between a path and a number, with the facts a person needs.

use std::{
    fmt::Display,
    path::{Path, PathBuf},
};

use specimen_foundation::{
    failure,
    failure::{Failure, FailureKind, FailureMessage},
};
use specimen_pixels::{PixelError, network::NetworkFault, step::StepError};
use specimen_stats::StatsError;

/// Why a metric could not be measured.
#[derive(Debug, thiserror::Error)]
pub enum MeasureError {
    /// A source of pictures, or one picture of it.
    #[error(transparent)]
    Pixels(#[from] PixelError),
    /// Images or prompts that a metric does not take.
    #[error("{why}")]
    DoesNotApply {
        /// Which, and what it takes.
        why: String,
    },
    /// A feature that is no number.
    #[error("{path}: row {row}, column {column} (from 0) is {value}; features are finite numbers", path = path.display())]
    NotFinite {
        /// Path of the file.
        path: PathBuf,
        /// Number of the row.
        row: usize,
        /// The feature.
        column: usize,
        /// What stands there.
        value: f32,
    },
    /// The statistic itself.
    #[error("{metric} of {of}: {source}")]
    Statistic {
        /// Name of the metric.
        metric: &'static str,
        /// The sides.
        of: String,
        /// Why.
        source: StatsError,
    },
    /// A network, or its weights.
    #[error("{}", of_network(network, source))]
    Network {
        /// Name of the network.
        network: String,
        /// Why.
        source: NetworkFault,
    },
    /// What nobody acts on.
    #[error(transparent)]
    Stated(#[from] FailureMessage),
    /// The operating system refused.
    #[error("{path}: cannot {action}: {source}", path = path.display())]
    Io {
        /// What for.
        path: PathBuf,
        /// What was tried.
        action: &'static str,
        /// The operating system's answer.
        source: std::io::Error,
    },
}

/// A network's name before what is wrong with it, which may name it first.
fn of_network(network: &str, source: &NetworkFault) -> String {
    let text = source.to_string();
    let first = text.split(':').next().unwrap_or_default();
    if first.contains(network) { text } else { format!("{network}: {text}") }
}

impl MeasureError {
    pub(crate) fn io(path: &Path, action: &'static str, source: std::io::Error) -> Self {
        Self::Io { path: path.to_path_buf(), action, source }
    }

    pub(crate) fn array(path: &Path, source: StatsError) -> Self {
        failure!(Missing: "{}: {source}", path.display()).into()
    }
}

/// Names the metric in what is wrong with it.
pub(crate) trait InMetric<T> {
    /// The same, with a name and the sides that it is of.
    fn in_metric(self, metric: &'static str, of: &[&Path]) -> Result<T, MeasureError>;
}

impl<T> InMetric<T> for Result<T, StatsError> {
    fn in_metric(self, metric: &'static str, of: &[&Path]) -> Result<T, MeasureError> {
        self.map_err(|source| {
            let of: Vec<String> = of.iter().map(|path| path.display().to_string()).collect();
            MeasureError::Statistic { metric, of: of.join(" and "), source }
        })
    }
}

/// A network says itself what kind its failure is.
impl Failure for MeasureError {
    fn kind(&self) -> Option<FailureKind> {
        Some(match self {
            Self::Stated(message) => message.kind,
            Self::Network { .. } => return None,
            Self::Io { action, .. } if *action != "read" => FailureKind::Environment,
            _ => FailureKind::Missing,
        })
    }
}

/// A protocol's file that cannot be used: its place, and what is wrong.
pub(crate) fn protocol(place: impl Display, reason: impl Display) -> MeasureError {
    failure!(Spec: "protocol {place}: {reason}").into()
}

/// Statistics where the rows behind them are needed.
pub fn needs_rows(path: &Path, metric: impl Display) -> MeasureError {
    failure!(Usage: "{}: holds the mean and covariance only, {metric} needs features; give the pictures, a \
        .npy of features, or a .npz with `feats`, or leave {metric} out", path.display())
    .into()
}

/// Tensors in a file that no metric reads.
pub fn not_converted(path: &Path) -> MeasureError {
    failure!(Usage: "{path}: metrics read features as .npy and statistics as .npz; write them by `python3 -c \
        \"import numpy, torch; c = torch.load('{path}', weights_only=False); numpy.savez('OUT.npz', \
        mu=c['mu'], sigma=c['sigma'])\"` or, of features, `numpy.save('OUT.npy', c.numpy())`",
        path = path.display())
    .into()
}

/// A picture that the protocol's steps do not fit.
pub(crate) fn step(path: &Path, source: StepError) -> MeasureError {
    failure!(Missing: "{}: {source}", path.display()).into()
}

/// Pictures where no network can be had.
pub fn no_networks(network: impl Display) -> MeasureError {
    failure!(Environment: "{network} is needed for pictures, and this build has no networks; build it with \
        the feature `torch`, or give features (.npy) or statistics (.npz)")
    .into()
}

/// Features where pictures are needed.
pub(crate) fn needs_pictures(path: &Path, metric: impl Display) -> MeasureError {
    failure!(Usage: "{}: holds features, {metric} needs pictures; give the pictures, or embeddings on both \
        sides (.npy)", path.display())
    .into()
}

/// A protocol by a name that none has.
pub(crate) fn unknown_protocol(found: impl Display, known: impl Display) -> MeasureError {
    failure!(Usage: "unknown protocol `{found}`, expected the path of a .toml file or one of {known}").into()
}

/// A metric that no two sets of pictures have.
pub(crate) fn needs_captions(metric: impl Display) -> MeasureError {
    failure!(Usage: "`{metric}` needs captions; measure it by `specimen {metric} IMAGES CAPTIONS`").into()
}

/// A metric that the protocol does not pin.
pub(crate) fn no_rule(protocol: impl Display, metric: impl Display, known: impl Display) -> MeasureError {
    failure!(Usage: "the protocol `{protocol}` has no table `[{metric}]`, so the metric is not defined; \
        protocols that have one: {known}")
    .into()
}
