//! Tables say what the summary says: aligned, with conditions, directions, intervals and reasons.

use crate::fixture;
use crate::fixture::reading;

use specimen_record::Reading;

use insta::assert_snapshot;
use specimen_report::{table, table_csv, table_of};
use unicode_width::UnicodeWidthStr;

/// Three cells are enough to see every kind of entry.
fn small() -> specimen_record::Summary {
    let mut summary = fixture::summary();
    summary.cells = [0, 2, 3, 6].map(|at| summary.cells[at].clone()).to_vec();
    summary
}

#[test]
fn the_terminal_table_reads_as_printed() {
    assert_snapshot!(table(&small()).unwrap().text(120));
}

#[test]
fn the_markdown_table_reads_as_printed() {
    assert_snapshot!(table(&small()).unwrap().markdown());
}

#[test]
fn what_relaxed_rules_spent_is_named_where_it_is_known() {
    let mut summary = fixture::summary();
    assert!(!table(&summary).unwrap().markdown().contains("Total variation distance of their rules"));
    // Of what skips verifications it says nothing: a skipped token has no distance.
    for (id, spent) in [("lantern", 1.234), ("gsd", 0.5), ("sd-tree13", 3.0)] {
        reading(summary.cells.iter_mut().find(|cell| cell.id == id).unwrap(), "tvd_spent").value =
            Some(spent);
    }
    let text = table(&summary).unwrap().markdown();
    let said = text.split("Total variation distance of their rules, mean per image: ").nth(1).unwrap();
    let said = said.split('\n').next().unwrap();
    assert!(["gsd 0.50", "lantern 1.23"].iter().all(|cell| said.contains(cell)), "{said}");
    assert!(!said.contains("sd-tree13"), "an exact method spends none: {said}");
}

#[test]
fn the_csv_holds_every_number_in_full() {
    assert_snapshot!(table_csv(&small()).unwrap());
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    for width in [80, 100, 130, 400] {
        let text = table(&fixture::summary()).unwrap().text(width);
        let widest = text.lines().map(UnicodeWidthStr::width).max().unwrap();
        assert!(widest <= width, "{widest} > {width}");
        assert_eq!(text.matches("\ncascade+vvs ").count(), text.matches("\nmethod ").count());
    }
    assert_eq!(table(&fixture::summary()).unwrap().text(400).matches("\nmethod ").count(), 1);
}

#[test]
fn markdown_columns_line_up() {
    let text = table(&fixture::summary()).unwrap().markdown();
    let widths: Vec<usize> =
        text.lines().filter(|l| l.starts_with('|')).map(UnicodeWidthStr::width).collect();
    assert_eq!(widths.len(), 11);
    assert!(widths.iter().all(|w| *w == widths[0]), "{widths:?}");
}

#[test]
fn the_line_of_other_means_says_why_a_median_is_missing() {
    let why = "A median needs 6 prompts or batches.";
    let mut summary = small();
    assert!(!table(&summary).unwrap().markdown().contains(why));
    reading(&mut summary.cells[1], "speedup_median").value = None;
    assert!(!table(&summary).unwrap().markdown().contains(why), "a summary that is older than medians");
    reading(&mut summary.cells[1], "speedup").observations =
        Some(specimen_record::Observations { n: 5, of: specimen_record::ObservedUnit::Prompts });
    assert!(table(&summary).unwrap().markdown().contains(why));
    // Of a cell whose decoding is unknown, those of the whole time.
    let of_e2e = "\nSpeedup e2e prompt by prompt, geometric mean / median: sd-tree13 1.48 [1.43, 1.53] / —.";
    assert!(!table(&summary).unwrap().markdown().contains("Speedup e2e prompt by prompt"));
    let cell = &mut summary.cells[1];
    cell.origin = Some(specimen_record::Origin::External);
    *reading(cell, "speedup_e2e_median") = Reading::absent("few");
    for mean in ["", "_geomean", "_median"] {
        *reading(cell, &format!("speedup{mean}")) = Reading::absent("not known");
    }
    let text = table(&summary).unwrap().markdown();
    assert!(text.contains(of_e2e) && !text.contains("median: sd-tree13 1.48 [1.43, 1.53] / —; "), "{text}");
}

