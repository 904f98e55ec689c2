//! What images of several runs must share to stand in one table.

use std::collections::{BTreeMap, BTreeSet};

use polars::prelude::*;

use super::{SCORE, texts};
use crate::ReportError;

/// A kind of difference that a table of several runs refuses unless it is told to mix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mix {
    /// The machine, its threads, the device or the kind of number differ: times say nothing of one another.
    Device,
    /// Cells of one name are other methods, models, datasets or sampling.
    Identity,
    /// A metric was computed by another protocol.
    Protocol,
}

impl Mix {
    /// All kinds with their names.
    pub const ALL: [(&'static str, Mix); 3] =
        [("device", Mix::Device), ("identity", Mix::Identity), ("protocol", Mix::Protocol)];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        Mix::ALL.iter().find(|(_, kind)| *kind == self).map_or("", |(name, _)| name)
    }
}

/// Refuses what differs and is not in `mix`.
pub(super) fn check(frame: &DataFrame, mix: &BTreeSet<Mix>) -> Result<(), ReportError> {
    let wanted = |kind| !mix.contains(&kind);
    let refuse = |kind, why| Err(ReportError::Mixed { kind, why });
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
    let text = |name: &str| -> Result<StringChunked, ReportError> { Ok(frame.column(name)?.str()?.clone()) };
    let (runs, machines, devices) = (text("run")?, text("machine")?, text("device")?);
    let (kinds, threads) = (text("dtype")?, frame.column("threads")?.u64()?.clone());
    let times = frame.column("decode_s")?.f64()?.clone();
    let mut first: Option<(String, String)> = None;
    for row in 0..frame.height() {
        if times.get(row).is_none() {
            continue;
        }
        let of = |column: &StringChunked| column.get(row).unwrap_or("?").to_owned();
        let count = threads.get(row).map_or("?".to_owned(), |n| n.to_string());
        let place = format!("{} on {}, {} ({count} threads)", of(&kinds), of(&devices), of(&machines));
        let run = of(&runs);
        match &first {
            None => first = Some((run, place)),
            // Cells of one run may differ by intention: its own table shows them.
            Some((other, theirs)) if *other != run && *theirs != place => {
                return Ok(Some(format!(
                    "times of run {other} are from {theirs}, those of run {run} from {place}"
                )));
            }
            Some(_) => {}
        }
    }
    Ok(None)
}

/// A cell that is another experiment in another run, in words.
fn identities(frame: &DataFrame) -> Result<Option<String>, ReportError> {
    let text = |name: &str| -> Result<StringChunked, ReportError> { Ok(frame.column(name)?.str()?.clone()) };
    let (runs, cells, identities) = (text("run")?, text("cell")?, text("identity")?);
    let mut seen: BTreeMap<&str, (&str, &str)> = BTreeMap::new();
    for row in 0..frame.height() {
        let (Some(run), Some(cell), Some(identity)) = (runs.get(row), cells.get(row), identities.get(row))
        else {
            continue;
        };
        let (other, theirs) = *seen.entry(cell).or_insert((run, identity));
        if theirs != identity {
            return Ok(Some(format!(
                "cell {cell} is `{theirs}` in run {other} and `{identity}` in run {run}"
            )));
        }
    }
    Ok(None)
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
