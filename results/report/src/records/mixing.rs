//! What runs must have in common so that one table may have images of all of them.

use std::collections::{BTreeMap, BTreeSet};

use polars::prelude::*;
use specimen_foundation::{fail, text::counted};
use specimen_record::Mix;

use super::{SCORE, texts};
use crate::ReportError;

/// What may be mixed in a table of images; each says its seed.
pub const MIXABLE: [Mix; 3] = [Mix::Device, Mix::Identity, Mix::Protocol];

/// Refuses what differs and is not in `mix`.
pub(super) fn check(frame: &DataFrame, mix: &BTreeSet<Mix>) -> Result<(), ReportError> {
    let wanted = |kind| !mix.contains(&kind);
    let refuse = |kind: Mix, why| fail!(Mismatch: "{why}; --mix {} allows them in one table", kind.name());
    if wanted(Mix::Device)
        && let Some(why) = devices(frame)?
    {
        return refuse(Mix::Device, why);
    }
    if wanted(Mix::Identity)
        && let Some(why) = identities(frame)?
    {
        return refuse(Mix::Identity, why);
    }
    if wanted(Mix::Protocol)
        && let Some(why) = protocols(frame)
    {
        return refuse(Mix::Protocol, why);
    }
    Ok(())
}

/// Two runs whose timed images come from other hardware, in words.
fn devices(frame: &DataFrame) -> Result<Option<String>, ReportError> {
    let timed = frame.filter(&frame.column("e2e_s")?.is_not_null())?;
    let places = distinct(&timed, &["run", "dtype", "device", "machine", "threads"])?;
    let [runs, kinds, devices, machines] =
        ["run", "dtype", "device", "machine"].map(|name| texts_or(&places, name, "?"));
    let (runs, kinds, devices, machines) = (runs?, kinds?, devices?, machines?);
    let threads = places.column("threads")?.u64()?;
    let place = |row: usize| {
        let threads = threads.get(row).map_or("threads unknown".to_owned(), |n| counted(n, "thread"));
        format!("{} on {}, {} ({threads})", kinds[row], devices[row], machines[row])
    };
    // Cells of one run may differ by intention: its own table shows them.
    let other = (1..places.height()).find(|&row| runs[row] != runs[0] && place(row) != place(0));
    Ok(other.map(|row| {
        format!(
            "times of run {} are from {}, those of run {} from {}",
            runs[0],
            place(0),
            runs[row],
            place(row)
        )
    }))
}

/// A cell that is another experiment in another run, in words.
fn identities(frame: &DataFrame) -> Result<Option<String>, ReportError> {
    let frame = distinct(frame, &["cell", "identity"])?;
    let [runs, cells, identities] = ["run", "cell", "identity"].map(|name| texts_or(&frame, name, ""));
    let (runs, cells, identities) = (runs?, cells?, identities?);
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    for row in (0..frame.height()).filter(|&row| !identities[row].is_empty()) {
        let first = *seen.entry(&cells[row]).or_insert(row);
        if first != row {
            return Ok(Some(format!(
                "cell {} is `{}` in run {} and `{}` in run {}",
                cells[row], identities[first], runs[first], identities[row], runs[row]
            )));
        }
    }
    Ok(None)
}

/// The first row of each combination of values of some columns.
pub(super) fn distinct(frame: &DataFrame, columns: &[&str]) -> Result<DataFrame, ReportError> {
    let columns: Vec<String> = columns.iter().map(|name| (*name).to_owned()).collect();
    Ok(frame.unique_stable(Some(&columns), UniqueKeepStrategy::First, None)?)
}

/// A column of texts, `absent` where it is null.
pub(super) fn texts_or(frame: &DataFrame, column: &str, absent: &str) -> Result<Vec<String>, ReportError> {
    let texts = frame.column(column)?.str()?.iter().map(|text| text.unwrap_or(absent).to_owned());
    Ok(texts.collect())
}

/// A metric that several protocols computed, in words.
fn protocols(frame: &DataFrame) -> Option<String> {
    let mut seen: BTreeMap<&str, &str> = BTreeMap::new();
    for name in frame.get_column_names() {
        let Some((metric, protocol)) = name.strip_prefix(SCORE).and_then(|name| name.split_once('@')) else {
            continue;
        };
        let other = *seen.entry(metric).or_insert(protocol);
        if other != protocol {
            let runs = |protocol: &str| {
                let column = frame.column(&format!("{SCORE}{metric}@{protocol}")).ok();
                let scored = column.map(|column| column.is_not_null());
                let part = scored.and_then(|scored| frame.filter(&scored).ok());
                part.and_then(|part| texts(&part, "run").ok()).unwrap_or_default().join(", ")
            };
            return Some(format!(
                "{metric} was computed by {other} for {} and by {protocol} for {}",
                runs(other),
                runs(protocol)
            ));
        }
    }
    None
}
