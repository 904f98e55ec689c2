//! MLflow: a store of files (`mlruns/<experiment>/<run>/`), an experiment a run of specimen and a run a cell, as
//! `mlflow.store.tracking.file_store` of MLflow reads it. MLflow 3.17 opens a store of files with the variable
//! `MLFLOW_ALLOW_FILE_STORE`, or `mlflow migrate-filestore`, which makes a database of it.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};
use specimen_record::{CellSummary, Digest};

use crate::{Exporter, Finished, values, yaml};

pub(crate) const EXPORTER: Exporter = Exporter {
    name: "mlflow",
    what: "mlruns, a store of files of MLflow, with one run a cell",
    next: "MLFLOW_ALLOW_FILE_STORE=true mlflow ui --backend-store-uri mlruns",
    write: |run, folder| folder.put_texts(files(run, folder.out())),
};

/// MLflow's numbers of the states of a run and of the kinds of sources.
const FINISHED: u32 = 3;
const LOCAL: u32 = 4;
/// Characters of the value of a parameter, at most.
const MOST_CHARACTERS: usize = 6_000;

fn files(run: &Finished<'_>, out: &Path) -> Vec<(PathBuf, String)> {
    let summary = &run.summary;
    let experiment = experiment_id(&summary.plan_digest);
    let folder = PathBuf::from("mlruns").join(&experiment);
    let started = milliseconds(&run.manifest.started.to_string());
    let ended = run.manifest.sealed.as_ref().map_or(started, |seal| milliseconds(&seal.finished.to_string()));
    let meta = json!({
        "artifact_location": uri(&out.join(&folder)),
        "creation_time": started,
        "experiment_id": experiment,
        "last_update_time": ended,
        "lifecycle_stage": "active",
        "name": summary.name,
    });
    let mut files = vec![(folder.join("meta.yaml"), yaml::document(&meta))];
    for cell in &summary.cells {
        let id = run_id(&summary.plan_digest, &cell.id);
        let below = folder.join(&id);
        let meta = json!({
            "artifact_uri": uri(&out.join(&below).join("artifacts")),
            "end_time": ended,
            "entry_point_name": "",
            "experiment_id": experiment,
            "lifecycle_stage": "active",
            "run_id": id,
            "run_name": cell.id,
            "run_uuid": id,
            "source_name": "",
            "source_type": LOCAL,
            "source_version": "",
            "start_time": started,
            "status": FINISHED,
            "tags": [],
            "user_id": "",
        });
        files.push((below.join("meta.yaml"), yaml::document(&meta)));
        let texts = of_cell(run, cell, ended);
        files.extend(texts.into_iter().map(|(name, text)| (below.join(name), text)));
    }
    files
}

/// The files of a run of MLflow besides its `meta.yaml`.
fn of_cell(run: &Finished<'_>, cell: &CellSummary, ended: u64) -> BTreeMap<PathBuf, String> {
    let mut files = BTreeMap::new();
    for (name, value) in values::numbers(cell) {
        files.insert(Path::new("metrics").join(key(&name)), format!("{ended} {value} 0\n"));
    }
    for (name, value) in values::settings(cell) {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let text: String = text.chars().take(MOST_CHARACTERS).collect();
        files.insert(Path::new("params").join(key(&name)), text);
    }
    for (name, value) in [
        ("mlflow.runName", cell.id.clone()),
        ("mlflow.source.type", "LOCAL".to_owned()),
        ("specimen.plan_digest", run.summary.plan_digest.to_string()),
        ("specimen.result_digest", run.summary.result_digest.to_string()),
    ] {
        files.insert(Path::new("tags").join(name), value);
    }
    let cell: Value = json!(cell);
    files.insert(Path::new("artifacts").join("cell.json"), format!("{cell:#}\n"));
    files
}

/// A name as MLflow takes it and a file can have it.
fn key(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | ' ');
    name.chars().map(|c| if is_plain(c) { c } else { '.' }).collect()
}

/// The same number of 18 digits for the same plan.
fn experiment_id(plan: &Digest) -> String {
    let number = u64::from_str_radix(&plan.as_str()[..15], 16).expect("they are hexadecimal");
    format!("{:018}", number % 1_000_000_000_000_000_000)
}

/// 32 hexadecimal digits, the same for the same cell of the same plan.
fn run_id(plan: &Digest, cell: &str) -> String {
    Digest::of(format!("{plan} {cell}").as_bytes()).as_str()[..32].to_owned()
}

/// An absolute path as an address.
fn uri(path: &Path) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-_.~".contains(&byte);
    let text = path.to_string_lossy();
    let escaped = text.bytes().map(|byte| match is_plain(byte) {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    });
    format!("file://{}", escaped.collect::<String>())
}

/// Milliseconds since 1970 of `2026-11-21T09:30:00Z`.
fn milliseconds(moment: &str) -> u64 {
    let part = |from: usize, to: usize| moment[from..to].parse::<u64>().expect("a timestamp has this form");
    let (year, month, day) = (part(0, 4), part(5, 7), part(8, 10));
    // Howard Hinnant's days of the civil calendar, with years that begin in March.
    let year = if month <= 2 { year - 1 } else { year };
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let days = 365 * year + year / 4 - year / 100 + year / 400 + of_year - 719_468;
    (((days * 24 + part(11, 13)) * 60 + part(14, 16)) * 60 + part(17, 19)) * 1_000
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `date -u -d MOMENT +%s`.
    #[test]
    fn moments_are_milliseconds_since_1970() {
        for (moment, seconds) in [
            ("1970-01-01T00:00:00Z", 0),
            ("2000-02-29T23:59:59Z", 951_868_799),
            ("2026-11-24T07:30:00Z", 1_795_505_400),
            ("2100-03-01T00:00:00Z", 4_107_542_400),
        ] {
            assert_eq!(milliseconds(moment), seconds * 1_000, "{moment}");
        }
    }

    #[test]
    fn names_and_addresses_are_such_as_mlflow_takes() {
        assert_eq!(key("fid:lantern"), "fid.lantern");
        assert_eq!(key("params.a/b"), "params.a.b");
        assert_eq!(uri(Path::new("/a b/é")), "file:///a%20b/%C3%A9");
    }
}
