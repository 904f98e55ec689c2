//! A report leaves whole files, says why a part is missing, and gives the same bytes twice.

use crate::fixture;
use crate::fixture::reading;

use std::fs;
use std::path::Path;

use image::RgbImage;
use specimen_record::{ItemKey, Reading, RunDir, Summary, write_document};
use specimen_report::{Options, Outcome, Quality, Report, report};

fn options() -> Options {
    Options::new(Quality::Difference("target-nll".into()), 3)
}

/// A run that has a summary and nothing else.
fn run_of(folder: &Path, summary: &Summary) -> RunDir {
    let run = RunDir::create(folder.join("run")).unwrap();
    write_document(&run.summary(), summary).unwrap();
    run
}

fn open(path: &Path) -> RgbImage {
    image::open(path).unwrap().into_rgb8()
}

fn skipped(outcome: &Outcome) -> &str {
    match outcome {
        Outcome::Skipped(why) => why,
        Outcome::Written(paths) => panic!("written: {paths:?}"),
    }
}

fn figure<'a>(made: &'a Report, name: &str) -> &'a Outcome {
    made.figures.iter().find(|(found, _)| found == name).map(|(_, outcome)| outcome).unwrap()
}

fn pareto_rows(run: &RunDir) -> Vec<csv::StringRecord> {
    csv::Reader::from_path(run.report().join("pareto.csv")).unwrap().records().map(Result::unwrap).collect()
}

#[test]
fn every_file_is_there_and_the_same_the_second_time() {
    let folder = tempfile::tempdir().unwrap();
    let run = fixture::run(folder.path());
    let mut before = Vec::new();
    for _ in 0..2 {
        let Report { figures, grid, .. } = report(&run, &options()).unwrap();
        let drawn = figures.iter().filter(|(_, outcome)| matches!(outcome, Outcome::Written(_)));
        let drawn: Vec<&str> = drawn.map(|(name, _)| name.as_str()).collect();
        assert!(["pareto", "phases", "acceptance"].iter().all(|name| drawn.contains(name)), "{drawn:?}");
        let endings = ["csv", "pdf", "png", "svg"];
        let mut files: Vec<String> =
            drawn.iter().flat_map(|name| endings.map(|ending| format!("{name}.{ending}"))).collect();
        let others =
            ["grid.png", "images.csv", "index.html", "table.csv", "table.html", "table.md", "table.tex"];
        files.extend(others.map(str::to_owned));
        files.sort();
        assert_eq!(grid, Outcome::Written(vec![run.report().join("grid.png")]));
        let mut found: Vec<_> = fs::read_dir(run.report())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        found.sort();
        assert_eq!(found, files);
        before.push(files.iter().map(|name| fs::read(run.report().join(name)).unwrap()).collect::<Vec<_>>());
    }
    assert!(before[0] == before[1]);
}