#[test]
fn a_missing_metric_shows_its_reason_once() {
    let mut summary = small();
    summary.cells[1].metrics.remove(1);
    let text = table(&summary).unwrap().markdown();
    assert_eq!(text.matches("32 images, the protocol asks for 500").count(), 1);
    assert_eq!(text.matches("\nᶠ not scored for this cell").count(), 1);
    assert_eq!(text.matches(" —ᶠ |").count(), 1);
    assert_eq!(text.matches(" —ᵍ |").count(), 4, "{text}");
    assert!(
        table_csv(&summary).unwrap().contains("scene-clip: not scored for this cell; fd-scenes: 32 images")
    );
}

#[test]
fn the_best_of_each_kind_is_bold_and_the_baseline_never() {
    let mut summary = small();
    reading(&mut summary.cells[0], "decode_s").value = Some(0.001);
    let text = table(&summary).unwrap().markdown();
    let row = |name: &str| text.lines().find(|l| l.starts_with(&format!("| {name} "))).unwrap().to_owned();
    assert!(!row("ar").contains("**"));
    assert!(row("sd-tree13").contains("**1.48 [1.43, 1.54]**"));
    assert!(row("sd-dynamic60").contains("**2.44**"));
    assert!(!row("lantern").contains("**"), "one of its items failed");

    reading(&mut summary.cells[2], "speedup").value = Some(1.48);
    let text = table(&summary).unwrap().markdown();
    assert_eq!(text.matches("**1.48 ").count(), 0, "where all that are ranked are equal, none is the best");
}

#[test]
fn two_that_tie_above_a_third_are_both_the_best() {
    let mut summary = fixture::summary();
    for cell in
        summary.cells.iter_mut().filter(|cell| ["sd-tree13", "sd-dynamic60"].contains(&cell.id.as_str()))
    {
        reading(cell, "speedup").value = Some(9.0);
    }
    let text = table(&summary).unwrap().markdown();
    assert_eq!(text.matches("**9.00").count(), 2, "{text}");
    let head = text.lines().find(|line| line.starts_with("| method")).unwrap();
    let column = head.split('|').position(|head| head.trim().starts_with("speedup")).unwrap();
    let rows = text.lines().filter(|line| line.contains("| exact "));
    let bold = rows.filter(|line| line.split('|').nth(column).unwrap().contains("**"));
    assert_eq!(bold.count(), 2, "{text}");
}

#[test]
fn no_metric_ranks_rows_that_share_one_distribution() {
    let text = table(&fixture::summary()).unwrap().markdown();
    let marked = |name: &str, column: usize| {
        let row = text.lines().find(|l| l.starts_with(&format!("| {name} "))).unwrap();
        row.split('|').nth(column + 1).unwrap().contains('*')
    };
    let head: Vec<&str> =
        text.lines().find(|l| l.starts_with("| method")).unwrap().split('|').skip(1).map(str::trim).collect();
    let column = |name: &str| head.iter().position(|head| head.starts_with(name)).unwrap();
    for metric in ["target-nll", "scene-clip"] {
        for exact in ["sd-chain3", "sd-tree13", "sd-dynamic60", "sjd"] {
            assert!(!marked(exact, column(metric)), "{exact} {metric}");
        }
    }
    // Relaxed rows compete: gsd is the nearest to the target, cascade has the highest score.
    assert!(marked("gsd", column("abs. Δ target-nll")) && marked("cascade", column("scene-clip")), "{text}");
    assert!(marked("sd-tree13", column("speedup")), "{text}");
    assert!(text.contains("Exact methods sample the same distribution"), "{text}");
}

