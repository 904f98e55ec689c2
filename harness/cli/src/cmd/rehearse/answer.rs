//! What a rehearsal prints: what ran, what could be decided, what the run would take, and the list.

use std::{collections::BTreeMap, fmt::Write};

use serde::Serialize;
use specimen_experiments::spec::Spec;
use specimen_foundation::text::counted;
use specimen_verdicts::reproduce::decidable::{Outlook, Prospect};
use specimen_weights::out_of_memory::in_units;

use super::{
    findings::Finding,
    full_width::{Measured, Width},
};
use crate::{
    args::Format,
    console::{Console, answer, answer_json},
};

/// The answer, as `--format json` prints it.
#[derive(Debug, Serialize)]
pub(crate) struct Answer {
    schema: u32,
    /// Name of the spec.
    name: String,
    /// Prompts that the spec asks for; 0 where they are unknown.
    pub(crate) n_prompts: usize,
    /// What its cells did.
    pub(crate) cells: Vec<CellLine>,
    /// What its metrics and diagnostics did.
    pub(crate) tried: Vec<TriedLine>,
    pub(crate) claims: Vec<ClaimLine>,
    pub(crate) full_width: Vec<Width>,
    /// Bytes that the run writes at most; null where a model's images are unknown.
    pub(crate) disk_bytes: Option<u64>,
    /// Free bytes on the disk of the run's default folder; null if unknown.
    pub(crate) free_bytes: Option<u64>,
    /// The list.
    pub(crate) findings: Vec<Finding>,
    /// Seconds that the rehearsal took.
    pub(crate) seconds: f64,
}

/// A cell at toy width.
#[derive(Debug, Serialize)]
pub(crate) struct CellLine {
    pub(crate) name: String,
    pub(crate) model: String,
    pub(crate) n_images: usize,
    pub(crate) n_failed: usize,
    /// Seconds of an image, from the prompt to the saved picture.
    pub(crate) seconds: Option<f64>,
    /// Why the first image failed.
    pub(crate) why: Option<String>,
}

/// A metric or diagnostic over all cells.
#[derive(Debug, Serialize)]
pub(crate) struct TriedLine {
    /// `metric` or `diagnostic`.
    pub(crate) kind: &'static str,
    pub(crate) name: String,
    /// What is not the spec's.
    stands_in: Vec<&'static str>,
    /// Values that there are, over all cells.
    pub(crate) n_values: usize,
    /// Why there is none, with the number of cells of each reason.
    without: BTreeMap<String, usize>,
}

impl TriedLine {
    pub(crate) fn of(kind: &'static str, name: String, stands_in: &[&'static str]) -> Self {
        Self { kind, name, stands_in: stands_in.to_vec(), n_values: 0, without: BTreeMap::new() }
    }

    /// Notes a cell without a value.
    pub(crate) fn without(&mut self, why: &str) {
        *self.without.entry(why.to_owned()).or_default() += 1;
    }
}

/// A claim of a paper.
#[derive(Debug, Serialize)]
pub(crate) struct ClaimLine {
    table: String,
    claim: String,
    text: String,
    /// `decidable`, `not comparable`, `elsewhere` or `undecidable`.
    outlook: &'static str,
    /// The spec that decides it, or what this one lacks.
    why: Option<String>,
}

impl ClaimLine {
    pub(crate) fn of(prospect: &Prospect) -> Self {
        let (outlook, why) = match &prospect.outlook {
            Outlook::Decidable => ("decidable", None),
            Outlook::NotComparable => ("not comparable", None),
            Outlook::Elsewhere { spec } => ("elsewhere", Some(spec.clone())),
            Outlook::Undecidable { why } => ("undecidable", Some(why.clone())),
        };
        let Prospect { table, claim, text, .. } = prospect.clone();
        Self { table, claim, text, outlook, why }
    }
}

impl Answer {
    /// Of a spec of which nothing was done yet.
    pub(crate) fn of(spec: &Spec) -> Self {
        Self {
            schema: 1,
            name: spec.name.clone(),
            n_prompts: 0,
            cells: Vec::new(),
            tried: Vec::new(),
            claims: Vec::new(),
            full_width: Vec::new(),
            disk_bytes: None,
            free_bytes: None,
            findings: Vec::new(),
            seconds: 0.0,
        }
    }

    /// Prints it.
    pub(crate) fn print(&self, console: &Console) -> anyhow::Result<()> {
        match console.format() {
            Format::Json => answer_json(self),
            Format::Human => answer(&self.human()),
        }
    }

