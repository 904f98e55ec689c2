//! Figures: which of them a run has, what their data say, and that nothing leaves the paper or stands on another
//! word.

use crate::fixture;
use crate::fixture::reading;

use std::collections::BTreeMap;
use std::fs;
use std::sync::LazyLock;

use ab_glyph::{Font, FontRef, PxScale, ScaleFont};
use insta::assert_snapshot;
use serde_json::{Value, json};
use specimen_record::{
    Confidence, DiagnosticFile, DraftPaths, FeaturePairs, FeatureRows, GuessTally, ItemKey, Reading,
    RisenTokens, RunDir, Summary, write_document,
};
use specimen_report::{Options, Outcome, Quality, Report, Style, draw, report};

/// The files of a report by name, and whether each figure was drawn.
struct Made {
    files: BTreeMap<String, Vec<u8>>,
    figures: Vec<(String, Outcome)>,
}

impl Made {
    fn of(summary: &Summary) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let run = RunDir::create(folder.path().join("run")).unwrap();
        let Report { figures, .. } = written(&run, summary);
        let entries = fs::read_dir(run.report()).unwrap().map(|entry| entry.unwrap());
        let files = entries.filter(|entry| entry.file_type().unwrap().is_file());
        let files = files
            .map(|file| (file.file_name().into_string().unwrap(), fs::read(file.path()).unwrap()))
            .collect();
        Self { files, figures }
    }

    fn read(&self, name: &str) -> String {
        String::from_utf8(self.files[name].clone()).unwrap()
    }
}

/// The three summaries of this file, each drawn once: to draw one takes seconds.
static FIXTURE: LazyLock<Made> = LazyLock::new(|| Made::of(&fixture::summary()));
static SWEPT: LazyLock<Made> = LazyLock::new(|| Made::of(&swept()));
static CROSSED: LazyLock<Made> = LazyLock::new(|| Made::of(&crossed()));

/// Writes the report of a summary into a run.
fn written(run: &RunDir, summary: &Summary) -> Report {
    write_document(&run.summary(), summary).unwrap();
    looked_at(run, summary);
    report(run, &Options::new(Quality::Difference("target-nll".into()), 3)).unwrap()
}

/// What was looked at in the images of every cell: features of two regions, and paths that are alike.
fn looked_at(run: &RunDir, summary: &Summary) {
    let blank = |diagnostic: &str, cell: &str| DiagnosticFile {
        why: Some("it drafts nothing".into()),
        ..DiagnosticFile::new(diagnostic, cell)
    };
    let put = |file: DiagnosticFile| {
        write_document(&run.diagnostic(&file.diagnostic, &file.cell), &file).unwrap();
    };
    for (at, cell) in (0_u64..).zip(&summary.cells) {
        let region = |place: u32| place < 6;
        let cosine = |a: u32, b: u32| {
            if region(a) == region(b) { 1.0 - 0.02 * f64::from(a.abs_diff(b)) } else { 0.31 }
        };
        let square = |n: u32| (0..n * n).map(|at| cosine(at / n, at % n)).collect::<Vec<f64>>();
        let image = FeatureRows {
            key: ItemKey::new(&cell.id, "17", 0),
            n_rows: 16,
            n_cols: 16,
            neighbours: Some(0.68),
            between: square(16),
            last_row: square(16),
        };
        let rows = DiagnosticFile { feature_rows: vec![image], why: None, ..blank("feature-rows", &cell.id) };
        put(rows);
        let pairs = FeaturePairs {
            key: ItemKey::new(&cell.id, "17", 0),
            n_tokens: 32,
            positions: (0..16).map(|at| 2 * at).collect(),
            cosines: square(16),
        };
        put(DiagnosticFile { feature_pairs: vec![pairs], why: None, ..blank("feature-pairs", &cell.id) });
        let is_plain = cell.drafter == "none";
        let confidence = Confidence {
            target: (0..10).map(|bin| 40 - bin).collect(),
            target_mean: 0.4,
            tested: if is_plain { vec![] } else { vec![50; 9].into_iter().chain([3]).collect() },
            accepted: if is_plain { vec![] } else { (0..10).map(|bin| (4 * bin).min(3 + at)).collect() },
            n_images: 2,
            n_repeated: 2,
        };
        put(DiagnosticFile { confidence: Some(confidence), why: None, ..blank("confidence", &cell.id) });
        let tally = |hits: [u64; 9]| GuessTally {
            guesses: vec![100, 90, 80, 70, 60, 50, 40, 30, 5],
            hits: hits.to_vec(),
            risen: [125, 26],
            not_risen: [400, 15],
        };
        let risen = RisenTokens {
            log2_ratio: (-4..=4).map(f64::from).collect(),
            accepted: tally([1, 2, 3, 4, 5, 6, 7, 8, 5]),
            correct: tally([11, 12, 13, 14, 15, 16, 17, 18, 5]),
            n_images: 2,
            n_repeated: 2,
        };
        if is_plain {
            put(blank("risen-tokens", &cell.id));
        } else {
            put(DiagnosticFile { risen_tokens: Some(risen), why: None, ..blank("risen-tokens", &cell.id) });
        }
        let counts: Vec<u64> = (0..40).map(|bin| if bin < 22 { 0 } else { (bin * (7 + at)) % 23 }).collect();
        let paths = DraftPaths {
            alpha: 0.9,
            range: [-1.0, 1.0],
            counts,
            n_single: 3,
            mean: Some(0.5 + 0.02 * at as f64),
            n_images: 2,
            n_repeated: if at == 3 { 1 } else { 2 },
        };
        if is_plain {
            put(blank("draft-paths", &cell.id));
        } else {
            put(DiagnosticFile { draft_paths: Some(paths), why: None, ..blank("draft-paths", &cell.id) });
        }
    }
}