#[test]
fn the_pareto_plot_names_every_cell_and_its_axes() {
    let folder = tempfile::tempdir().unwrap();
    let mut summary = fixture::summary();
    summary.cells[4].id = "<s>&\"jd\"\u{0}".into();
    let run = run_of(folder.path(), &summary);
    report(&run, &options()).unwrap();
    let svg = fs::read_to_string(run.report().join("pareto.svg")).unwrap();
    for line in fixture::LINES.iter().filter(|l| l.id != "sjd") {
        assert!(svg.contains(&format!("\n{}\n", line.id)), "{}", line.id);
    }
    assert!(svg.contains("\n&lt;s&gt;&amp;&quot;jd&quot; \n") && !svg.contains("<s>"));
    for words in [
        "Speedup over ar, decode time, × (→ higher is better)",
        "|Δ target-nll| against ar, nat/token (nearer to 0 is better)",
        "made-up: speed against quality",
        "bf16 on Example CPU",
        "speed of ar",
        "95 % interval",
    ] {
        assert!(svg.contains(words), "{words}");
    }
    assert!(svg.contains(r#"font-family="DejaVu Sans, Verdana, Helvetica, Arial, sans-serif""#));
    let png = open(&run.report().join("pareto.png"));
    assert_eq!(png.width(), 1120);
    let ink = png.pixels().filter(|p| p.0 != [255; 3]).count();
    assert!((15_000..400_000).contains(&ink), "{ink} pixels drawn");
}

#[test]
fn dominated_cells_are_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let run = run_of(folder.path(), &fixture::summary());
    report(&run, &options()).unwrap();
    let free: Vec<String> =
        pareto_rows(&run).iter().filter(|r| &r[15] == "false").map(|r| r[0].to_owned()).collect();
    assert_eq!(free, ["sd-tree13", "cascade", "cascade+vvs"]);
}

#[test]
fn the_order_of_the_cells_and_an_interval_that_is_absent_are_no_secret_of_the_frontier() {
    let folder = tempfile::tempdir().unwrap();
    let mut summary = fixture::summary();
    let free = |summary: &Summary, name: &str| -> (Vec<String>, String) {
        let run = run_of(&folder.path().join(name), summary);
        report(&run, &options()).unwrap();
        let rows = pareto_rows(&run);
        let mut free: Vec<String> =
            rows.iter().filter(|row| &row[15] == "false").map(|row| row[0].to_owned()).collect();
        free.sort();
        (free, fs::read_to_string(run.report().join("index.html")).unwrap())
    };
    let (forward, page) = free(&summary, "forward");
    assert!(!page.contains("Compared by the mean alone"));
    summary.cells.reverse();
    assert_eq!(free(&summary, "backward").0, forward);
    for cell in summary.cells.iter_mut().filter(|cell| cell.id == "lantern") {
        cell.metrics[0].vs_baseline.as_mut().unwrap().ci95 = None;
    }
    let (_, page) = free(&summary, "without");
    let words = "Compared by the mean alone, which chance can turn, because they have no interval: lantern.";
    assert!(page.contains(words));
}

#[test]
fn a_dominated_cell_dominates_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let mut summary = fixture::summary();
    // Each is nearer to the baseline than the one before it, only the last beyond its interval of the first.
    for (id, speedup, difference) in [("cascade+vvs", 2.3, 0.5), ("cascade", 2.2, 0.3), ("lantern", 2.1, 0.1)]
    {
        let cell = summary.cells.iter_mut().find(|cell| cell.id == id).unwrap();
        reading(cell, "speedup").value = Some(speedup);
        let versus = cell.metrics[0].vs_baseline.as_mut().unwrap();
        (versus.difference, versus.ci95) = (difference, Some([difference - 0.25, difference + 0.25]));
    }
    fixture::complete(&mut summary);
    let run = run_of(folder.path(), &summary);
    report(&run, &options()).unwrap();
    let rows = pareto_rows(&run);
    let is_dominated = |cell: &str| &rows.iter().find(|row| &row[0] == cell).unwrap()[15] == "true";
    assert_eq!(["cascade+vvs", "cascade", "lantern"].map(is_dominated), [false, true, false]);
}

