//! The JSON Schema (draft 2020-12) of everything in a run directory, made from the types that write it.
//! The files in `schema/` are these, and a test holds them to it.

use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::{Value, json};

use crate::{
    Checksums, DiagnosticFile, Document, Done, Environment, Lease, MachineRow, Manifest, MetricFile,
    PlanFile, Record, StepsRow, Submissions, Summary, TimingRow, WorkerEnd,
};

/// A published schema.
#[derive(Clone, Debug, PartialEq)]
pub struct PublishedSchema {
    /// Its file below `results/record/schema`.
    pub file: &'static str,
    /// The file or row that it describes, below a run directory.
    pub describes: &'static str,
    /// The schema.
    pub schema: Value,
}

/// The schema of every document and row type, as this program writes them.
pub fn schemas() -> Vec<PublishedSchema> {
    vec![
        published::<Manifest>("manifest.schema.json", "manifest.json"),
        published::<PlanFile>("plan.schema.json", "plan.json"),
        published::<Checksums>("checksums.schema.json", "checksums.json"),
        published::<Lease>("lease.schema.json", "shards/*/lease.json"),
        published::<Done>("done.schema.json", "shards/*/done.json"),
        published::<WorkerEnd>("end.schema.json", "shards/*/end.json"),
        published::<Submissions>("submissions.schema.json", "slurm/submissions.json"),
        published::<Record>("record.schema.json", "shards/*/attempts/*/records.jsonl"),
        published::<StepsRow>("steps.schema.json", "shards/*/attempts/*/steps.jsonl"),
        published::<TimingRow>("timing.schema.json", "shards/*/attempts/*/timing.jsonl"),
        published::<MachineRow>("machine.schema.json", "shards/*/attempts/*/machine.jsonl"),
        published::<Environment>("env.schema.json", "shards/*/attempts/*/env.json"),
        published::<MetricFile>("metric.schema.json", "metrics/*/*.json"),
        published::<DiagnosticFile>("diagnostic.schema.json", "diagnostics/*/*.json"),
        published::<Summary>("summary.schema.json", "merged/summary.json"),
    ]
}

fn published<T: Document + JsonSchema>(file: &'static str, describes: &'static str) -> PublishedSchema {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    let number = &mut schema["properties"]["schema"];
    number["minimum"] = json!(T::SCHEMAS[0]);
    number["maximum"] = json!(T::SCHEMAS[1]);
    PublishedSchema { file, describes, schema }
}