fn why<'a>(made: &'a Made, name: &str) -> &'a str {
    match made.figures.iter().find(|(found, _)| found == name) {
        Some((_, Outcome::Skipped(why))) => why,
        other => panic!("{other:?}"),
    }
}

/// The made-up summary with a sweep of CASCADE's thresholds and the distance it spends.
fn swept() -> Summary {
    let mut summary = fixture::summary();
    let mut cells: Vec<Value> = summary
        .cells
        .iter()
        .map(|cell| json!({"name": cell.id, "method": {"schedule": {"kind": "always"}, "id": cell.id}}))
        .collect();
    let cascade = summary.cells.iter().find(|cell| cell.id == "cascade").unwrap().clone();
    for (at, tau) in [0.9, 0.85, 0.8, 0.7].into_iter().enumerate() {
        let mut cell = cascade.clone();
        cell.id = format!("tight tau_pos={tau}");
        let speed = 1.7 + 0.1 * at as f64;
        reading(&mut cell, "speedup").value = Some(speed);
        reading(&mut cell, "speedup").ci95 = Some([speed - 0.05, speed + 0.05]);
        reading(&mut cell, "tvd_spent").value = Some(0.5 * (at + 1) as f64);
        let versus = cell.metrics[0].vs_baseline.as_mut().unwrap();
        versus.difference = 0.02 * (at + 1) as f64;
        versus.ci95 = Some([versus.difference - 0.01, versus.difference + 0.01]);
        let accept = json!([{"kind": "cascade", "tau_pos": tau, "tau_seq": 0.5}]);
        cells.push(json!({"name": cell.id, "method": {"accept": accept, "schedule": {"kind": "always"}}}));
        summary.cells.push(cell);
    }
    let names = ["feature-rows", "feature-pairs", "draft-paths", "confidence", "risen-tokens"];
    let diagnostics: Vec<Value> = names.iter().map(|name| json!({"name": name, "images": 2})).collect();
    summary.spec = json!({"name": "made-up", "cells": cells, "diagnostics": diagnostics});
    summary
}