#[test]
fn a_cell_with_failed_images_is_not_ranked_in_the_figure_either() {
    let folder = tempfile::tempdir().unwrap();
    let mut summary = fixture::summary();
    // The fastest, and as near to the baseline as it gets, of the 31 prompts that did not fail.
    let lantern = summary.cells.iter_mut().find(|cell| cell.id == "lantern").unwrap();
    reading(lantern, "speedup").value = Some(9.0);
    let versus = lantern.metrics[0].vs_baseline.as_mut().unwrap();
    (versus.difference, versus.ci95) = (0.0, Some([-0.01, 0.01]));
    let drawn = |summary: &Summary, name: &str| {
        let run = run_of(&folder.path().join(name), summary);
        report(&run, &options()).unwrap();
        let read = |file: &str| fs::read_to_string(run.report().join(file)).unwrap();
        (pareto_rows(&run), read("index.html"), read("pareto.svg"))
    };
    let free = |rows: &[csv::StringRecord]| {
        rows.iter().filter(|r| &r[15] == "false").map(|r| r[0].to_owned()).collect::<Vec<_>>()
    };
    // The baseline stays what others are compared with.
    (summary.cells[0].n_images, summary.cells[0].n_failed) = (31, 1);
    let (rows, page, svg) = drawn(&summary, "failed");
    assert!(free(&rows).len() > 2, "{:?}", free(&rows));
    let why = |rows: &[csv::StringRecord], cell: &str| {
        rows.iter().find(|row| &row[0] == cell).map(|row| row[16].to_owned()).unwrap()
    };
    assert_eq!(["ar", "lantern"].map(|cell| why(&rows, cell)), ["", "1 item failed"]);
    assert!(page.contains("since those may be the difficult ones: lantern (1 item failed)."));
    let key = "\ndominated or with failed items\n";
    assert!(svg.contains(key), "{svg}");
    let area = area_of_frontier(&rows);
    assert!(page.contains(&format!("Hypervolume of the frontier {area:.4} ×")), "{area}");

    fixture::complete(&mut summary);
    let (rows, page, _) = drawn(&summary, "complete");
    assert!(!page.contains("difficult ones") && rows.iter().all(|row| row[16].is_empty()));
    assert_eq!(free(&rows), ["sd-tree13", "lantern"]);
    let whole = area_of_frontier(&rows);
    assert!(
        page.contains(&format!("Hypervolume of the frontier {whole:.4} ×")) && whole > 2.0 * area,
        "{whole}"
    );
    summary.cells.iter_mut().find(|cell| cell.id == "lantern").unwrap().n_images -= 2;
    assert_eq!(why(&drawn(&summary, "missing").0, "lantern"), "2 items missing");
}

/// Area that cells of `pareto.csv` on the frontier cover, of absolute differences, from the speed of the baseline and the
/// worst difference; an exact cell has none.
fn area_of_frontier(rows: &[csv::StringRecord]) -> f64 {
    let difference = |row: &csv::StringRecord| match &row[1] {
        "exact" => 0.0,
        _ => row[9].parse::<f64>().unwrap(),
    };
    let worst = rows.iter().map(difference).fold(0.0, f64::max);
    let on_it = rows.iter().filter(|row| &row[15] == "false" && row[16].is_empty());
    let mut points: Vec<[f64; 2]> =
        on_it.map(|row| [row[3].parse().unwrap(), difference(row)]).filter(|point| point[0] > 1.0).collect();
    points.sort_by(|a, b| b[0].total_cmp(&a[0]));
    let (mut area, mut nearest) = (0.0, worst);
    for (at, [speedup, difference]) in points.iter().enumerate() {
        nearest = f64::min(nearest, *difference);
        area += (speedup - points.get(at + 1).map_or(1.0, |next| next[0])) * (worst - nearest);
    }
    area
}

#[test]
fn only_a_faster_cell_dominates_and_only_what_is_known_to_be_better_resists() {
    let folder = tempfile::tempdir().unwrap();
    let mut summary = fixture::summary();
    let set = |summary: &mut Summary, cell: &str, speedup: f64, difference: f64| {
        let cell = summary.cells.iter_mut().find(|c| c.id == cell).unwrap();
        reading(cell, "speedup").value = Some(speedup);
        let versus = cell.metrics[0].vs_baseline.as_mut().unwrap();
        (versus.difference, versus.ci95) = (difference, Some([difference - 0.03, difference + 0.03]));
    };
    // Exact cells: the slower one has the better sample of one distribution.
    set(&mut summary, "sd-tree13", 1.48, 0.4);
    set(&mut summary, "sd-chain3", 1.31, -0.4);
    // Faster than any exact cell: it promises nothing anyway.
    set(&mut summary, "cascade+vvs", 2.31, 0.2);
    // Slower than it: nearer to the baseline beyond its interval, and far off with tokens that are too likely.
    set(&mut summary, "cascade", 2.06, -0.05);
    set(&mut summary, "lantern", 1.83, -0.5);
    // Slower than an exact cell, and not better than its distribution beyond the interval.
    set(&mut summary, "gsd", 1.35, -0.02);
    let run = run_of(folder.path(), &summary);
    report(&run, &options()).unwrap();
    let free: Vec<String> =
        pareto_rows(&run).iter().filter(|r| &r[15] == "false").map(|r| r[0].to_owned()).collect();
    assert_eq!(free, ["sd-tree13", "cascade", "cascade+vvs"]);
    let row = pareto_rows(&run).into_iter().find(|row| &row[0] == "lantern").unwrap();
    assert_eq!((&row[7], &row[9], &row[10]), ("absolute difference to the baseline", "0.5", "0.47"));
    // Whatever the axis has, what dominance compares is there.
    report(&run, &Options { quality: Quality::Value("target-nll".into()), ..options() }).unwrap();
    let row = pareto_rows(&run).into_iter().find(|row| &row[0] == "lantern").unwrap();
    assert_eq!((&row[7], &row[12], &row[13]), ("value", "0.5", "0.47"));
    assert_ne!(&row[9], "0.5");

    summary.cells.retain(|cell| cell.guarantee == specimen_record::Guarantee::Exact);
    write_document(&run.summary(), &summary).unwrap();
    report(&run, &options()).unwrap();
    let free: Vec<String> =
        pareto_rows(&run).iter().filter(|r| &r[15] == "false").map(|r| r[0].to_owned()).collect();
    assert_eq!(free, ["sd-tree13"]);
    let page = fs::read_to_string(run.report().join("index.html")).unwrap();
    assert!(!page.contains("Hypervolume") && page.contains("the faster dominates"));
}

