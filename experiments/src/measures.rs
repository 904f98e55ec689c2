//! What is measured of every cell besides the metrics of its images, each said once, in `measures.csv`: specs, goals, tables,
//! gates, comparisons, claims and the reference pages iterate over it. The summary of a run forms the values.

use std::sync::LazyLock;

use serde::Deserialize;

/// One measure of a cell.
#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measure {
    /// Its name in summaries, specs, goals, rules and claims.
    pub key: String,
    /// Its name in the CSV of a table.
    pub column: String,
    /// Its name in the head of a table.
    pub head: String,
    /// What its numbers are counted in, as tables show them.
    pub unit: String,
    /// Which direction is better; `None` where neither is.
    better: Option<Direction>,
    /// Decimals in a table; `None` where the intervals decide.
    pub decimals: Option<usize>,
    /// Whether it comes from times that were measured.
    pub of_times: bool,
    /// The time of an image of which it is a ratio, the baseline's over the cell's.
    pub ratio_of: Option<String>,
    /// Where tables have it.
    pub shown: Shown,
    /// What it is.
    pub what: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Direction {
    Higher,
    Lower,
}

/// Where tables have a measure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shown {
    /// As a column.
    #[default]
    Column,
    /// In the CSV, and as a column where it is asked for.
    OnRequest,
    /// As a column where a cost table is named.
    WithCosts,
    /// Only the summary has it.
    Summary,
}

impl Measure {
    /// Whether more of it is better; `None` where neither direction is.
    pub fn higher_is_better(&self) -> Option<bool> {
        self.better.map(|better| better == Direction::Higher)
    }

    /// Factor between the number of a summary and that of a table for people, who read percents.
    pub fn shown_per_unit(&self) -> f64 {
        if self.unit.starts_with('%') { 100.0 } else { 1.0 }
    }
}

/// All of them, in reading order.
pub static MEASURES: LazyLock<Vec<Measure>> = LazyLock::new(|| {
    let mut reader = csv::Reader::from_reader(include_str!("measures.csv").as_bytes());
    let read = reader.deserialize::<Measure>().map(|row| {
        let mut measure = row.expect("each line is a measure");
        for name in [&mut measure.column, &mut measure.head] {
            if name.is_empty() {
                name.clone_from(&measure.key);
            }
        }
        measure
    });
    read.collect()
});

/// The measure of this name.
pub fn measure(key: &str) -> Option<&'static Measure> {
    MEASURES.iter().find(|measure| measure.key == key)
}

/// Names that specs, goals, rules and claims may use: all but what a cost table gives.
pub fn named<'n>() -> impl Iterator<Item = &'n str> + Clone {
    MEASURES.iter().filter(|measure| measure.shown != Shown::WithCosts).map(|measure| measure.key.as_str())
}

/// Whether this is a measure that comes from measured times.
pub fn is_of_times(key: &str) -> bool {
    measure(key).is_some_and(|measure| measure.of_times)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_measure_has_a_name_of_its_own_and_a_ratio_is_of_a_time() {
        let keys: BTreeSet<&str> = MEASURES.iter().map(|measure| measure.key.as_str()).collect();
        assert_eq!(keys.len(), MEASURES.len());
        for measure in MEASURES.iter() {
            let time = measure.ratio_of.as_deref();
            assert!(time.is_none_or(|time| is_of_times(time) && measure.of_times), "{}", measure.key);
            assert!(!measure.what.is_empty() && measure.what.trim() == measure.what, "{}", measure.key);
        }
        assert!(named().any(|name| name == "nfe") && named().all(|name| name != "projected_speedup"));
    }
}