#[test]
fn a_figure_that_has_nothing_to_show_says_why() {
    let made = &*FIXTURE;
    let none = "no axis of the spec has two numbers, and no 3 of its cells differ in one number only";
    assert_eq!(why(made, "sweep"), none);
    assert_eq!(why(made, "tvd"), "no cell spends any total variation distance");
    assert_eq!(why(made, "features"), "the spec asks for no [[diagnostic]] `feature-rows`");
    assert_eq!(why(made, "paths"), "the spec asks for no [[diagnostic]] `draft-paths`");
    let mut untimed = fixture::summary();
    for cell in &mut untimed.cells {
        *reading(cell, "decode_s") = Reading::absent("the cell is not timed");
        cell.acceptance_by_depth.clear();
    }
    let made = Made::of(&untimed);
    assert!(
        why(&made, "phases").contains("cascade, cascade+vvs: the cell is not timed"),
        "{}",
        why(&made, "phases")
    );
    assert_eq!(why(&made, "acceptance"), "no cell tested a draft token");
}

#[test]
fn a_sweep_is_found_drawn_and_taken_away_again() {
    let folder = tempfile::tempdir().unwrap();
    let run = RunDir::create(folder.path().join("run")).unwrap();
    let figures = written(&run, &swept()).figures;
    let names: Vec<&str> = figures.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names[..2], ["pareto", "sweep-tau_pos"]);
    let read = |name: &str| fs::read_to_string(run.report().join(name)).unwrap();
    assert_snapshot!(read("sweep-tau_pos.csv"));
    let svg = read("sweep-tau_pos.svg");
    for words in ["sweep of tau_pos", "\ntight\n", "\n0.85\n", "|Δ target-nll| against ar"] {
        assert!(svg.contains(words), "{words}");
    }
    write_document(&run.summary(), &fixture::summary()).unwrap();
    let options = Options::new(Quality::Difference("target-nll".into()), 3);
    report(&run, &options).unwrap();
    assert!(!run.report().join("sweep-tau_pos.svg").exists() && !run.report().join("tvd.png").exists());
}

#[test]
fn the_data_of_the_other_figures_read_as_written() {
    let made = &*SWEPT;
    let head = |name: &str, n: usize| made.read(name).lines().take(n).collect::<Vec<_>>().join("\n");
    assert_snapshot!([head("phases.csv", 12), head("acceptance.csv", 7), head("tvd.csv", 5)].join("\n\n"));
}

#[test]
fn what_was_looked_at_is_drawn_with_its_data() {
    let made = &*SWEPT;
    let rows = |name: &str| made.read(name).lines().count() - 1;
    let n_cells = swept().cells.len();
    assert_eq!((rows("features.csv"), rows("paths.csv")), (n_cells * 2 * 256, (n_cells - 1) * 40 + 1));
    let head = |name: &str, n: usize| made.read(name).lines().take(n).collect::<Vec<_>>().join("\n");
    assert_snapshot!([head("features.csv", 4), head("paths.csv", 25)].join("\n\n"));
    let svg = made.read("features.svg");
    for words in ["image row × image row", "within the last row", "\n0.3\n", "cosine of features"] {
        assert!(svg.contains(words), "{words}");
    }
    let page = made.read("index.html");
    assert!(
        page.contains("Only some came out as recorded") && page.contains("of prompt 17 in cell ar"),
        "the page"
    );
}

/// The made-up summary with a grid of 4 by 4 settings of CASCADE, and a sweep that crosses it.
fn crossed() -> Summary {
    let mut summary = fixture::summary();
    let mut cells: Vec<Value> = summary
        .cells
        .iter()
        .map(|cell| json!({"name": cell.id, "base": cell.id, "params": {}, "method": {"id": cell.id}}))
        .collect();
    let cascade = summary.cells.iter().find(|cell| cell.id == "cascade").unwrap().clone();
    let mut add = |name: String, base: &str, [pos, seq, budget]: [f64; 3]| {
        let mut cell = cascade.clone();
        cell.id.clone_from(&name);
        let speed = 3.0 - pos - 0.5 * seq + 0.1 * budget;
        (reading(&mut cell, "speedup").value, reading(&mut cell, "speedup").ci95) =
            (Some(speed), Some([speed - 0.05, speed + 0.05]));
        let versus = cell.metrics[0].vs_baseline.as_mut().unwrap();
        versus.difference = 0.4 * (1.0 - pos) + 0.2 * (1.0 - seq);
        versus.ci95 = Some([versus.difference - 0.01, versus.difference + 0.01]);
        let accept = json!([{"kind": "cascade", "tau_pos": pos, "tau_seq": seq, "tvd_budget": budget}]);
        cells.push(json!({"name": name, "base": base, "params": {"x": 1}, "method": {"accept": accept}}));
        summary.cells.push(cell);
    };
    for pos in [0.7, 0.8, 0.85, 0.9] {
        for seq in [0.4, 0.5, 0.6, 0.7] {
            add(format!("casc[tau_pos={pos},tau_seq={seq}]"), "casc", [pos, seq, 0.5]);
        }
    }
    for budget in [0.001, 0.01, 0.1, 0.5] {
        add(format!("budget[tvd_budget={budget}]"), "budget", [0.8, 0.5, budget]);
    }
    summary.spec = json!({"name": "made-up", "cells": cells});
    summary
}