#[test]
fn cells_compete_only_under_one_baseline_and_plain_decoding_is_not_one_by_itself() {
    let folder = tempfile::tempdir().unwrap();
    let mut summary = fixture::summary();
    let sjd = summary.cells.iter_mut().find(|cell| cell.id == "sjd").unwrap();
    sjd.baseline = Some("ar of another kind".into());
    let mut plain = summary.cells[0].clone();
    plain.id = "ar-nocfg".into();
    plain.baseline = None;
    (reading(&mut plain, "speedup").value, reading(&mut plain, "speedup").why) =
        (None, Some("no timed `ar` cell with this sampling".into()));
    summary.cells.push(plain);
    let run = run_of(folder.path(), &summary);
    report(&run, &options()).unwrap();
    let rows = pareto_rows(&run);
    let row = |cell: &str| rows.iter().find(|row| &row[0] == cell).unwrap();
    assert_eq!((&row("sjd")[15], &row("sd-chain3")[15]), ("false", "true"));
    assert_eq!((&row("ar-nocfg")[9], &row("ar-nocfg")[16]), ("", "no timed `ar` cell with this sampling"));
}

#[test]
fn a_program_whose_whole_time_is_all_that_is_known_has_its_point_and_its_own_group() {
    let folder = tempfile::tempdir().unwrap();
    let mut summary = fixture::summary();
    for (id, speedup, baseline) in
        [("py-ar", 1.0, "py-ar"), ("py-fast", 3.0, "py-ar"), ("py-slow", 0.5, "ar")]
    {
        let mut cell = summary.cells[1].clone();
        (cell.id, cell.baseline) = (id.into(), Some(baseline.into()));
        (cell.origin, cell.guarantee) =
            (Some(specimen_record::Origin::External), specimen_record::Guarantee::Unknown);
        *reading(&mut cell, "speedup") = Reading::absent("the inside does not show");
        reading(&mut cell, "speedup_e2e").value = Some(speedup);
        summary.cells.push(cell);
    }
    let run = run_of(folder.path(), &summary);
    report(&run, &Options { quality: Quality::Value("scene-clip".into()), ..options() }).unwrap();
    let rows = pareto_rows(&run);
    let row = |cell: &str| rows.iter().find(|row| &row[0] == cell).unwrap();
    assert_eq!((&row("py-fast")[3], &row("py-fast")[15], &row("py-ar")[2]), ("3", "false", "true"));
    assert_eq!(&row("py-slow")[15], "true", "it competes with the cells of its own baseline");
    let svg = fs::read_to_string(run.report().join("pareto.svg")).unwrap();
    assert!(svg.contains("Speedup over its baseline, prompt to image, × (→ higher is better)"));
    assert!(svg.contains("speed of its baseline"), "the line is at every baseline's speed");
    assert!(svg.contains("relaxed or not known"), "open marks have a word in the key");
    let page = fs::read_to_string(run.report().join("index.html")).unwrap();
    assert!(page.contains("Speedup over its baseline (ar, py-ar) in time from the prompt to the image"));
}

