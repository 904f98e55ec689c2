//! What one step costs, phase by phase, in steps of the baseline: bars that say where the time goes, and a tick
//! at the tokens a step gives. Where the bar ends left of its tick, the method is faster than its baseline.

use specimen_record::{CellSummary, Summary};

use crate::ReportError;
use crate::drawing::charts::stacked_bars::{StackedBar, StackedBars};
use crate::drawing::figure::{Figure, Style, Words};
use crate::figures::by_reason;
use crate::table::CsvText;
use crate::tables::conditions::conditions;

/// Phases of a step in the order in which they are stacked.
pub(crate) const PHASES: [&str; 6] =
    ["target forward", "draft", "schedule", "acceptance walk", "bookkeeping", "rest"];

/// The cost of a step of each cell.
pub(crate) struct StepCosts {
    rows: Vec<Row>,
    left_out: Vec<(String, String)>,
}

struct Row {
    cell: String,
    is_baseline: bool,
    /// Seconds a verification, by phase.
    seconds: [f64; 6],
    /// The same over the baseline's seconds a step.
    costs: [f64; 6],
    /// Tokens a verification, skipped steps included, pooled over all images.
    tokens: Option<f64>,
    speedup: Option<f64>,
}

impl StepCosts {
    /// The costs of a summary, or the reason why there are none.
    pub(crate) fn of(summary: &Summary) -> Result<StepCosts, String> {
        let mut costs = StepCosts { rows: Vec::new(), left_out: Vec::new() };
        for cell in &summary.cells {
            match row(summary, cell) {
                Ok(row) => costs.rows.push(row),
                Err(why) => costs.left_out.push((cell.id.clone(), why)),
            }
        }
        if costs.rows.iter().all(|row| row.is_baseline) {
            return Err(format!(
                "no cell but the baseline has times of its own and of its baseline ({})",
                by_reason(&costs.left_out)
            ));
        }
        Ok(costs)
    }

    /// The figure.
    pub(crate) fn figure(&self, summary: &Summary, style: &Style) -> Result<Figure, ReportError> {
        let mut caption = format!(
            "Mean time of one verification with everything around it, in steps of {}, without the prefill. The \
             upright tick is at the tokens a verification gives: tick over length of the bar is the speedup that \
             these means give without the prefill; the measured one is at the right. Rest: decode time in no \
             named phase.",
            summary.baseline
        );
        if !self.left_out.is_empty() {
            caption += &format!(" Without a bar: {}.", by_reason(&self.left_out));
        }
        let words = Words {
            name: "phases".to_owned(),
            title: format!("{}: what a step costs", summary.name),
            conditions: conditions(summary),
            caption,
        };
        let bars = self.rows.iter().map(|row| StackedBar {
            name: row.cell.clone(),
            parts: row.costs.to_vec(),
            tick: row.tokens,
            words: row.speedup.map(|speedup| format!("{speedup:.2} ×")).unwrap_or_default(),
        });
        let drawing = StackedBars {
            bars: bars.collect(),
            parts: PHASES.map(str::to_owned).to_vec(),
            x_name: format!("Cost of a step, in steps of {}", summary.baseline),
            tick_name: "tokens it gives".to_owned(),
            words_name: "speedup".to_owned(),
        };
        Figure::of(words, &drawing, self.csv()?, style)
    }

    fn csv(&self) -> Result<String, ReportError> {
        let mut out = CsvText::new();
        out.write_record([
            "cell",
            "phase",
            "seconds_per_verification",
            "in_baseline_steps",
            "tokens_per_verification",
            "speedup",
            "why",
        ])?;
        let text = |value: Option<f64>| value.map(|v| v.to_string()).unwrap_or_default();
        for row in &self.rows {
            for (at, phase) in PHASES.iter().enumerate() {
                out.write_record([
                    &row.cell,
                    *phase,
                    &row.seconds[at].to_string(),
                    &row.costs[at].to_string(),
                    &text(row.tokens),
                    &text(row.speedup),
                    "",
                ])?;
            }
        }
        for (cell, why) in &self.left_out {
            out.write_record([cell, "", "", "", "", "", why.as_str()])?;
        }
        Ok(out.into_text())
    }
}

fn row(summary: &Summary, cell: &CellSummary) -> Result<Row, String> {
    let baseline = cell.baseline.as_ref().and_then(|id| summary.cell(id));
    let baseline = baseline.ok_or("it has no baseline")?;
    let seconds = seconds_per_step(cell)?;
    let step: f64 = seconds_per_step(baseline).map_err(|why| format!("its baseline: {why}"))?.iter().sum();
    if step <= 0.0 {
        return Err("a step of its baseline took no time".to_owned());
    }
    Ok(Row {
        cell: cell.id.clone(),
        is_baseline: cell.is_baseline(),
        seconds,
        costs: seconds.map(|s| s / step),
        // Pooled over all verifications, as the times of the bar are.
        tokens: cell.value("pooled_tpf"),
        speedup: cell.value("speedup"),
    })
}

/// Seconds of each phase for one verification; the prefill is a forward and no step.
fn seconds_per_step(cell: &CellSummary) -> Result<[f64; 6], String> {
    let decode = cell.value("decode_s").ok_or_else(|| cell.why_not("decode_s"))?;
    let verifications = cell.value("timed_verifications").filter(|n| *n > 0.0);
    let verifications = verifications.ok_or("it took no step after the prefill")?;
    let phases = ["prefill_s", "target_s", "draft_s", "schedule_s", "verify_s", "update_s"];
    let [prefill, target, draft, schedule, verify, update] =
        phases.map(|phase| cell.value(phase).unwrap_or(0.0));
    // Clocks of phases and of the whole are read one after the other: the rest may fall below nothing.
    let rest = (decode - prefill - target - draft - schedule - verify - update).max(0.0);
    Ok([target, draft, schedule, verify, update, rest].map(|seconds| seconds / verifications))
}