#[test]
fn a_sweep_over_two_axes_has_maps_beside_its_curves() {
    let made = &*CROSSED;
    let names: Vec<&str> = made.figures.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        names[..5],
        ["pareto", "sweep-tau_pos", "sweep-tau_seq", "sweep-tvd_budget", "sweep-tau_pos-tau_seq"]
    );
    let maps = made.read("sweep-tau_pos-tau_seq.csv");
    let rows: Vec<Vec<&str>> = maps.lines().skip(1).map(|line| line.split(',').collect()).collect();
    assert_eq!(rows.len(), 16);
    assert!(maps.contains("0.85,0.6,\"casc[tau_pos=0.85,tau_seq=0.6]\",1.9,"), "{maps}");
    let svg = made.read("sweep-tau_pos-tau_seq.svg");
    for words in [
        "Speedup over ar, × (↑)",
        "|Δ target-nll|, nat/token (↓)",
        "accepted per step (↑)",
        "per image (↓)",
        "\n1.850\n",
    ] {
        assert!(svg.contains(words), "{words}");
    }
    let page = made.read("index.html");
    assert!(page.contains("a darker square has a higher value. ↑: higher is better"), "the caption");
}

#[test]
fn a_sweep_holds_its_own_cells_whatever_crosses_it() {
    let made = &*CROSSED;
    let csv = made.read("sweep-tvd_budget.csv");
    assert!(csv.contains("budget[tvd_budget=0.5]") && !csv.contains("casc["), "{csv}");
    let svg = made.read("sweep-tvd_budget.svg");
    assert!(svg.contains("tvd_budget (log scale)") && svg.contains("\n0.001\n"));
    assert!(!made.read("sweep-tau_pos.svg").contains("log scale"));
}

#[test]
fn of_many_settings_the_frontier_is_named_and_no_two_names_are_alike() {
    let made = &*CROSSED;
    let named = |svg: &str| -> Vec<String> {
        let texts = words(svg).into_iter().map(|(.., text)| text);
        texts.filter(|text| text.starts_with("casc[") && !text.contains("tau_pos,tau_seq")).collect()
    };
    let pareto = made.read("pareto.svg");
    // Series by the second axis, and of the cells only those of the frontier.
    let free = csv::Reader::from_reader(made.read("pareto.csv").as_bytes())
        .records()
        .map(Result::unwrap)
        .filter(|row| row[0].starts_with("casc[") && &row[15] == "false")
        .count();
    let names = named(&pareto);
    let series = names.iter().filter(|name| name.matches('=').count() == 1).count();
    assert_eq!((series, names.len() - series), (4, free), "{names:?}");
    assert!(pareto.contains("Marks grow along a line with"), "the size is explained");
    // Each line has its letter in the key and at an end of it, so that it is known in grey too.
    for letter in ["a", "b", "c", "d"] {
        assert_eq!(pareto.matches(&format!(">\n{letter}\n<")).count(), 2, "{letter}");
    }
    // Rows of the costs of a step show values only, and all sixteen differ.
    let mut rows = named(&made.read("phases.svg"));
    let n = rows.len();
    rows.sort();
    rows.dedup();
    assert_eq!((n, rows.len()), (16, 16), "{rows:?}");
    assert!(made.read("phases.svg").contains("casc[tau_pos,tau_seq]"));
}

