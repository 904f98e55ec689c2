//! First rules, for a run that becomes the first baseline: what every gate should check, each with the reason in a
//! comment. They are a first guess that a person edits.

use std::fmt::Write;

use specimen_record::{CellSummary, Guarantee, Origin, Reading, Summary, TARGET_NLL};

/// The text of a file of rules for this run. Rules about times are for the machine labelled `runner`; without a label they
/// are comments.
pub fn starter_rules(summary: &Summary, runner: Option<&str>) -> String {
    let n_images = summary.cells.iter().map(|cell| cell.n_images).min().unwrap_or(0);
    let mut out = format!(
        "# Rules that a run of the baseline `{}` is checked by. --update-baseline wrote them once, as a first guess:\n\
         # edit them. docs/gates.md explains every key. `cells` takes names, and `*` for any run of characters.\n\
         schema = 1\n",
        summary.name
    );
    rule(
        &mut out,
        "Forwards of the target. The same spec makes the same number on one kind of processor; another kind rounds\n\
         differently and draws other tokens. 0.05 allows five percent more.",
        &["*".to_owned()],
        "nfe",
        &counted("0.05", "lower-is-better", n_images),
    );
    let drafting =
        names(summary, |cell| cell.value("accepted_per_step").is_some_and(|accepted| accepted > 0.0));
    if !drafting.is_empty() {
        rule(
            &mut out,
            "Accepted draft tokens a step, of the cells that draft. Only fewer is a failure.",
            &drafting,
            "accepted_per_step",
            &counted("0.05", "higher-is-better", n_images),
        );
    }
    let none = [("kind", "\"window\"".to_owned()), ("low", "0.0".to_owned()), ("high", "0.0".to_owned())];
    // A baseline passes its own rules.
    let (why, failed) = match summary.cells.iter().map(|cell| cell.n_failed).max().unwrap_or(0) {
        0 => ("No image may fail.".to_owned(), none.clone()),
        n => {
            let [kind, low, (key, _)] = none.clone();
            let why =
                format!("In this run up to {n} images of a cell failed. Once none does, make `high` 0.0.");
            (why, [kind, low, (key, format!("{n}.0"))])
        }
    };
    rule(&mut out, &why, &["*".to_owned()], "n_failed", &failed);
    let exact = names(summary, |cell| cell.guarantee == Guarantee::Exact);
    if !exact.is_empty() {
        rule(
            &mut out,
            "An exact method never draws a token that the target gives probability 0.",
            &exact,
            "out_of_support",
            &none,
        );
    }
    metrics(&mut out, summary);
    times(&mut out, summary, runner);
    out
}

/// One rule a metric that has a value.
fn metrics(out: &mut String, summary: &Summary) {
    let mut done: Vec<&str> = Vec::new();
    for metric in summary.cells.iter().flat_map(|cell| &cell.metrics) {
        if done.contains(&metric.metric.as_str()) || metric.value.is_none() {
            continue;
        }
        done.push(&metric.metric);
        let mut keys = match metric.ci95 {
            Some(_) => vec![("kind", "\"interval\"".to_owned())],
            None => vec![("kind", "\"relative\"".to_owned()), ("tolerance", "0.05".to_owned())],
        };
        // A likelihood that moves is a change in either direction: exact cells keep theirs, relaxed ones should be near the
        // baseline's.
        match metric.higher_is_better.filter(|_| metric.metric != TARGET_NLL) {
            Some(true) => keys.push(("direction", "\"higher-is-better\"".to_owned())),
            Some(false) => keys.push(("direction", "\"lower-is-better\"".to_owned())),
            None => {}
        }
        let alike = summary.cells.iter().flat_map(|cell| &cell.metrics);
        let alike = alike.filter(|m| m.metric == metric.metric && m.value.is_some());
        keys.push(("min_n", alike.map(|m| m.n).min().unwrap_or(metric.n).to_string()));
        let is_either = metric.metric == TARGET_NLL;
        let why = match (metric.ci95, metric.higher_is_better.filter(|_| !is_either)) {
            (Some(_), Some(true)) => "Fails where the 95 % interval ends below the baseline's.",
            (Some(_), Some(false)) => "Fails where the 95 % interval begins above the baseline's.",
            (Some(_), None) => "Fails where the 95 % interval and the baseline's do not overlap.",
            (None, _) => "It has no interval, so a share of the baseline's value is allowed.",
        };
        let cells = names(summary, |cell| {
            cell.metrics.iter().any(|m| m.metric == metric.metric && m.value.is_some())
        });
        rule(out, why, &cells, &metric.metric, &keys);
    }
}