#[test]
fn a_relaxed_row_whose_tokens_are_too_likely_is_not_the_best() {
    let mut summary = fixture::summary();
    let gsd = summary.cells.iter_mut().find(|cell| cell.id == "gsd").unwrap();
    let versus = gsd.metrics[0].vs_baseline.as_mut().unwrap();
    (versus.difference, versus.ci95) = (-0.5, Some([-0.6, -0.4]));
    gsd.metrics[0].value = gsd.metrics[0].value.map(|value| value - 0.558);
    let text = table(&summary).unwrap().markdown();
    let cells = |name: &str| {
        let row = text.lines().find(|line| line.starts_with(&format!("| {name} "))).unwrap();
        row.split('|').skip(1).map(|entry| entry.trim().to_owned()).collect::<Vec<_>>()
    };
    let column = |name: &str| cells("method").iter().position(|head| head.starts_with(name)).unwrap();
    let (value, distance) = (column("target-nll"), column("abs. Δ target-nll"));
    assert!(!cells("method")[value].contains('↓') && cells("method")[distance].ends_with('↓'), "{text}");
    assert!(cells("gsd")[distance].starts_with("0.500 ± 0.100"), "{text}");
    assert!(cells("cascade")[distance].starts_with("**0.074"), "the nearest wins: {text}");
    assert!(["gsd", "cascade"].iter().all(|name| !cells(name)[value].contains('*')), "{text}");
    assert!(
        cells("sd-tree13")[distance].starts_with('—')
            && text.contains("differs from the baseline only by chance")
    );
    assert!(text.contains("nearer to 0 is better"), "{text}");

    summary.cells.retain(|cell| cell.guarantee == specimen_record::Guarantee::Exact);
    let text = table(&summary).unwrap().markdown();
    assert!(text.contains("target-nll") && text.contains('↓') && !text.contains("abs. Δ"), "{text}");
}

#[test]
fn a_row_with_failed_or_missing_items_has_no_mark_and_says_so() {
    let mut summary = fixture::summary();
    let lantern = summary.cells.iter_mut().find(|cell| cell.id == "lantern").unwrap();
    (reading(lantern, "speedup").value, reading(lantern, "nfe").value) = (Some(9.0), Some(2.0));
    let tree = summary.cells.iter_mut().find(|cell| cell.id == "sd-tree13").unwrap();
    (tree.n_images, tree.n_failed) = (30, 0);
    let text = table(&summary).unwrap().markdown();
    let row = |name: &str| text.lines().find(|l| l.starts_with(&format!("| {name} "))).unwrap().to_owned();
    assert!(!row("lantern").contains('*') && !row("sd-tree13").contains('*'), "{text}");
    assert!(row("sd-dynamic60").contains("**1.42 "), "{text}");
    assert!(text.contains("1 item failed: the row is not ranked"), "{text}");
    assert!(text.contains("2 items missing: the row is not ranked"), "{text}");
}

#[test]
fn only_rows_that_draft_nothing_are_said_to_draft_nothing() {
    let text = |method: &str, accepted: f64| {
        let mut summary = small();
        let cell = summary.cells.iter_mut().find(|cell| cell.id == "sd-tree13").unwrap();
        cell.family = Some(specimen_record::Family::Rows);
        cell.method = method.to_owned();
        reading(cell, "accepted_per_step").value = Some(accepted);
        table(&summary).unwrap().markdown()
    };
    let words = "it drafts nothing; the tokens of all rows count in tokens / forward";
    assert!(text("none", 0.0).contains(words), "{}", text("none", 0.0));
    for (method, accepted) in [("none", 1.9), ("sjd in each row", 0.4), ("sjd in each row", 0.0)] {
        assert!(!text(method, accepted).contains(words), "{method}, {accepted}");
    }
}

#[test]
fn few_batches_leave_intervals_of_paired_differences() {
    use specimen_record::{Observations, ObservedUnit};

    let mut summary = small();
    for cell in &mut summary.cells {
        (cell.n_images, cell.n_failed) = (80, 0);
        reading(cell, "speedup").observations = Some(Observations { n: 80, of: ObservedUnit::Prompts });
    }
    let tree = summary.cells.iter_mut().find(|cell| cell.id == "sd-tree13").unwrap();
    reading(tree, "speedup").observations = Some(Observations { n: 4, of: ObservedUnit::Batches });
    let text = table(&summary).unwrap().markdown();
    let line = "n = 4 batches of sd-tree13: too few for an interval of a speedup, which needs 6; what differs may be chance.";
    assert!(text.contains(line), "{text}");
}

