//! Figures and columns of a report as a paper wants them, on the stub network.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;

use crate::support::Desk;

/// A desk with a run `a`.
fn desk() -> Desk {
    let desk = Desk::new();
    desk.made(&["--limit", "6", "--set", "name=\"a\""], "a");
    desk
}

#[test]
fn a_figure_for_a_column_has_its_size_and_no_title() {
    let desk = desk();
    let figure = ["report", "a", "--figure", "acceptance", "--out", "figures", "--width"];
    let files = desk.succeeds(&[&figure[..], &["column", "--no-title"]].concat()).out;
    let names = ["svg", "pdf", "png", "csv"].map(|ending| format!("figures/acceptance.{ending}"));
    assert_eq!(files.lines().collect::<Vec<_>>(), names.iter().collect::<Vec<_>>());
    let svg = desk.text("figures/acceptance.svg");
    assert!(svg.contains("width=\"85mm\"") && !svg.contains("acceptance by depth"), "{svg}");
    let pdf = desk.bytes("figures/acceptance.pdf");
    // 85 mm are 240.94 points.
    assert!(String::from_utf8_lossy(&pdf).contains("/MediaBox [0 0 240.9"), "the page has another width");
    // 500 dots an inch: bytes 16 to 20 of a PNG are its width.
    let png = desk.bytes("figures/acceptance.png");
    assert_eq!(u32::from_be_bytes(png[16..20].try_into().unwrap()), 1680);

    desk.succeeds(&[&figure[..], &["120"]].concat());
    let svg = desk.text("figures/acceptance.svg");
    assert!(svg.contains("width=\"120mm\"") && svg.contains("acceptance by depth"), "{svg}");
    desk.fails(&[&figure[..], &["wide"]].concat(), 2, &["`column`, `page` or millimetres from 60 to 400"]);
    desk.fails(&["report", "a", "--figure", "parto"], 2, &["no figure `parto`", "pareto"]);
    desk.fails(&["report", "a", "--width", "column"], 2, &["required arguments"]);
}

#[test]
fn a_table_has_the_columns_that_were_named_in_their_order() {
    let desk = desk();
    desk.succeeds(&["report", "a", "--columns", "nfe,accepted_per_step"]);
    let markdown = desk.text("a/report/table.md");
    let head = markdown.lines().find(|line| line.starts_with("| method")).unwrap();
    let heads: Vec<&str> = head.split('|').map(str::trim).filter(|head| !head.is_empty()).collect();
    assert_eq!(heads.len(), 3, "{head}");
    assert!(heads[1].starts_with("NFE") && heads[2].starts_with("accepted"), "{head}");
    // The CSV has all numbers anyway.
    let csv = desk.text("a/report/table.csv");
    assert!(csv.lines().next().unwrap().contains(",speedup,"), "{csv}");
    desk.fails(&["report", "a", "--columns", "fid"], 2, &["--columns: no column `fid`", "NFE"]);
    let interval = "no column `speedup_lo`; the table has the interval in the column `speedup`";
    desk.fails(&["report", "a", "--columns", "speedup_lo"], 2, &[interval]);
    desk.fails(&["report", "a", "--columns", "n_lo"], 2, &["no column `n_lo`; the table has output, "]);
    desk.succeeds(&["report", "a", "--columns", "n_failed,nfe"]);
    let markdown = desk.text("a/report/table.md");
    let rows: Vec<&str> = markdown.lines().filter(|line| line.starts_with('|')).collect();
    assert!(rows[0].contains("| failed items |") && rows[2].contains(" 0 |"), "{markdown}");
}

#[test]
fn a_report_shows_what_the_counts_give_under_measured_costs() {
    let desk = desk();
    let table =
        ["costs", "--model", "stub", "--nodes", "2,6,40", "--repetitions", "10", "--out", "costs.toml"];
    desk.succeeds(&table);
    let costs = desk.text("costs.toml");
    assert!(costs.contains("model = \"stub\"") && costs.contains("weights = \"made\""), "{costs}");
    assert_eq!(costs.matches("[[verification]]").count(), 3, "{costs}");

    let shown = desk.succeeds(&["report", "a", "--costs", "costs.toml", "--format", "json"]).out;
    let summary: serde_json::Value = serde_json::from_str(&shown).unwrap();
    assert!(summary["costs"].as_str().unwrap().starts_with("stub"), "{shown}");
    let plain = &summary["cells"][0];
    assert_eq!(
        (&plain["id"], plain["measures"]["projected_speedup"]["value"].as_f64()),
        (&"ar".into(), Some(1.0))
    );
    let csv = desk.text("a/report/table.csv");
    assert!(csv.lines().next().unwrap().contains(",projected_speedup,"), "{csv}");
    assert!(fs::exists(desk.path("a/report/projected.svg")).unwrap());
    let written = desk.text("a/merged/summary.json");
    assert!(!written.contains("projected"), "the summary of the run holds what was measured");

    fs::write(desk.path("bad.toml"), costs.replace("threads = 1", "threads = 0")).unwrap();
    desk.fails(
        &["report", "a", "--costs", "bad.toml"],
        2,
        &["bad.toml:7", "expected a finite number above 0"],
    );
    let without = ["report", "a", "--figure", "projected"];
    desk.fails(&without, 4, &["no projected figure", "report --costs FILE"]);
}
