//! What can go wrong between a path and a number, with the facts a person needs.

use std::path::{Path, PathBuf};

use specimen_foundation::failure::{Failure, FailureKind};
use specimen_pixels::{PixelError, network::NetworkFault, step::StepError};
use specimen_stats::StatsError;

use crate::image_id::Listed;
use specimen_foundation::text::counted;

/// Why a metric could not be measured.
#[derive(Debug, thiserror::Error)]
pub enum MeasureError {
    /// A protocol by a name that none has.
    #[error("unknown protocol `{found}`, expected the path of a .toml file or one of {known}")]
    UnknownProtocol {
        /// What was asked for.
        found: String,
        /// The names that there are.
        known: String,
    },
    /// A protocol's file that is not there.
    #[error(
        "{place}: cannot read: there is no such file; a name that ends in `.toml` is the path of a file, protocols of this \
         program are named without it: {known}"
    )]
    NoProtocolFile {
        /// The path as typed.
        place: String,
        /// The names that there are.
        known: String,
    },
    /// A protocol's file that cannot be used.
    #[error("protocol {place}: {reason}")]
    Protocol {
        /// The file, or the name.
        place: String,
        /// What is wrong, with the place in the file where there is one.
        reason: String,
    },
    /// A file of values of a reference that cannot be used.
    #[error("values {place}: {reason}")]
    Answers {
        /// The file, with the place in it where there is one.
        place: String,
        /// What is wrong.
        reason: String,
    },
    /// A metric that the protocol does not pin.
    #[error(
        "the protocol `{protocol}` has no table `[{metric}]`, so the metric is not defined; protocols that have one: {known}"
    )]
    NoRule {
        /// Name of the protocol.
        protocol: String,
        /// Name of the metric.
        metric: String,
        /// The protocols that do.
        known: String,
    },
    /// A table in a format that is not written here.
    #[error("{path}: tables are written as .csv or .parquet; give the file one of these extensions", path = path.display())]
    TableFormat {
        /// Path of the file.
        path: PathBuf,
    },
    /// A source of pictures, or one picture of it.
    #[error(transparent)]
    Pixels(#[from] PixelError),
    /// Images or prompts that a metric does not take.
    #[error("{why}")]
    DoesNotApply {
        /// Which, and what it takes.
        why: String,
    },
    /// A picture that the protocol's steps do not fit.
    #[error("{path}: {source}", path = path.display())]
    Step {
        /// Path of the picture.
        path: PathBuf,
        /// Why.
        source: StepError,
    },
    /// Settings of a metric that do not fit the protocol's estimator, or that make no sense.
    #[error("the protocol `{protocol}`: {why}")]
    Setting {
        /// Name of the protocol.
        protocol: String,
        /// What is wrong, and what to do.
        why: String,
    },
    /// Nothing is left of a source whose broken pictures were left out.
    #[error("{path}: no picture is left, {all} cannot be read; the first: {first}", path = path.display(), all = counted(n, "picture"))]
    NothingLeft {
        /// Path of the source.
        path: PathBuf,
        /// How many there were.
        n: usize,
        /// What is wrong with the first.
        first: String,
    },
    /// A file of features or statistics.
    #[error("{path}: {source}", path = path.display())]
    Array {
        /// Path of the file.
        path: PathBuf,
        /// Why.
        source: StatsError,
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
    /// Tensors in a file that no metric reads.
    #[error(
        "{path}: metrics read features as .npy and statistics as .npz; write them by `python3 -c \"import numpy, torch; c = \
         torch.load('{path}', weights_only=False); numpy.savez('OUT.npz', mu=c['mu'], sigma=c['sigma'])\"` or, of features, \
         `numpy.save('OUT.npy', c.numpy())`",
        path = path.display()
    )]
    NotConverted {
        /// Path of the file.
        path: PathBuf,
    },
    /// Statistics where the rows behind them are needed.
    #[error(
        "{path}: holds the mean and covariance only, {metric} needs features; give the pictures, a .npy of features, \
         or a .npz with `feats`, or leave {metric} out",
        path = path.display()
    )]
    NeedsRows {
        /// Path of the file.
        path: PathBuf,
        /// What needs the rows.
        metric: String,
    },
    /// Features where pictures are needed.
    #[error(
        "{path}: holds features, {metric} needs pictures; give the pictures, or embeddings on both sides (.npy)",
        path = path.display()
    )]
    NeedsPictures {
        /// Path of the file.
        path: PathBuf,
        /// What needs the pictures.
        metric: String,
    },
    /// Features of one layer where those of another are needed.
    #[error(
        "{path}: holds features of one layer, `{metric}` takes those of `{layer}`; give the pictures",
        path = path.display()
    )]
    OtherLayer {
        /// Path of the file.
        path: PathBuf,
        /// Name of the metric.
        metric: &'static str,
        /// Its layer.
        layer: String,
    },
    /// A metric that no two sets of pictures have.
    #[error("`{metric}` needs captions; measure it by `specimen {metric} IMAGES CAPTIONS`")]
    NeedsCaptions {
        /// Name of the metric.
        metric: String,
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
    /// Features that were made otherwise than the protocol says.
    #[error(
        "{path}: its features were made by {found}; `{protocol}` takes {expected}; give the protocol under which the \
         file was written, or the pictures",
        path = path.display()
    )]
    OtherRecipe {
        /// Path of the file.
        path: PathBuf,
        /// What made them.
        found: String,
        /// Name of the protocol.
        protocol: String,
        /// What it says.
        expected: String,
    },
    /// Two sides whose features were made differently.
    #[error(
        "{path}: features by {found}, those of {other} by {expected}; they cannot be compared: make both alike",
        path = path.display(), other = other.display()
    )]
    OtherOrigin {
        /// The second side.
        path: PathBuf,
        /// What made its features.
        found: String,
        /// The first side.
        other: PathBuf,
        /// What made its features.
        expected: String,
    },
    /// Two sides whose features cannot be of the same network.
    #[error(
        "{path}: {found} a row, {other} has {expected}; were they made by the same network and layer?",
        path = path.display(), other = other.display(), found = counted(found, "feature")
    )]
    Width {
        /// The second side.
        path: PathBuf,
        /// Its features.
        found: usize,
        /// The first side.
        other: PathBuf,
        /// The features there.
        expected: usize,
    },
    /// A network, or its weights.
    #[error("{}", of_network(network, source))]
    Network {
        /// Name of the network.
        network: String,
        /// Why.
        source: NetworkFault,
    },
    /// Pictures where no network can be had.
    #[error(
        "{network} is needed for pictures, and this build has no networks; build it with the feature `torch`, or give \
         features (.npy) or statistics (.npz)"
    )]
    NoNetworks {
        /// Name of the network.
        network: String,
    },
    /// A file of captions that cannot be used.
    #[error("{path}: {place}: expected {expected}, found {found}", path = path.display())]
    Captions {
        /// Path of the file.
        path: PathBuf,
        /// Line, row or record.
        place: String,
        /// What the format asks for.
        expected: String,
        /// What stands there.
        found: String,
    },
    /// Pictures and captions that do not belong together.
    #[error(
        "{images} and {captions}: pictures and captions are paired by id, the last digits of a name, and do not match: \
         {pictures} without a caption ({without_caption}), {texts} without a picture ({without_picture}); `--keep-going` \
         leaves both out",
        images = images.display(), captions = captions.display(),
        pictures = counted(n_without_caption, "picture"), texts = counted(n_without_picture, "caption")
    )]
    Unpaired {
        /// The source of pictures.
        images: PathBuf,
        /// The file of captions.
        captions: PathBuf,
        /// How many pictures are alone.
        n_without_caption: usize,
        /// Their ids.
        without_caption: Listed,
        /// How many captions are alone.
        n_without_picture: usize,
        /// Their ids.
        without_picture: Listed,
    },
    /// Two pictures of one id.
    #[error(
        "{images}: {first} and {second} both have the id `{id}`; pictures are paired by the last digits of their names",
        images = images.display()
    )]
    SameId {
        /// The source of pictures.
        images: PathBuf,
        /// The id.
        id: String,
        /// A picture.
        first: String,
        /// Another one.
        second: String,
    },
    /// Pictures without a partner.
    #[error(
        "{a} and {b}: pictures are paired by their names without the ending, and do not match: only in {a}: {only_a}; only in \
         {b}: {only_b}; give both sides the same names",
        a = a.display(), b = b.display()
    )]
    NoPartner {
        /// A source of pictures.
        a: PathBuf,
        /// Names that it alone has.
        only_a: Listed,
        /// The other source.
        b: PathBuf,
        /// Names that this one alone has.
        only_b: Listed,
    },
    /// Two pictures of one name.
    #[error(
        "{images}: {first} and {second} have one name without their endings, by which pictures are paired; rename one",
        images = images.display()
    )]
    SameName {
        /// The source of pictures.
        images: PathBuf,
        /// A picture.
        first: String,
        /// Another one.
        second: String,
    },
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
        Self::Array { path: path.to_path_buf(), source }
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
            Self::UnknownProtocol { .. }
            | Self::TableFormat { .. }
            | Self::NoRule { .. }
            | Self::Setting { .. }
            | Self::NeedsCaptions { .. }
            | Self::OtherLayer { .. }
            | Self::NotConverted { .. }
            | Self::NeedsRows { .. }
            | Self::NeedsPictures { .. } => FailureKind::Usage,
            Self::Protocol { .. } | Self::Answers { .. } => FailureKind::Spec,
            Self::Network { .. } => return None,
            Self::NoNetworks { .. } => FailureKind::Environment,
            Self::NoProtocolFile { .. } | Self::Io { action: "read", .. } => FailureKind::Missing,
            Self::Io { .. } => FailureKind::Environment,
            Self::Pixels(_)
            | Self::DoesNotApply { .. }
            | Self::Step { .. }
            | Self::NothingLeft { .. }
            | Self::Array { .. }
            | Self::NotFinite { .. }
            | Self::Statistic { .. }
            | Self::OtherRecipe { .. }
            | Self::OtherOrigin { .. }
            | Self::Width { .. }
            | Self::Captions { .. }
            | Self::Unpaired { .. }
            | Self::SameId { .. }
            | Self::NoPartner { .. }
            | Self::SameName { .. } => FailureKind::Missing,
        })
    }
}