#[test]
fn the_head_of_a_table_counts_prompts_and_batches_apart() {
    use specimen_record::{Observations, ObservedUnit};

    let mut summary = small();
    for cell in &mut summary.cells {
        (cell.n_images, cell.n_failed) = (12, 0);
        let (n, of) = match cell.id.as_str() {
            "sd-tree13" => (6, ObservedUnit::Batches),
            _ => (12, ObservedUnit::Prompts),
        };
        reading(cell, "speedup").observations = Some(Observations { n, of });
    }
    let text = table(&summary).unwrap().markdown();
    assert!(text.contains("n = 12 images a cell, speedups over 6 batches to 12 prompts"), "{text}");
}

#[test]
fn a_speedup_over_few_observations_says_how_many_they_are_and_why_it_has_no_interval() {
    use specimen_record::{Observations, ObservedUnit};

    for (n, of, words) in [(2, ObservedUnit::Batches, "2 batches"), (4, ObservedUnit::Prompts, "4 prompts")] {
        let mut summary = small();
        for cell in &mut summary.cells {
            (cell.n_images, cell.n_failed) = (8, 0);
            reading(cell, "speedup").observations = Some(Observations { n, of });
            (reading(cell, "speedup").ci95, reading(cell, "speedup_geomean").ci95) = (None, None);
        }
        let text = table(&summary).unwrap().markdown();
        assert!(text.contains(&format!("n = 8 images a cell, speedups over {words}")), "{text}");
        assert!(text.contains(&format!("no interval: {words}, and one needs at least 6")), "{text}");
        // Of 8 images: two of each prompt, or prompts that the baseline has not.
        let shared = words.replace("prompts", "shared prompts");
        assert!(text.contains(&format!("n = {shared} a cell: too few for an interval")), "{text}");
        let row = text.lines().find(|line| line.starts_with("| sd-tree13 ")).unwrap();
        let speedup = summary.cell("sd-tree13").unwrap().value("speedup").unwrap();
        assert!(row.contains(&format!("{speedup:.2}")) && row.contains("ᵃ"), "{row}");
        let ar = text.lines().find(|line| line.starts_with("| ar ")).unwrap();
        assert!(!ar.contains("1.00ᵃ"), "the baseline is 1 by definition: {ar}");
        let csv = table_csv(&summary).unwrap();
        assert!(csv.contains(&format!("speedup: no interval: {words}")), "{csv}");
    }
    // Where one cell has fewer than the others, it is named.
    let mut summary = small();
    for cell in &mut summary.cells {
        let n = if cell.id == "sd-tree13" { 5 } else { 6 };
        cell.n_images = n;
        reading(cell, "speedup").observations = Some(Observations { n, of: ObservedUnit::Prompts });
    }
    let text = table(&summary).unwrap().markdown();
    let line = "n = 5 prompts of sd-tree13: too few for an interval of a speedup, of a paired difference or of a mean by a bootstrap,";
    assert!(text.contains(line), "{text}");
    let others = text.split("n = 6 prompts of ").nth(1).unwrap_or_else(|| panic!("{text}"));
    assert!(others.lines().next().unwrap().ends_with(": intervals from so few are not reliable."), "{text}");
    // Another program's images have whole times only, over the prompts that both programs drew.
    let mut summary = small();
    for cell in &mut summary.cells {
        cell.n_images = 8;
        let observations = Some(Observations { n: 5, of: ObservedUnit::Prompts });
        (reading(cell, "speedup").observations, reading(cell, "speedup_e2e").observations) =
            (None, observations);
    }
    let text = table(&summary).unwrap().markdown();
    assert!(text.contains("n = 5 shared prompts a cell: too few for an interval"), "{text}");
    // As many prompts as images, and enough of them: nothing to say.
    let mut summary = small();
    for cell in &mut summary.cells {
        reading(cell, "speedup").observations =
            Some(Observations { n: cell.n_images, of: ObservedUnit::Prompts });
    }
    let text = table(&summary).unwrap().markdown();
    assert!(!text.contains("speedups over") && !text.contains("no interval"), "{text}");
}