    fn human(&self) -> String {
        let mut text = String::new();
        let mut say = |head: &str, line: String| {
            writeln!(text, "{head:<11}{line}").expect("writing to a string cannot fail");
        };
        say("rehearsal", format!("{} of {}, by made weights", self.name, counted(self.n_prompts, "prompt")));
        for cell in &self.cells {
            let seconds = cell.seconds.map(|s| format!(", {s:.2} s each")).unwrap_or_default();
            let failed = match cell.n_failed {
                0 => String::new(),
                n => format!(", {n} failed"),
            };
            let made = counted(cell.n_images, "image");
            say("cell", format!("{} of {}: {made}{seconds}{failed}", cell.name, cell.model));
        }
        for tried in &self.tried {
            let stands_in = match tried.stands_in.as_slice() {
                [] => String::new(),
                notes => format!(" ({})", notes.join(", ")),
            };
            say(tried.kind, format!("{}: {}{stands_in}", tried.name, counted(tried.n_values, "value")));
            for (why, n) in &tried.without {
                say("", format!("none in {}: {why}", counted(n, "cell")));
            }
        }
        for claim in &self.claims {
            let why = claim.why.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
            say("claim", format!("{} {}: {}{why}", claim.table, claim.claim, claim.outlook));
        }
        for width in &self.full_width {
            say("full width", width.line());
        }
        if let Some(most) = self.disk_bytes {
            let free = self.free_bytes.map(|free| format!(", {} free", in_units(free))).unwrap_or_default();
            say("disk", format!("at most {}{free}", in_units(most)));
        }
        say("time", format!("{} s", self.seconds));
        if self.findings.is_empty() {
            let n_left = self.full_width.iter().filter(|width| width.measured.is_none()).count();
            let left = match n_left {
                0 => String::new(),
                n => format!("; {} not timed at full width: --seconds gives more time", counted(n, "model")),
            };
            say("list", format!("empty: nothing is missing, refused or undecidable{left}"));
        }
        for (at, finding) in self.findings.iter().enumerate() {
            let Finding { kind, what, remedy } = finding;
            say(&format!("{:>3}", at + 1), format!("{}: {what}: {remedy}", kind.word()));
        }
        text
    }
}

impl Width {
    fn line(&self) -> String {
        let Self { model, dtype, guidance, device, .. } = self;
        let mut parts = vec![format!("{model} in {dtype} on {device}, guidance {guidance}")];
        parts.extend(self.memory_bytes.map(|bytes| format!("weights and cache {}", in_units(bytes))));
        match (&self.measured, &self.why) {
            (Some(measured), _) => parts.extend(measured.words()),
            (None, why) => {
                parts.push(format!("not timed: {}", why.as_deref().unwrap_or("no reason is known")))
            }
        }
        parts.join("; ")
    }
}

impl Measured {
    fn words(&self) -> Vec<String> {
        let mut words = vec![format!("a plain step {:.1} ms", self.step_s * 1e3)];
        let verification =
            |(nodes, steps): &(u32, f64)| format!("a verification of {nodes} nodes {steps:.2} steps");
        words.extend(self.verification.as_ref().map(verification));
        words.extend(self.peak_host_bytes.map(|bytes| format!("memory of the host {}", in_units(bytes))));
        words.extend(self.peak_device_bytes.map(|bytes| format!("memory of the GPU {}", in_units(bytes))));
        words.extend(
            self.peak_device_unknown.as_ref().map(|why| format!("memory of the GPU not known: {why}")),
        );
        words.push(format!("all images at the pace of plain decoding {}", spoken(self.plain_s)));
        words
    }
}

/// Seconds in the unit that a person plans with.
fn spoken(seconds: f64) -> String {
    match seconds {
        s if s >= 86_400.0 => format!("{:.1} days", s / 86_400.0),
        s if s >= 3_600.0 => format!("{:.1} hours", s / 3_600.0),
        s => format!("{:.1} minutes", s / 60.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn width(measured: Option<Measured>) -> Width {
        let why = measured.is_none().then(|| "its time was over".to_owned());
        Width {
            model: "anole-7b".into(),
            dtype: "bf16",
            guidance: 3.0,
            device: "cuda:0".into(),
            memory_bytes: None,
            measured,
            why,
            found: None,
        }
    }

    fn measured(peak_device_bytes: Option<u64>, peak_device_unknown: Option<&str>) -> Measured {
        Measured {
            step_s: 0.005,
            verification: None,
            peak_host_bytes: None,
            peak_device_bytes,
            peak_device_unknown: peak_device_unknown.map(str::to_owned),
            plain_s: 60.0,
        }
    }

    #[test]
    fn the_memory_of_the_gpu_is_said_or_why_it_is_not_known() {
        assert!(width(Some(measured(Some(15 << 30), None))).line().contains("memory of the GPU 16"));
        let line = width(Some(measured(None, Some("no library")))).line();
        assert!(line.contains("memory of the GPU not known: no library"), "{line}");
    }

    #[test]
    fn an_empty_list_says_which_models_were_not_timed() {
        let mut answer = Answer {
            schema: 1,
            name: "a".into(),
            n_prompts: 1,
            cells: Vec::new(),
            tried: Vec::new(),
            claims: Vec::new(),
            full_width: vec![width(None), width(Some(measured(None, None)))],
            disk_bytes: None,
            free_bytes: None,
            findings: Vec::new(),
            seconds: 1.0,
        };
        let text = answer.human();
        assert!(text.contains("undecidable; 1 model not timed at full width: --seconds"), "{text}");
        answer.full_width.remove(0);
        assert!(!answer.human().contains("not timed"));
    }
}
