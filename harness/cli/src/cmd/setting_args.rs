//! Settings of metrics that are other than a protocol's. Each makes another recipe, with another name and digest.

use clap::Args;
use specimen_measure::protocol::MetricSettings;

/// Subsets of KID.
#[derive(Debug, Args)]
pub struct SubsetArgs {
    /// Rows of a subset; another recipe
    #[arg(long, value_name = "N")]
    pub subset_size: Option<usize>,
    /// How many subsets; another recipe
    #[arg(long, value_name = "N")]
    pub subsets: Option<usize>,
}

/// The generator of a metric that draws.
#[derive(Debug, Args)]
pub struct SeedArgs {
    /// Seed of subsets and splits; another recipe
    #[arg(long, value_name = "N")]
    pub seed: Option<u32>,
}

/// Neighbours of precision and recall.
#[derive(Debug, Args)]
pub struct NeighbourArgs {
    /// Which neighbour a ball reaches; another recipe
    #[arg(short, value_name = "N")]
    pub k: Option<usize>,
}

/// All of them.
#[derive(Debug, Args)]
pub struct AllSettingArgs {
    #[command(flatten)]
    pub subsets: SubsetArgs,
    #[command(flatten)]
    pub neighbours: NeighbourArgs,
    #[command(flatten)]
    pub seed: SeedArgs,
}

impl AllSettingArgs {
    pub(crate) fn settings(&self) -> MetricSettings {
        MetricSettings {
            subset_size: self.subsets.subset_size,
            n_subsets: self.subsets.subsets,
            k: self.neighbours.k,
            seed: self.seed.seed,
        }
    }
}