#[test]
fn lines_of_one_family_have_a_colour_each() {
    let made = &*CROSSED;
    for figure in ["pareto", "sweep-tau_pos"] {
        let svg = made.read(&format!("{figure}.svg"));
        let n =
            ["#0D085A", "#961E87", "#D25550", "#E2A600"].iter().filter(|color| svg.contains(**color)).count();
        assert_eq!(n, if figure == "pareto" { 2 } else { 4 }, "{figure}");
    }
}

#[test]
fn the_three_pairs_of_two_drafters_are_two_curves() {
    let mut summary = fixture::summary();
    let cascade = summary.cells.iter().find(|cell| cell.id == "cascade").unwrap().clone();
    let mut cells = Vec::new();
    for weights in ["further", "cascade"] {
        for (text, pos, seq) in [("085-0625", 0.85, 0.625), ("085-05", 0.85, 0.5), ("08-05", 0.8, 0.5)] {
            let mut cell = cascade.clone();
            cell.id = format!("{text}-by-{weights}");
            reading(&mut cell, "speedup").value = Some(3.0 - pos - seq);
            let accept = json!([{"kind": "cascade", "tau_pos": pos, "tau_seq": seq}]);
            cells.push(
                json!({"name": cell.id, "method": {"accept": accept, "drafter": {"weights": weights}}}),
            );
            summary.cells.push(cell);
        }
    }
    summary.spec = json!({"name": "made-up", "cells": cells});
    let made = Made::of(&summary);
    let svg = made.read("pareto.svg");
    for name in [
        "\nby-further\n",
        "\nby-cascade\n",
        "\nMarks grow along a line with tau_pos, tau_seq from (0.8, 0.5)",
    ] {
        assert!(svg.contains(name), "{name}");
    }
    // The first line is whole, in a stretch a pair of settings and one in the key; the second is dashes, which show without colour.
    let stretches = |color: &str| {
        let heads = svg.split("<polyline").skip(1).map(|part| part.split('>').next().unwrap());
        heads.filter(|head| head.contains(color) && head.contains("stroke-width=\"3\"")).count()
    };
    assert_eq!(stretches("#41048C"), 3);
    assert!(stretches("#E47632") > 3, "{}", stretches("#E47632"));
}

#[test]
fn features_say_whose_image_they_are_of_and_what_their_shades_mean() {
    let made = &*SWEPT;
    let svg = made.read("features.svg");
    for words in ["target features, cell ar", "n = 1 image, prompt 17;", "\n0.5\n", "\n1.0\n"] {
        assert!(svg.contains(words), "{words}");
    }
    assert!(!svg.contains("images a cell"), "the figure rests on one image");
    assert!(made.read("paths.svg").contains("n = 2 images a cell"));
}

#[test]
fn the_parts_of_a_step_add_up_to_the_time_of_an_image() {
    let made = &*FIXTURE;
    let mut sums: BTreeMap<String, f64> = BTreeMap::new();
    for row in csv::Reader::from_reader(made.read("phases.csv").as_bytes()).records().map(Result::unwrap) {
        *sums.entry(row[0].to_owned()).or_default() += row[2].parse::<f64>().unwrap();
    }
    for cell in fixture::summary().cells.iter().filter(|cell| !cell.is_baseline()) {
        let of = |measure: &str| cell.value(measure).unwrap();
        let named = of("target_s") + of("draft_s") + of("verify_s") + of("update_s");
        let expected = (of("decode_s") - of("prefill_s")).max(named);
        let found = sums[&cell.id] * of("timed_verifications");
        assert!((found - expected).abs() < 1e-9, "{}: {found} {expected}", cell.id);
    }
}

/// Words of an SVG document: place, size, anchor and text.
fn words(svg: &str) -> Vec<(f64, f64, f64, String, String)> {
    let field = |head: &str, name: &str| {
        head.split(&format!(" {name}=\""))
            .nth(1)
            .and_then(|rest| rest.split('"').next())
            .unwrap_or("")
            .to_owned()
    };
    svg.split("<text")
        .skip(1)
        .map(|part| {
            let (head, rest) = part.split_once('>').unwrap();
            let number = |name: &str| field(head, name).parse::<f64>().unwrap();
            let text = rest.split("</text>").next().unwrap().trim().to_owned();
            (number("x"), number("y"), number("font-size"), field(head, "text-anchor"), text)
        })
        .collect()
}