/// Rules about speedups, as comments without the label of a machine. Of another program's images only the whole time has one.
fn times(out: &mut String, summary: &Summary, runner: Option<&str>) {
    let has = |cell: &CellSummary, is_timed: fn(&Reading) -> bool| {
        let whole = (cell.origin == Some(Origin::External)).then(|| cell.measured("speedup_e2e"));
        let found = Some(cell.measured("speedup")).filter(|speedup| speedup.value.is_some()).or(whole);
        !cell.is_baseline() && found.as_ref().is_some_and(is_timed)
    };
    let timed = |cell: &CellSummary| has(cell, |found| found.value.is_some() && found.ci95.is_some());
    let own = names(summary, |cell| timed(cell) && cell.value("speedup").is_some());
    let external = names(summary, |cell| timed(cell) && cell.value("speedup").is_none());
    if own.is_empty() && external.is_empty() {
        if summary.cells.iter().any(|cell| has(cell, |found| found.value.is_some())) {
            out.push_str(
                "\n# No rule about times: no speedup of this run has an interval. One needs six prompts.\n",
            );
        }
        return;
    }
    let keys = [
        ("kind", "\"interval\"".to_owned()),
        ("direction", "\"higher-is-better\"".to_owned()),
        ("legs", "0.15".to_owned()),
        ("confirm", "2".to_owned()),
        ("runner", quoted(runner.unwrap_or("LABEL"))),
    ];
    let why = "Times are checked on the machine of the baseline only: `runner` is its label, given by --runner or\n\
               SPECIMEN_RUNNER. `legs` allows each of the two times 15 percent; `confirm` asks for two reruns.";
    let mut text = String::new();
    if !own.is_empty() {
        rule(&mut text, why, &own, "speedup", &keys);
    }
    if !external.is_empty() {
        let of_others = format!("Of another program's images the whole time is known.\n{why}");
        rule(&mut text, &of_others, &external, "speedup_e2e", &keys);
    }
    match runner {
        Some(_) => out.push_str(&text),
        None => {
            out.push_str("\n# To check times too, label the machine, renew the baseline on it and remove the `#` below.\n");
            for line in text.trim().lines() {
                let _ = writeln!(out, "# {}", line.trim_start_matches("# "));
            }
        }
    }
}

fn counted(tolerance: &str, direction: &str, n_images: u64) -> [(&'static str, String); 4] {
    [
        ("kind", "\"relative\"".to_owned()),
        ("tolerance", tolerance.to_owned()),
        ("direction", quoted(direction)),
        ("min_n", n_images.to_string()),
    ]
}

/// Appends a rule with its reason.
fn rule(out: &mut String, why: &str, cells: &[String], measure: &str, keys: &[(&str, String)]) {
    out.push('\n');
    for line in why.lines() {
        let _ = writeln!(out, "# {}", line.trim());
    }
    let cells: Vec<String> = cells.iter().map(|name| quoted(name)).collect();
    let cells = ("cells", format!("[{}]", cells.join(", ")));
    out.push_str("[[rule]]\n");
    for (key, value) in [cells, ("measure", quoted(measure))].iter().chain(keys) {
        let _ = writeln!(out, "{key:9} = {value}");
    }
}

fn names(summary: &Summary, wanted: impl Fn(&CellSummary) -> bool) -> Vec<String> {
    summary.cells.iter().filter(|cell| wanted(cell)).map(|cell| cell.id.clone()).collect()
}

/// A TOML text.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
