//! Figures and columns of a report as a paper wants them, on the stub network.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;

use crate::support::{Desk, spec};

/// A desk with a run `a`.
fn desk() -> Desk {
    let desk = Desk::new();
    desk.succeeds(&["run", &spec("ci/stub.toml"), "--limit", "6", "--out", "a", "--set", "name=\"a\""]);
    desk
}

#[test]
fn a_figure_for_a_column_has_its_size_and_no_title() {
    let desk = desk();
    let figure = ["report", "a", "--figure", "acceptance", "--out", "figures", "--width"];
    let files = desk.succeeds(&[&figure[..], &["column", "--no-title"]].concat()).out;
    let names = ["svg", "pdf", "png", "csv"].map(|ending| format!("figures/acceptance.{ending}"));
    assert_eq!(files.lines().collect::<Vec<_>>(), names.iter().collect::<Vec<_>>());
    let svg = fs::read_to_string(desk.path("figures/acceptance.svg")).unwrap();
    assert!(svg.contains("width=\"85mm\"") && !svg.contains("acceptance by depth"), "{svg}");
    let pdf = fs::read(desk.path("figures/acceptance.pdf")).unwrap();
    // 85 mm are 240.94 points.
    assert!(String::from_utf8_lossy(&pdf).contains("/MediaBox [0 0 240.9"), "the page has another width");
    // 500 dots an inch: bytes 16 to 20 of a PNG are its width.
    let png = fs::read(desk.path("figures/acceptance.png")).unwrap();
    assert_eq!(u32::from_be_bytes(png[16..20].try_into().unwrap()), 1680);

    desk.succeeds(&[&figure[..], &["120"]].concat());
    let svg = fs::read_to_string(desk.path("figures/acceptance.svg")).unwrap();
    assert!(svg.contains("width=\"120mm\"") && svg.contains("acceptance by depth"), "{svg}");
    desk.fails(&[&figure[..], &["wide"]].concat(), 2, &["`column`, `page` or millimetres from 60 to 400"]);
    desk.fails(&["report", "a", "--figure", "parto"], 2, &["no figure `parto`", "pareto"]);
    desk.fails(&["report", "a", "--width", "column"], 2, &["required arguments"]);
}

#[test]
fn a_table_has_the_columns_that_were_named_in_their_order() {
    let desk = desk();
    desk.succeeds(&["report", "a", "--columns", "nfe,accepted_per_step"]);
    let markdown = fs::read_to_string(desk.path("a/report/table.md")).unwrap();
    let head = markdown.lines().find(|line| line.starts_with("| method")).unwrap();
    let heads: Vec<&str> = head.split('|').map(str::trim).filter(|head| !head.is_empty()).collect();
    assert_eq!(heads.len(), 3, "{head}");
    assert!(heads[1].starts_with("NFE") && heads[2].starts_with("accepted"), "{head}");
    // The CSV has all numbers anyway.
    let csv = fs::read_to_string(desk.path("a/report/table.csv")).unwrap();
    assert!(csv.lines().next().unwrap().contains(",speedup,"), "{csv}");
    desk.fails(&["report", "a", "--columns", "fid"], 2, &["--columns: no column `fid`", "NFE"]);
}