#[test]
fn a_baseline_without_the_metric_has_no_point_as_if_it_had_the_quality_of_another() {
    let folder = tempfile::tempdir().unwrap();
    let mut summary = fixture::summary();
    let mut cell = summary.cells[0].clone();
    (cell.id, cell.baseline) = ("py-ar".into(), Some("py-ar".into()));
    for metric in &mut cell.metrics {
        (metric.value, metric.why) = (None, Some("the tokens are not known".into()));
    }
    summary.cells.push(cell);
    let run = run_of(folder.path(), &summary);
    report(&run, &options()).unwrap();
    let row = pareto_rows(&run).into_iter().find(|row| &row[0] == "py-ar").unwrap();
    assert_eq!((&row[3], &row[9], &row[16]), ("", "", "the tokens are not known"));
}

#[test]
fn a_metric_where_higher_is_better_turns_the_comparison_round() {
    let folder = tempfile::tempdir().unwrap();
    let run = run_of(folder.path(), &fixture::summary());
    let quality = Quality::Value("scene-clip".into());
    report(&run, &Options { quality, ..options() }).unwrap();
    let rows = pareto_rows(&run);
    let free: Vec<&str> = rows.iter().filter(|r| &r[15] == "false").map(|r| &r[0]).collect();
    assert_eq!(free, ["sd-tree13", "cascade", "cascade+vvs"]);
    assert_eq!((&rows[0][9], &rows[0][7]), ("0.312", "value"));
    let svg = fs::read_to_string(run.report().join("pareto.svg")).unwrap();
    assert!(svg.contains("scene-clip (↑ higher is better)"));
}

#[test]
fn cells_without_a_point_are_listed_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let mut summary = fixture::summary();
    reading(&mut summary.cells[1], "speedup").value = None;
    reading(&mut summary.cells[1], "speedup").why = Some("no block was timed whole".into());
    summary.cells[2].metrics.clear();
    summary.cells[3].n_images = 0;
    reading(&mut summary.cells[3], "speedup").value = None;
    reading(&mut summary.cells[3], "speedup").why =
        Some("the decode time of another program is not known".into());
    let run = run_of(folder.path(), &summary);
    report(&run, &options()).unwrap();
    let rows = pareto_rows(&run);
    let left_out: Vec<(&str, &str)> =
        rows.iter().filter(|r| r[9].is_empty()).map(|r| (&r[0], &r[16])).collect();
    assert_eq!(
        left_out,
        [
            ("sd-chain3", "no block was timed whole"),
            ("sd-tree13", "`target-nll` was not scored"),
            (summary.cells[3].id.as_str(), "it has no image"),
        ]
    );
}

#[test]
fn a_plot_that_cannot_be_drawn_is_skipped_with_the_reason_and_leaves_no_old_one() {
    let folder = tempfile::tempdir().unwrap();
    let run = fixture::run(folder.path());
    report(&run, &options()).unwrap();
    let quality = Quality::Difference("fid".into());
    let made = report(&run, &Options { quality, ..options() }).unwrap();
    let why = skipped(figure(&made, "pareto"));
    assert_eq!(why, "no cell has the metric `fid`; the run has fd-scenes, scene-clip, target-nll");
    assert!(!run.report().join("pareto.svg").exists() && run.report().join("grid.png").exists());

    let quality = Quality::Value("fd-scenes".into());
    let made = report(&run, &Options { quality, ..options() }).unwrap();
    assert!(skipped(figure(&made, "pareto")).contains("cascade+vvs: 32 images, the protocol asks for 500"));
}

#[test]
fn a_run_without_cells_has_a_table_and_reasons() {
    let folder = tempfile::tempdir().unwrap();
    let mut summary = fixture::summary();
    summary.cells.clear();
    let run = run_of(folder.path(), &summary);
    let made = report(&run, &options()).unwrap();
    assert!(fs::read_to_string(&made.table_md).unwrap().contains("There are no rows."));
    assert!(skipped(figure(&made, "pareto")).contains("the run has no metric at all"));
    assert_eq!(skipped(&made.grid), "the run has no cells");
}

