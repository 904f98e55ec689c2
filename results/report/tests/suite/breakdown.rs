//! Scores by a fact of the prompts: every mean and difference as computed here a second time, and figures that say the same.

use crate::fixture;

use std::collections::BTreeMap;
use std::fs;

use specimen_record::{ItemKey, MetricFile, RunDir, read_document, write_document};
use specimen_report::{Options, Outcome, PromptFact, Quality, Style, breakdown_tables, draw, report};
use specimen_stats::{
    averages::bootstrap_mean_over_groups,
    bootstrap::{BootstrapPlan, N_RESAMPLES},
};

/// What the prompts with these numbers show; the last has no group, the first two.
const GROUPS: [&[&str]; 5] = [&["circles", "squares"], &["triangles"], &["circles"], &["squares"], &[]];

fn fact() -> PromptFact {
    let of_prompt = GROUPS.iter().enumerate().filter(|(_, groups)| !groups.is_empty());
    let groups = |groups: &[&str]| groups.iter().map(|group| (*group).to_owned()).collect();
    PromptFact {
        name: "category".into(),
        of_prompt: of_prompt.map(|(at, of)| (at.to_string(), groups(of))).collect(),
    }
}

fn score(cell: usize, prompt: usize) -> f64 {
    0.25 + 0.01 * prompt as f64 - 0.004 * cell as f64 + 0.003 * ((cell * prompt) % 3) as f64
}

/// A run whose cells have a score of each image.
fn scored(folder: &std::path::Path) -> RunDir {
    let run = fixture::run(folder);
    for (cell, line) in fixture::LINES.iter().enumerate() {
        let own: BTreeMap<ItemKey, f64> = (0..5)
            .map(|prompt| (ItemKey::new(line.id, &prompt.to_string(), 0), score(cell, prompt)))
            .collect();
        let file = MetricFile {
            schema: 1,
            protocol: "clip@v1".into(),
            cell: line.id.into(),
            metric: "scene-clip".into(),
            value: Some(0.3),
            ci95: None,
            n: 5,
            unit: String::new(),
            higher_is_better: Some(true),
            why: None,
            notes: Vec::new(),
            extractor: None,
            per_item: Some(own),
            extra: BTreeMap::new(),
            imported: None,
        };
        write_document(&run.metrics("scene-clip", line.id), &file).unwrap();
    }
    run
}

fn options() -> Options {
    Options { facts: vec![fact()], ..Options::new(Quality::Difference("target-nll".into()), 3) }
}

#[test]
fn every_group_has_the_means_and_differences_of_its_images() {
    let folder = tempfile::tempdir().unwrap();
    let run = scored(folder.path());
    let made = report(&run, &options()).unwrap();
    let (name, outcome) = made.figures.iter().find(|(name, _)| name.starts_with("breakdown")).unwrap();
    assert_eq!(name, "breakdown-category-scene-clip");
    assert!(matches!(outcome, Outcome::Written(_)), "{outcome:?}");
    let mut rows = csv::Reader::from_path(run.report().join(format!("{name}.csv"))).unwrap();
    let rows: Vec<csv::StringRecord> = rows.records().map(Result::unwrap).collect();
    assert_eq!(rows.len(), 3 * fixture::LINES.len());
    let number = |row: &csv::StringRecord, at: usize| row[at].parse::<f64>().ok();
    let plan = BootstrapPlan::new(1, N_RESAMPLES, 0.95).unwrap();
    for row in &rows {
        let cell = fixture::LINES.iter().position(|line| line.id == &row[1]).unwrap();
        let prompts: Vec<usize> = (0..5).filter(|&prompt| GROUPS[prompt].contains(&&row[0])).collect();
        let ids: Vec<String> = prompts.iter().map(ToString::to_string).collect();
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        let own: Vec<f64> = prompts.iter().map(|&prompt| score(cell, prompt)).collect();
        let apart: Vec<f64> = prompts.iter().map(|&prompt| score(cell, prompt) - score(0, prompt)).collect();
        let over_prompts = |values: &[f64]| bootstrap_mean_over_groups(values, &ids, &plan).unwrap();
        let (mean, ci95) = over_prompts(&own);
        assert_eq!((&row[4], &row[5]), (ids.len().to_string().as_str(), ids.len().to_string().as_str()));
        assert_eq!((number(row, 6), number(row, 7)), (Some(mean), ci95.map(|ends| ends.lower)), "{row:?}");
        let (mean, ci95) = over_prompts(&apart);
        let expected = if cell == 0 { (None, None) } else { (Some(mean), ci95.map(|ends| ends.upper)) };
        assert_eq!((number(row, 9), number(row, 11)), expected, "{row:?}");
    }
    // The baseline's best group is first: squares are prompts 0 and 3, triangles 1, circles 0 and 2.
    let groups: Vec<&str> = rows.iter().map(|row| &row[0]).step_by(fixture::LINES.len()).collect();
    assert_eq!(groups, ["squares", "circles", "triangles"]);
    let page = fs::read_to_string(run.report().join("index.html")).unwrap();
    assert!(page.contains("scene-clip by category") && page.contains("is in each of these rows"));
}