#[test]
fn a_drift_that_is_not_known_has_its_reason_in_the_line_on_times() {
    use specimen_record::{CellTimingQuality, TimingQuality, TimingQuantity};

    let mut summary = small();
    let why = [(TimingQuantity::Drift, "no session timed the baseline in three blocks or more".to_owned())];
    summary.timing_quality = Some(TimingQuality {
        drift: None,
        short_sessions: None,
        others_busy_mean: Some(0.02),
        plain_steps: Vec::new(),
        why: why.into(),
    });
    for cell in &mut summary.cells {
        cell.timing_quality = Some(CellTimingQuality { n_timed: 32, n_outliers: 0, outliers: Vec::new() });
    }
    let text = table(&summary).unwrap().markdown();
    let reason = "Timing: the drift is not known (no session timed the baseline in three blocks or more); other processes";
    assert!(text.contains(reason), "{text}");
}

#[test]
fn a_report_begins_with_a_slow_baseline() {
    use specimen_record::{OtherStep, PlainStep, TimingQuality};

    let mut summary = small();
    let other = OtherStep { dtype: "f32".to_owned(), step_s: Some(0.003), why: None };
    let (cell, model, dtype) = ("ar".to_owned(), "tiny".to_owned(), "bf16".to_owned());
    let plain_steps =
        vec![PlainStep { cell, model, dtype, step_s: 0.006, bound_s: None, other: Some(other) }];
    let drift = Some(1.0);
    summary.timing_quality = Some(TimingQuality {
        drift,
        short_sessions: None,
        others_busy_mean: Some(0.0),
        plain_steps,
        why: [].into(),
    });
    let text = table(&summary).unwrap().markdown();
    let warning = "WARNING: ar runs at 50 % of what f32 reaches here: speedups are over a slow baseline.";
    assert!(text.trim_start().starts_with(warning), "{text}");
}

#[test]
fn every_dash_has_its_reason() {
    let mut summary = fixture::summary();
    for cell in &mut summary.cells {
        // As a run of one prompt leaves them: a prediction, and no speedup to hold against it.
        *reading(cell, "speedup") = Reading::absent("fewer than two prompts were timed");
        *reading(cell, "speedup_e2e") = Reading::absent("fewer than two prompts were timed");
        *reading(cell, "measured_to_predicted_speedup") =
            Reading::absent("no measured speedup: fewer than two prompts were timed");
    }
    let text = table(&summary).unwrap().markdown();
    assert!(text.contains("no measured speedup: fewer than two prompts were timed"), "{text}");
    let csv = table_csv(&summary).unwrap();
    assert!(csv.contains("measured_to_predicted_speedup: no measured speedup: fewer than two"), "{csv}");
    assert!(!text.contains("gives no reason") && !csv.contains("gives no reason"), "{text}");
}

#[test]
fn differences_from_the_baseline_have_p_values_that_hold_for_all_rows_together() {
    let mut summary = small();
    for (at, z) in [(1, 2.5), (2, -1.0), (3, 0.5)] {
        let versus = summary.cells[at].metrics[0].vs_baseline.as_mut().unwrap();
        (versus.z, versus.n) = (Some(z), 3);
    }
    let text = table(&summary).unwrap().text(4000);
    // Student's t with two degrees of freedom: p = 1 - t / sqrt(2 + t^2), times 3, 2, 1 and never falling.
    let p = |t: f64| 1.0 - t / (2.0 + t * t).sqrt();
    let expected = format!("z +2.5, p {:.2}", 3.0 * p(2.5));
    assert!(text.contains(&expected), "{expected}: {text}");
    assert!(text.contains(&format!("z -1.0, p {:.2}", 2.0 * p(1.0))), "{text}");
    assert!(text.contains("compared with the same images of ar"), "{text}");
}

