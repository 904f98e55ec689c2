//! `metrics/<protocol>/<cell>.json`: one number about the images of one cell, or the reason why there
//! is none. A protocol that yields several numbers has one folder for each.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Document, FileDigest, ItemKey};

/// One metric of one cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MetricFile {
    /// Schema number.
    pub schema: u32,
    /// Name of the protocol, with the digest of whatever it depends on.
    pub protocol: String,
    /// Name of the cell.
    pub cell: String,
    /// Name of the metric.
    pub metric: String,
    /// Its value in `unit`; absent with a reason in `why`.
    pub value: Option<f64>,
    /// 95 % interval.
    pub ci95: Option<[f64; 2]>,
    /// Images that went into it.
    pub n: u64,
    /// Unit, empty for a pure number.
    pub unit: String,
    /// Which direction is better; absent where neither is.
    pub higher_is_better: Option<bool>,
    /// Why there is no value.
    pub why: Option<String>,
    /// What a reader must know before comparing the value, in words; absent where there is nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Name and digest of the feature extractor.
    pub extractor: Option<String>,
    /// The metric of each item, where it has one.
    pub per_item: Option<BTreeMap<ItemKey, f64>>,
    /// Further numbers by name (parameters of an estimate, parts of a sum).
    pub extra: BTreeMap<String, f64>,
    /// Where the values of the images come from, if another tool computed them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported: Option<ImportedScores>,
}

/// Where values come from that another tool computed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ImportedScores {
    /// The files that were read.
    pub files: Vec<FileDigest>,
    /// The group of each prompt, where the value is the mean of the groups' means: tasks of equal weight.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub groups: Option<BTreeMap<String, String>>,
}

impl Document for MetricFile {
    const KIND: &'static str = "metric";

    fn schema(&self) -> u32 {
        self.schema
    }

    fn check(&self) -> Result<(), String> {
        check_reasoned(&self.metric, self.value.is_some(), self.why.as_deref())
    }
}

/// A quantity has a value, or a reason for having none.
pub(crate) fn check_reasoned(name: &str, has_value: bool, why: Option<&str>) -> Result<(), String> {
    if has_value || why.is_some_and(|w| !w.trim().is_empty()) {
        Ok(())
    } else {
        Err(format!("`{name}` has neither a value nor a `why`"))
    }
}