/// As an image that equals the baseline's: its psnr is infinite, and no score.
#[test]
fn a_mean_over_a_part_of_the_images_of_a_row_is_none() {
    let folder = tempfile::tempdir().unwrap();
    let run = scored(folder.path());
    let line = &fixture::LINES[1];
    let path = run.metrics("scene-clip", line.id);
    let mut file: MetricFile = read_document(&path).unwrap();
    file.per_item.as_mut().unwrap().remove(&ItemKey::new(line.id, "3", 0));
    write_document(&path, &file).unwrap();
    let made = report(&run, &options()).unwrap();
    let (name, _) = made.figures.iter().find(|(name, _)| name.starts_with("breakdown")).unwrap();
    let mut rows = csv::Reader::from_path(run.report().join(format!("{name}.csv"))).unwrap();
    let rows: Vec<csv::StringRecord> = rows.records().map(Result::unwrap).collect();
    for row in rows.iter().filter(|row| &row[1] == line.id) {
        // Squares are the prompts 0 and 3.
        let has_none = &row[0] == "squares";
        assert_eq!((row[6].is_empty(), row[9].is_empty()), (has_none, has_none), "{row:?}");
        assert_eq!(&row[4], if &row[0] == "triangles" { "1" } else { "2" }, "{row:?}");
    }
    let (_, table) = breakdown_tables(&run, &[fact()]).unwrap().remove(0);
    assert!(table.unwrap().legend.iter().any(|line| line.contains("one of them has no finite score")));
}

