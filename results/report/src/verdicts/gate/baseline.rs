//! The baseline in the repository: a run's summary with where it came from and why it became the baseline.

use std::path::Path;

use serde::{Deserialize, Serialize};
use specimen_foundation::failure;
use specimen_record::{
    Document, Manifest, RecordError, RunDir, SUMMARY_SCHEMA, Summary, read_document, write_document,
};

/// A baseline file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Baseline {
    /// Schema number.
    pub schema: u32,
    /// How it came to be, the newest first.
    pub history: Vec<Adoption>,
    /// What the run measured.
    pub summary: Summary,
}

/// One time that a run became the baseline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Adoption {
    /// Why, in words.
    pub reason: String,
    /// When the run ended; absent where it was not sealed.
    pub finished: Option<String>,
    /// Commit of the program that ran; absent outside a repository.
    pub commit: Option<String>,
    /// Whether files differed from it.
    pub dirty: Option<bool>,
    /// Version of the program.
    pub program: String,
    /// Version of libtorch, where it had one.
    pub libtorch: Option<String>,
    /// Processor, or the GPUs.
    pub machine: String,
    /// Label of the machine; absent where it was not labelled, and then its times are not checked.
    pub runner: Option<String>,
    /// Identity of the run.
    pub plan_digest: String,
    /// Digest of its records.
    pub result_digest: String,
    /// What changed since the baseline before, measure by measure; empty for the first.
    pub changes: Vec<String>,
}

impl Document for Baseline {
    const KIND: &'static str = "baseline";
    const SCHEMAS: [u32; 2] = [SUMMARY_SCHEMA, SUMMARY_SCHEMA];
    const RENEWED_BY: &'static str = "renew it from a run with `specimen gate --update-baseline`";

    fn schema(&self) -> u32 {
        self.schema
    }

    fn check(&self) -> Result<(), String> {
        match self.history.first() {
            None => Err("a baseline says why it is one; `history` is empty".to_owned()),
            Some(newest) if newest.reason.trim().is_empty() => Err("the newest reason is empty".to_owned()),
            Some(newest) if newest.result_digest != self.summary.result_digest.as_str() => {
                Err("the newest entry of `history` is about another run than the summary".to_owned())
            }
            Some(_) => self.summary.check(),
        }
    }
}

impl Baseline {
    /// Reads a baseline, or a bare summary, whose history is empty then.
    pub fn read(path: &Path) -> anyhow::Result<Baseline> {
        let is_bare = |text: &str| {
            let value: Result<serde_json::Value, _> = serde_json::from_str(text);
            value.is_ok_and(|value| value.get("cells").is_some())
        };
        let text = super::read_text(path)?;
        let refused = |error: RecordError| match error {
            RecordError::Syntax { .. } | RecordError::Inconsistent { .. } => {
                failure!(Missing: "{error}; bring the file back from a copy, or remove it and write another: \
                    --update-baseline --reason TEXT")
                .into()
            }
            other => other.into(),
        };
        if is_bare(&text) {
            let summary: Summary = read_document(path).map_err(refused)?;
            return Ok(Baseline { schema: SUMMARY_SCHEMA, history: Vec::new(), summary });
        }
        read_document(path).map_err(refused)
    }

    /// Label of the machine its times were taken on.
    pub fn runner(&self) -> Option<&str> {
        self.history.first().and_then(|newest| newest.runner.as_deref())
    }

    /// Writes a run as the baseline, with `reason` before those of `former`.
    pub fn adopt(
        run: &RunDir,
        path: &Path,
        former: Option<&Baseline>,
        reason: &str,
        runner: Option<&str>,
    ) -> anyhow::Result<Baseline> {
        let summary: Summary = read_document(&run.summary())?;
        let manifest: Manifest = read_document(&run.manifest())?;
        // The manifest names the driver's, on which a run of a cluster computed nothing.
        let machine = match summary.gpus.is_empty() {
            true => summary.cpu_model.clone(),
            false => summary.gpus.join(", "),
        };
        let newest = Adoption {
            reason: reason.to_owned(),
            finished: manifest.sealed.as_ref().map(|seal| seal.finished.to_string()),
            commit: manifest.git.sha.clone(),
            dirty: manifest.git.dirty,
            program: manifest.software.specimen.clone(),
            libtorch: manifest.software.libtorch.clone(),
            machine,
            runner: runner.map(str::to_owned),
            plan_digest: summary.plan_digest.as_str().to_owned(),
            result_digest: summary.result_digest.as_str().to_owned(),
            changes: former.map(|former| changes(&former.summary, &summary)).unwrap_or_default(),
        };
        let older = former.map(|former| former.history.clone()).unwrap_or_default();
        let history = std::iter::once(newest).chain(older).collect();
        let baseline = Baseline { schema: SUMMARY_SCHEMA, history, summary };
        write_document(path, &baseline)?;
        Ok(baseline)
    }
}

/// Counted quantities that moved by more than a thousandth, cell by cell, old and new.
fn changes(old: &Summary, new: &Summary) -> Vec<String> {
    let mut found = Vec::new();
    for cell in &new.cells {
        let Some(before) = old.cell(&cell.id) else {
            found.push(format!("{}: new", cell.id));
            continue;
        };
        for measure in ["nfe", "tokens_per_forward", "accepted_per_step"] {
            let of = |cell| crate::verdicts::measured::of(cell, measure).value;
            match (of(before), of(cell)) {
                (Some(old), Some(new)) if (new - old).abs() > 1e-3 * old.abs() => {
                    found.push(format!("{}: {measure} {old:.4} -> {new:.4}", cell.id));
                }
                _ => {}
            }
        }
    }
    let gone = old.cells.iter().filter(|cell| new.cell(&cell.id).is_none());
    found.extend(gone.map(|cell| format!("{}: gone", cell.id)));
    found
}