#[test]
fn a_difference_without_a_p_value_says_why() {
    let mut summary = small();
    assert!(!table(&summary).unwrap().text(4000).contains("No z and no p"));
    for (at, difference, n) in [(1, 0.0, 12), (2, 0.25, 12), (3, 0.25, 12)] {
        let versus = summary.cells[at].metrics[0].vs_baseline.as_mut().unwrap();
        (versus.difference, versus.z, versus.se, versus.n) = (difference, None, Some(0.0), n);
    }
    let ids: Vec<String> = summary.cells[1..4].iter().map(|cell| cell.id.clone()).collect();
    let text = table(&summary).unwrap().text(4000);
    let expected = format!(
        "No z and no p: target-nll of {} (the same value as the baseline on every prompt); target-nll of {}, target-nll of \
         {} (the same difference on every prompt, so no chance can be estimated).",
        ids[0], ids[1], ids[2]
    );
    assert!(text.contains(&expected), "{text}");
}

#[test]
fn a_row_says_which_baseline_it_is_relative_to_where_there_are_several() {
    let mut summary = small();
    assert!(!table(&summary).unwrap().markdown().contains("| baseline "));
    for at in [1, 2] {
        summary.cells[at].baseline = Some(summary.cells[1].id.clone());
    }
    let (ar, own) = (summary.baseline.clone(), summary.cells[1].id.clone());
    let text = table(&summary).unwrap().markdown();
    assert!(text.contains("| baseline ") && text.contains(&format!("baseline {ar}, {own}.")), "{text}");
    let expected =
        format!("All cells of a group are compared with the same images of its baseline ({ar}, {own})");
    assert!(text.contains(&expected), "{text}");
}

#[test]
fn differences_of_an_axis_with_several_baselines_are_not_said_to_be_from_one() {
    let mut summary = small();
    let baselines = ["ar[temperature=0.8]", "ar[temperature=1]"];
    for (at, cell) in summary.cells.iter_mut().enumerate() {
        cell.baseline = Some(baselines[at % 2].to_owned());
    }
    let text = table(&summary).unwrap().markdown();
    assert!(text.contains("images of its baseline (ar[temperature=0.8], ar[temperature=1])"), "{text}");
}

#[test]
fn a_number_that_only_the_csv_has_is_a_column_where_it_is_asked_for() {
    let summary = small();
    assert!(!table(&summary).unwrap().markdown().contains("| geo"));
    let names = ["speedup_geomean", "speedup_median"].map(str::to_owned);
    let table = table_of(&summary, &names).unwrap();
    assert_eq!(table.columns.len(), 3, "{:?}", table.columns);
    // As every speedup, with both ends of its interval.
    let rows = format!("{:?}", table.rows);
    assert!(rows.contains(" [") && !rows.contains('±'), "{rows}");
}

#[test]
fn the_count_of_a_metric_is_over_the_cells_that_have_it() {
    let mut summary = small();
    let metric = &mut summary.cells[1].metrics[0];
    (metric.value, metric.n) = (None, metric.n - 1);
    let name = metric.metric.clone();
    let text = table(&summary).unwrap().markdown();
    let line = text.lines().find(|line| line.contains("Metrics: ")).unwrap();
    let of_metric = line.split("; ").find(|part| part.contains(&name)).unwrap();
    assert!(!of_metric.contains(" to "), "{of_metric}");
    // Where no cell has a value there is no count of what it is over.
    summary.cells.iter_mut().for_each(|cell| cell.metrics[0].value = None);
    let text = table(&summary).unwrap().markdown();
    assert!(text.contains(&format!("{name}@v1, no value")), "{text}");
}

#[test]
fn the_machine_of_imported_images_is_not_made_up() {
    let mut summary = small();
    for cell in &mut summary.cells {
        cell.origin = Some(specimen_record::Origin::Imported);
    }
    let head = table(&summary).unwrap().head.join(" ");
    assert!(head.contains("a machine that is not known") && !head.contains("thread"), "{head}");
}