#[test]
fn the_table_has_a_row_a_group_and_cell() {
    let folder = tempfile::tempdir().unwrap();
    let run = scored(folder.path());
    let (_, table) = breakdown_tables(&run, &[fact()]).unwrap().remove(0);
    let table = table.unwrap();
    let heads: Vec<&str> = table.columns.iter().map(|column| column.name.as_str()).collect();
    assert_eq!(heads, ["category", "cell", "prompts", "images", "scene-clip", "Δ scene-clip"]);
    assert_eq!(table.rows.len(), 27);
    let texts = |row: usize| table.rows[row].iter().map(|entry| entry.text.as_str()).collect::<Vec<_>>();
    assert_eq!(texts(0)[..4], ["squares", "ar", "2", "2"]);
    assert_eq!(texts(0)[5], "–");
    assert!(texts(1)[5].starts_with('-') || texts(1)[5].starts_with('0'), "{:?}", texts(1));
    report(&run, &options()).unwrap();
    for ending in ["md", "csv", "tex"] {
        let text = fs::read_to_string(run.report().join(format!("breakdown-category.{ending}"))).unwrap();
        assert!(text.contains("triangles"), "{text}");
    }
    // A report that is not asked for it has none.
    report(&run, &Options { facts: Vec::new(), ..options() }).unwrap();
    let left =
        fs::read_dir(run.report()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let left: Vec<String> = left.filter(|name| name.starts_with("breakdown")).collect();
    assert_eq!(left, [""; 0]);
}

#[test]
fn likelihood_of_relaxed_cells_has_no_direction_but_the_baselines() {
    let folder = tempfile::tempdir().unwrap();
    let run = scored(folder.path());
    let own: BTreeMap<ItemKey, f64> =
        (0..5).map(|prompt| (ItemKey::new("ar", &prompt.to_string(), 0), 3.0 + f64::from(prompt))).collect();
    let path = run.metrics("target-nll", "ar");
    let mut file: MetricFile = read_document(&run.metrics("scene-clip", "ar")).unwrap();
    (file.metric, file.protocol) = ("target-nll".into(), "target-nll@v1".into());
    (file.higher_is_better, file.per_item) = (Some(false), Some(own));
    write_document(&path, &file).unwrap();
    let table = breakdown_tables(&run, &[fact()]).unwrap().remove(0).1.unwrap();
    let heads: Vec<_> =
        table.columns.iter().map(|column| (column.name.as_str(), column.higher_is_better)).collect();
    assert!(
        heads.contains(&("scene-clip", Some(true))) && heads.contains(&("target-nll", None)),
        "{heads:?}"
    );
    let said = "target-nll: by target-nll@v1; Δ nearer to 0 is better for cells that are not exact.";
    assert!(table.legend.iter().any(|line| line == said), "{:?}", table.legend);
    let said = "Exact, so that a Δ is chance whatever its interval: ";
    let exact = table.legend.iter().find_map(|line| line.strip_prefix(said)).unwrap();
    assert!(!exact.contains("ar,") && exact.contains("sd-tree13"), "{exact}");
}

#[test]
fn what_cannot_be_broken_down_has_its_reason() {
    let folder = tempfile::tempdir().unwrap();
    let run = scored(folder.path());
    let reason =
        |run: &RunDir, fact: PromptFact| breakdown_tables(run, &[fact]).unwrap().remove(0).1.unwrap_err();
    let nothing = PromptFact { name: "task".into(), of_prompt: BTreeMap::new() };
    assert_eq!(reason(&run, nothing), "no prompt of the run has a task");
    let one = PromptFact { of_prompt: [("1".to_owned(), vec!["triangles".to_owned()])].into(), ..fact() };
    let made = report(&run, &Options { facts: vec![one], ..options() }).unwrap();
    let (_, outcome) = made.figures.iter().find(|(name, _)| name.starts_with("breakdown")).unwrap();
    assert_eq!(*outcome, Outcome::Skipped("the prompts with a category have all the same".into()));
    fs::remove_dir_all(run.metrics_dir()).unwrap();
    assert_eq!(reason(&run, fact()), "no metric of the run has a value of each image");
}

#[test]
fn breakdowns_are_drawn_alone_by_their_kind() {
    let folder = tempfile::tempdir().unwrap();
    let run = scored(folder.path());
    let quality = Quality::Difference("target-nll".into());
    let style = Style { width_mm: Some(85.0), is_titled: false };
    let facts = [fact()];
    let out = folder.path().join("out");
    let made =
        draw(&run, &fixture::summary(), &out, &["breakdown".to_owned()], (&quality, &facts), &style).unwrap();
    assert_eq!(made.len(), 1);
    assert!(out.join("breakdown-category-scene-clip.png").is_file());
    let made =
        draw(&run, &fixture::summary(), &out, &["breakdown".to_owned()], (&quality, &[]), &style).unwrap();
    assert!(made.is_empty(), "{made:?}");
    let titled = Style { width_mm: Some(174.0), is_titled: true };
    draw(&run, &fixture::summary(), &out, &["breakdown".to_owned()], (&quality, &facts), &titled).unwrap();
    let svg = fs::read_to_string(out.join("breakdown-category-scene-clip.svg")).unwrap();
    // A line of the heading may break anywhere in it.
    let texts = svg.split('>').filter_map(|part| part.split_once("</text")).map(|(text, _)| text);
    let texts = texts.collect::<Vec<_>>().join(" ");
    let words = format!("6 of {} cells drawn", fixture::LINES.len());
    assert!(6 < fixture::LINES.len() && texts.contains(&words), "{texts}");
}