/// A text of an SVG document without its escapes.
fn plain(text: &str) -> String {
    let escapes = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&amp;", "&")];
    escapes.iter().fold(text.to_owned(), |text, (escaped, plain)| text.replace(escaped, plain))
}

/// Width of a line in the regular letters of the figures' font.
fn width(text: &str, em: f64) -> f64 {
    let face = FontRef::try_from_slice(dejavu::sans::regular()).unwrap();
    let units = face.units_per_em().unwrap();
    let scaled = face.as_scaled(PxScale::from(em as f32 * face.height_unscaled() / units));
    text.chars().map(|c| f64::from(scaled.h_advance(scaled.glyph_id(c)))).sum()
}

#[test]
fn no_word_leaves_the_paper_whatever_the_names() {
    let long = "an-unusually-long-name-of-a-method-with-parameters tau_pos=0.85,tau_seq=0.5,delta=0.0005";
    let mut summaries: Vec<Summary> = Vec::new();
    for name in [long, "<&>\"'\u{0}\n", "", "中文 名字", "W"] {
        let mut summary = swept();
        summary.name = format!("{name} {name}");
        summary.cells[2].id = name.to_owned();
        summary.cells[9].id = format!("{name} tau_pos=0.9");
        summaries.push(summary);
    }
    // A bar of shades whose last value stands at its end.
    let mut maps = crossed();
    for (at, cell) in maps.cells.iter_mut().filter(|cell| cell.id.starts_with("casc[")).enumerate() {
        reading(cell, "nfe").value = Some(if at == 0 { 100.0 } else { 120.0 });
    }
    summaries.push(maps);
    for summary in summaries {
        let made = Made::of(&summary);
        for (figure, outcome) in &made.figures {
            if matches!(outcome, Outcome::Skipped(_)) {
                continue;
            }
            let svg = made.read(&format!("{figure}.svg"));
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{figure}");
            let height: f64 =
                svg.split("height=\"").nth(1).unwrap().split('"').next().unwrap().parse().unwrap();
            for (x, y, size, anchor, text) in words(&svg) {
                let wide = width(&plain(&text), size);
                let (left, right) = match anchor.as_str() {
                    "end" => (x - wide, x),
                    "middle" => (x - wide / 2.0, x + wide / 2.0),
                    _ => (x, x + wide),
                };
                assert!(left > -1.0 && right < 560.0 + 1.0, "{figure}: {text} from {left} to {right}");
                assert!(y > 0.0 && y <= height, "{figure}: {text} at {y} of {height}");
            }
        }
    }
}

/// The caps at the ends of intervals in an SVG document, as rectangles.
fn caps(svg: &str) -> Vec<[f64; 4]> {
    let heads = svg.split("<polyline").skip(1).map(|part| part.split('>').next().unwrap());
    let points = |head: &str| -> Option<[f64; 4]> {
        let numbers = head.split("points=\"").nth(1)?.split('"').next()?;
        let numbers: Vec<f64> =
            numbers.split([' ', ',']).filter(|n| !n.is_empty()).map(|n| n.parse().unwrap()).collect();
        numbers.try_into().ok()
    };
    let is_cap = |[a, b, c, d]: &[f64; 4]| (a - c).abs() + (b - d).abs() == 10.0 && (a == c || b == d);
    heads.filter(|head| head.contains("stroke-width=\"2\"")).filter_map(points).filter(is_cap).collect()
}

#[test]
fn no_name_of_a_crowded_plane_touches_the_end_of_an_interval() {
    for (summary, made) in [(fixture::summary(), &*FIXTURE), (swept(), &*SWEPT), (crossed(), &*CROSSED)] {
        let svg = made.read("pareto.svg");
        let caps = caps(&svg);
        assert!(caps.len() > 20, "{}", caps.len());
        let names: Vec<&str> = summary.cells.iter().map(|cell| cell.id.as_str()).collect();
        let key = words(&svg)
            .into_iter()
            .filter(|(.., text)| text.starts_with("95 % interval"))
            .map(|at| at.1)
            .next()
            .unwrap();
        for (x, y, size, _, text) in words(&svg) {
            if y < key + 60.0 || !names.contains(&plain(&text).as_str()) {
                continue;
            }
            // Capitals reach about three quarters of an em above the line.
            let [left, top, right, bottom] = [x, y - 0.75 * size, x + width(&plain(&text), size), y + 1.0];
            let touched = caps.iter().find(|[a, b, c, d]| {
                a.min(*c) < right && left < a.max(*c) && b.min(*d) < bottom && top < b.max(*d)
            });
            assert_eq!(touched, None, "{text} at {x}, {y}");
        }
    }
}

