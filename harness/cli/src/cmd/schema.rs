//! `specimen schema`: the JSON Schemas of the files that people write.

use clap::{Args, ValueEnum};
use serde_json::Value;
use specimen_experiments::schema::spec_schema;
use specimen_measure::{pair_protocol::PairProtocol, protocol::Protocol};
use specimen_train::head_spec::HeadSpec;

use crate::console::answer;

/// Which schema.
#[derive(Debug, Args)]
pub struct SchemaArgs {
    /// What the file is
    #[arg(value_name = "KIND")]
    pub kind: SchemaKind,
}

/// A kind of files that people write.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum SchemaKind {
    /// A spec of an experiment
    Spec,
    /// A specification of a training, for train-drafter
    Training,
    /// A protocol of metrics
    Protocol,
    /// A protocol of metrics that compare two pictures
    PairProtocol,
}

impl SchemaKind {
    /// The schema, of draft 2020-12.
    pub fn schema(self) -> Value {
        match self {
            Self::Spec => spec_schema(),
            Self::Training => HeadSpec::schema(),
            Self::Protocol => Protocol::schema(),
            Self::PairProtocol => PairProtocol::schema(),
        }
    }

    /// The schema as it is committed and printed.
    pub fn text(self) -> String {
        format!("{:#}\n", self.schema())
    }
}

/// Prints a schema.
pub(crate) fn schema(args: &SchemaArgs) -> anyhow::Result<()> {
    answer(&args.kind.text())
}