#[test]
fn cells_of_different_models_do_not_compete() {
    let mut summary = small();
    summary.cells[2].model = "large".into();
    let text = table(&summary).unwrap().markdown();
    assert!(!text.contains("**") && text.contains("| model "), "{text}");
    assert!(text.contains("Model tiny | large;") || text.contains("Model tiny \\| large;"), "{text}");
}

#[test]
fn names_cannot_break_the_table() {
    let mut summary = small();
    summary.cells[1].id = "a|b *c* `d` <i> [x](y)\nz\u{1b}[2J".into();
    let text = table(&summary).unwrap().markdown();
    assert!(text.contains(r"| a\|b \*c\* \`d\` \<i> [x]\(y) z [2J |"), "{text}");
    assert!(!table(&summary).unwrap().text(200).contains(['\u{1b}', '\r']));
    assert!(!table(&summary).unwrap().text(200).contains("\nz"));
    let csv = table_csv(&summary).unwrap();
    assert!(csv.contains("\na|b *c* `d` <i> [x](y) z [2J,"), "{csv}");
}

#[test]
fn a_name_that_looks_like_a_formula_is_none_in_a_spreadsheet() {
    let mut summary = small();
    summary.cells[1].id = "=HYPERLINK(\"http://x\")".into();
    let csv = table_csv(&summary).unwrap();
    assert!(csv.contains("\n\"'=HYPERLINK(\"\"http://x\"\")\","), "{csv}");
    assert!(!csv.contains(",'"), "numbers keep their sign: {csv}");
}

#[test]
fn the_second_of_at_least_three_is_marked() {
    let text = table(&fixture::summary()).unwrap().markdown();
    let row = |name: &str| text.lines().find(|l| l.starts_with(&format!("| {name} "))).unwrap().to_owned();
    assert!(row("sd-dynamic60").contains("*1.42 [1.36, 1.49]*"), "{text}");
    assert!(row("cascade").contains("*2.06 [1.98, 2.16]*"), "{text}");
    assert!(text.contains("Bold: the best, italic: the second of its group"), "{text}");
}

#[test]
fn two_protocols_of_one_metric_have_two_columns() {
    let mut summary = small();
    for cell in &mut summary.cells {
        let mut other = cell.metrics[1].clone();
        other.protocol = "scene-clip@v2".into();
        cell.metrics.push(other);
    }
    let text = table(&summary).unwrap().markdown();
    assert!(
        text.contains("scene-clip (scene-clip@v1) ↑") && text.contains("scene-clip (scene-clip@v2) ↑"),
        "{text}"
    );
}

#[test]
fn a_gpu_run_names_the_gpu_and_its_host() {
    let mut summary = small();
    summary.cells.iter_mut().for_each(|cell| cell.device = "cuda:0".into());
    summary.gpus = vec!["Example GPU".into()];
    summary.cpu_features.clear();
    summary.threads = 4;
    let text = table(&summary).unwrap().text(200);
    let expected = "bf16 on cuda:0 (Example GPU; host Example CPU 8481, 4 threads, bf16 instructions: no).";
    assert!(text.contains(expected), "{text}");
}

#[test]
fn a_run_without_cells_says_so() {
    let mut summary = small();
    summary.cells.clear();
    assert!(table(&summary).unwrap().text(100).contains("There are no rows."));
    assert!(table(&summary).unwrap().markdown().contains("There are no rows."));
    assert_eq!(table_csv(&summary).unwrap().lines().count(), 1);
}

#[test]
fn the_images_behind_a_metric_are_counted() {
    let mut summary = small();
    summary.cells[3].metrics[0].n = 31;
    let text = table(&summary).unwrap().text(400);
    assert!(
        text.contains("target-nll by target-nll@v1, n = 31 to 32; scene-clip by scene-clip@v1, n = 32;"),
        "{text}"
    );
}