#[test]
fn the_key_says_whose_intervals_are_drawn_where_they_are_not_all() {
    let key = |made: &Made| {
        let texts = words(&made.read("pareto.svg")).into_iter().map(|(.., text)| plain(&text).clone());
        texts.filter(|text| text.starts_with("95 %")).collect::<Vec<_>>()
    };
    assert_eq!(key(&FIXTURE), ["95 % interval"]);
    assert_eq!(key(&CROSSED), ["95 % interval (named points)"]);
}

#[test]
fn an_interval_that_is_not_drawn_moves_no_axis() {
    // All words of the figure, its ticks among them, where one cell's interval of the speedup is this wide.
    let texts = |name: &str, high: f64| {
        let mut summary = crossed();
        let cell = summary.cells.iter_mut().find(|cell| cell.id == name).unwrap();
        reading(cell, "speedup").ci95 = reading(cell, "speedup").ci95.map(|[low, _]| [low, high]);
        let folder = tempfile::tempdir().unwrap();
        let run = RunDir::create(folder.path().join("run")).unwrap();
        let of = Quality::Difference("target-nll".into());
        draw(&run, &summary, folder.path(), &["pareto".into()], (&of, &[]), &Style::SCREEN).unwrap();
        let svg = fs::read_to_string(folder.path().join("pareto.svg")).unwrap();
        words(&svg).into_iter().map(|(.., text)| plain(&text)).collect::<Vec<_>>()
    };
    let moves = |name: &str| texts(name, 5.0) != texts(name, 50.0);
    let made = &*CROSSED;
    let csv = made.read("pareto.csv");
    let mut rows = csv::Reader::from_reader(csv.as_bytes());
    let rows: Vec<_> = rows.records().map(Result::unwrap).filter(|row| !row[4].is_empty()).collect();
    let first = |dominated: &str, name: &str| {
        rows.iter().find(|row| &row[15] == dominated && row[0].starts_with(name)).unwrap()[0].to_owned()
    };
    // One that is not dominated has its name and its interval; of a sweep the others have neither.
    let (drawn, left_out) = (first("false", ""), first("true", "casc["));
    assert!(moves(&drawn), "{drawn}");
    assert!(!moves(&left_out), "{left_out}");
}

#[test]
fn a_step_gives_the_tokens_that_are_pooled_as_its_times_are() {
    let mut summary = fixture::summary();
    let cell = summary.cells.iter_mut().find(|cell| cell.id == "sd-chain3").unwrap();
    (reading(cell, "pooled_tpf").value, reading(cell, "tpf").value) = (Some(1.5), Some(1.9));
    let made = Made::of(&summary);
    let phases = made.read("phases.csv");
    let row = phases.lines().find(|line| line.starts_with("sd-chain3,draft,")).unwrap();
    assert_eq!(row.split(',').nth(4), Some("1.5"), "{row}");
}

#[test]
fn a_family_has_one_colour_in_every_figure() {
    let made = &*SWEPT;
    for figure in ["pareto", "acceptance", "tvd", "sweep-tau_pos"] {
        let svg = made.read(&format!("{figure}.svg"));
        assert!(svg.contains("#D55E00"), "{figure}: no CASCADE");
        assert_eq!(svg.contains("#0072B2"), figure != "sweep-tau_pos", "{figure}: the chain");
    }
}

#[test]
fn figure_files_are_small() {
    let made = &*SWEPT;
    for (figure, _) in &made.figures {
        let size = |ending: &str| made.files[&format!("{figure}.{ending}")].len();
        assert!(size("svg") < 150_000 && size("png") < 600_000, "{figure}: {} {}", size("svg"), size("png"));
    }
}
