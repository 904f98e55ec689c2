//! What a summary contains of images that another program made: their whole time, and the forwards that the
//! program reports. Everything else is null, with the reason.

use specimen_experiments::spec::Cell;

use crate::{Origin, Reading, Record, summary::cell_summary::Readings};

/// Why there is no ratio of decode times.
pub(crate) const NO_INSIDE: &str =
    "the images are another program's, timed from prompt to image as a whole: see speedup_e2e";
/// Why nothing is said of steps.
pub(crate) const NO_STEPS: &str = "the images are another program's, which reports no steps of its decoding";

/// What another program reports of its images.
pub(crate) struct ReportedCounts {
    /// Where they come from.
    pub(crate) origin: Origin,
    /// Target forwards per image where it reports those of every image, tokens per target forward where it reports both, and
    /// why there is nothing else.
    pub(crate) readings: Readings,
}

/// What is reported of `records`, the images of `cell`; `None` where this program made them.
pub(crate) fn of(cell: &Cell, records: &[&Record]) -> Option<ReportedCounts> {
    if !cell.is_of_another_program() {
        return None;
    }
    let n = records.len() as f64;
    let reports = |all: fn(&Record) -> bool| !records.is_empty() && records.iter().all(|record| all(record));
    let mean = |of: fn(&Record, f64) -> f64| {
        let forwards = |record: &Record| record.nfe.map(|nfe| nfe as f64);
        records.iter().filter_map(|record| Some(of(record, forwards(record)?))).sum::<f64>() / n
    };
    let has_forwards = reports(|record| record.nfe.is_some());
    let has_both = has_forwards && reports(|record| record.n_tokens > 0);
    let nfe = has_forwards.then(|| mean(|_, nfe| nfe));
    let step_compression = has_both.then(|| mean(|record, nfe| record.n_tokens as f64 / nfe));
    let unknown = ["accepted_per_step", "tokens_per_forward", "tpf", "tvd_spent"];
    let mut readings: Readings =
        unknown.map(|measure| (measure.to_owned(), Reading::absent(NO_STEPS))).into();
    let n_with = |of: fn(&Record) -> bool| records.iter().filter(|record| of(record)).count();
    let n_forwards = n_with(|record| record.nfe.is_some());
    let n_tokens = n_with(|record| record.n_tokens > 0);
    let reason = |what: &str, n: usize| match n {
        _ if records.is_empty() => "no image".to_owned(),
        0 => format!("the program that made the images reports no {what}"),
        n => format!("the program that made the images reports {what} of {n} of {} only", records.len()),
    };
    let mut put = |measure: &str, value: Option<f64>, why: String| {
        readings.insert(measure.to_owned(), value.map_or_else(|| Reading::absent(&why), Reading::of));
    };
    put("nfe", nfe, reason("forwards", n_forwards));
    let (what, n) = if has_forwards { ("tokens", n_tokens) } else { ("forwards", n_forwards) };
    put("step_compression", step_compression, reason(what, n));
    let origin = if cell.imported.is_some() { Origin::Imported } else { Origin::External };
    Some(ReportedCounts { origin, readings })
}