#[test]
fn the_grid_repeats_pixels_and_says_why_a_place_is_empty() {
    let folder = tempfile::tempdir().unwrap();
    let run = fixture::run(folder.path());
    report(&run, &Options { n_grid_prompts: 5, ..options() }).unwrap();
    let grid = open(&run.report().join("grid.png"));
    // Margin, caption, gap; nine images of 128 with gaps of 10; margin.
    let left = 18 + 250 + 10;
    assert_eq!(grid.width(), left + 9 * 138 - 10 + 18);
    let top = grid.height() - 18 - (5 * 138 - 10);
    let source = open(&run.image(0, &ItemKey::new("sd-tree13", "1", 0).file_name("png")).unwrap());
    let (x, y) = (left + 2 * 138, top + 138);
    for (dx, dy) in (0..128).flat_map(|dy| (0..128).map(move |dx| (dx, dy))) {
        assert_eq!(grid.get_pixel(x + dx, y + dy), source.get_pixel(dx / 2, dy / 2), "{dx}, {dy}");
    }
    for (column, row) in [(6, 2), (4, 3)] {
        let (x, y) = (left + column * 138, top + row * 138);
        assert_eq!(grid.get_pixel(x + 1, y + 1).0, [238; 3], "an empty place is grey");
        let words = (0..128 * 128).filter(|at| grid.get_pixel(x + at % 128, y + at / 128).0[0] < 180).count();
        assert!(words > 100, "{words} dark pixels");
    }
}

#[test]
fn long_and_hostile_prompts_stay_in_the_column_of_captions() {
    let long = "a very long prompt ".repeat(40);
    let prompts =
        ["a red circle", &long, "no\u{0}\u{7}\u{1b}[31m\nbreak\tof \u{202e}lines", &"x".repeat(500), ""];
    let grid_of = |prompts: &[&str]| {
        let folder = tempfile::tempdir().unwrap();
        let run = fixture::run_of(folder.path(), prompts, fixture::picture);
        report(&run, &Options { n_grid_prompts: 5, ..options() }).unwrap();
        open(&run.report().join("grid.png"))
    };
    let (hostile, plain) = (grid_of(&prompts), grid_of(&fixture::PROMPTS));
    assert_eq!(hostile.dimensions(), plain.dimensions());
    // Captions end where the gap before the images begins.
    let left = 18 + 250;
    for (x, y, pixel) in hostile.enumerate_pixels().filter(|(x, _, _)| *x >= left) {
        assert_eq!(pixel, plain.get_pixel(x, y), "{x}, {y}");
    }
    assert!(hostile != plain);
}

#[test]
fn an_image_that_does_not_fit_its_record_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let run = fixture::run(folder.path());
    let path = run.image(0, &ItemKey::new("ar", "0", 0).file_name("png")).unwrap();
    RgbImage::new(32, 64).save(&path).unwrap();
    let error = report(&run, &options()).unwrap_err().to_string();
    assert!(error.contains("the image is (32, 64) pixels, its record says (64, 64)"), "{error}");
    fs::write(&path, "no image").unwrap();
    let error = report(&run, &options()).unwrap_err();
    assert!(error.to_string().contains("ar+0+0.png: not a readable image"), "{error}");
}

#[test]
fn a_folder_that_cannot_be_written_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let run = run_of(folder.path(), &fixture::summary());
    fs::write(run.report(), "a file where the folder should be").unwrap();
    let error = report(&run, &options()).unwrap_err().to_string();
    assert!(error.starts_with(&run.report().display().to_string()), "{error}");
    assert!(error.contains("cannot create the folder"), "{error}");
}

#[test]
fn a_run_without_a_summary_says_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let run = RunDir::create(folder.path().join("run")).unwrap();
    let error = report(&run, &options()).unwrap_err().to_string();
    assert!(error.contains("summary.json: the run has no summary") && error.contains("--resume"), "{error}");
}
