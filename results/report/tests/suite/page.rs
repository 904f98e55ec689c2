//! The page of a report is one file that escapes what it shows, keeps within its size, and says what is missing.

use crate::fixture;
use crate::fixture::reading;

use std::fs;
use std::path::Path;

use image::{Rgb, RgbImage};
use specimen_record::{
    DiagnosticFile, FeatureRows, Item, ItemKey, RunDir, Summary, read_document, write_document,
};
use specimen_report::{Options, Quality, report};

fn options() -> Options {
    Options::new(Quality::Difference("target-nll".into()), 3)
}

fn page(run: &RunDir) -> String {
    let made = report(run, &options()).unwrap();
    fs::read_to_string(made.page).unwrap()
}

fn changed(run: &RunDir, change: impl FnOnce(&mut Summary)) {
    let mut summary: Summary = read_document(&run.summary()).unwrap();
    change(&mut summary);
    write_document(&run.summary(), &summary).unwrap();
}

/// Addresses in attributes, data URIs left out.
fn addresses(page: &str) -> Vec<&str> {
    let starts = ["src=\"", "href=\"", "action=\"", "url("];
    let after = starts.iter().flat_map(|start| page.split(start).skip(1));
    after.map(|rest| rest.split(['"', ')']).next().unwrap()).filter(|a| !a.starts_with("data:")).collect()
}

#[test]
fn the_page_needs_nothing_from_elsewhere() {
    let folder = tempfile::tempdir().unwrap();
    let run = fixture::run(folder.path());
    let page = page(&run);
    for address in addresses(&page) {
        assert!(!address.contains("://") && !address.starts_with("//"), "{address}");
        let file = address.split('#').next().unwrap();
        if !file.is_empty() && !file.starts_with("../shards") {
            assert!(run.report().join(file).is_file(), "{address} leads nowhere");
        }
    }
    assert!(page.contains("default-src &#x27;none&#x27;"));
    assert_eq!(page.matches("<script").count(), 2);
}

#[test]
fn everything_a_reader_looks_for_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let page = page(&fixture::run(folder.path()));
    for line in &fixture::LINES {
        assert!(page.contains(line.id), "{}", line.id);
    }
    for words in [
        "1.48 [1.43, 1.54]",
        "Fastest exact method",
        "Fastest relaxed method",
        "32 images, the protocol asks for 500",
        "No manifest",
        "Failed items",
        "failed: out of memory",
        "image file gone",
        "The first",
        "similarity of draft paths",
        "id=\"figure-pareto\"",
        "Hypervolume",
    ] {
        let found = page.contains(words) || words == "The first" && page.contains("All 5 rows");
        assert!(found, "{words}");
    }
    assert_eq!(page.matches("data:image/png;base64,").count(), 9 * 5 - 2);
}

#[test]
fn differences_are_a_table_with_their_p_values_and_no_longer_a_line() {
    let folder = tempfile::tempdir().unwrap();
    let page = page(&fixture::run(folder.path()));
    assert!(page.contains("with p-values</summary>") && page.contains("scope=\"rowgroup\""));
    assert!(!page.contains("minus the baseline&#x27;s, paired by prompt"), "the sentence is still there");
    // A row is the cell, its difference with the interval, pairs, z, p and what could have been told apart.
    let line = fixture::LINES.iter().find(|line| line.id == "cascade").unwrap();
    let (difference, half) = line.nll;
    let table = page.split("class=\"differences\"").nth(1).unwrap().split("</details>").next().unwrap();
    let row = table.split("<tr>").find(|row| row.contains(">cascade<")).unwrap();
    let signed = |value: f64| format!("{}{:.3}", if value < 0.0 { "-" } else { "+" }, value.abs());
    for entry in [
        signed(difference),
        format!("{} to {}", signed(difference - half), signed(difference + half)),
        "32".to_owned(),
        format!("+{:.1}", 1.96 * difference / half),
        "&lt; 0.0001".to_owned(),
    ] {
        assert!(row.contains(&format!("<td class=\"number\">{entry}</td>")), "{entry} is not in {row}");
    }
}

#[test]
fn what_a_figure_shows_is_not_listed_as_not_measured() {
    let folder = tempfile::tempdir().unwrap();
    let run = fixture::run(folder.path());
    let gaps = |page: &str| {
        page.split("id=\"unmeasured\"").nth(1).unwrap().split("</section>").next().unwrap().to_owned()
    };
    let without = gaps(&page(&run));
    let why = "the spec asks for no [[diagnostic]] `feature-rows`";
    assert!(without.contains("features by image row") && without.contains(why), "{without}");
    assert!(!without.contains("features are not kept"));
    changed(&run, |summary| summary.spec["diagnostics"] = serde_json::json!([{"name": "feature-rows"}]));
    let rows = FeatureRows {
        key: ItemKey::new("ar", "1", 0),
        n_rows: 2,
        n_cols: 2,
        neighbours: Some(0.68),
        between: vec![1.0, 0.5, 0.5, 1.0],
        last_row: vec![1.0, 0.5, 0.5, 1.0],
    };
    let file = DiagnosticFile { feature_rows: vec![rows], ..DiagnosticFile::new("feature-rows", "ar") };
    write_document(&run.diagnostic("feature-rows", "ar"), &file).unwrap();
    let page = page(&run);
    assert!(page.contains("id=\"figure-features\"") && !gaps(&page).contains("features by image row"));
}

#[test]
fn tokens_of_rows_side_by_side_have_no_known_step() {
    let folder = tempfile::tempdir().unwrap();
    let run = fixture::run(folder.path());
    let words = "Rows were decoded side by side, and no step says which tokens it gave";
    assert!(!page(&run).contains(words));
    changed(&run, |summary| summary.cells[2].family = Some(specimen_record::Family::Rows));
    assert!(page(&run).contains(words));
}

#[test]
fn no_text_leaves_its_place() {
    let prompts = [
        "<script>window.pwned = 1</script>",
        "</script><img src=x onerror=alert(2)>",
        "quotes ' \" & \u{2028} {{ 7 * 7 }} {% raw %}",
        "--> </style> ]]>",
    ];
    let folder = tempfile::tempdir().unwrap();
    let run = fixture::run_of(folder.path(), &prompts, |_| RgbImage::new(8, 8));
    changed(&run, |summary| {
        summary.name = "<b>run</b>".into();
        summary.cells[1].id = "\"><svg onload=alert(3)>".into();
        reading(&mut summary.cells[2], "speedup").value = None;
        reading(&mut summary.cells[2], "speedup").why = Some("<iframe src=y>".into());
        summary.spec = serde_json::json!({"analysis": "</pre><script>4</script>", "sources": ["<a href=z>"]});
    });
    let page = page(&run);
    assert_eq!(page.matches("<script").count(), 2);
    assert_eq!(page.matches("</script>").count(), 2);
    for tag in ["<img src=x", "<b>run", "<iframe", "<svg onload", "<a href=z"] {
        assert!(!page.contains(tag), "{tag}");
    }
    assert!(page.contains("{{ 7 * 7 }} {% raw %}"), "a prompt was read as a template");
    assert!(page.contains("&lt;script&gt;window.pwned = 1&lt;&#x2f;script&gt;"));
}

/// A picture that no compression makes smaller.
fn noise(item: &Item) -> RgbImage {
    let mut state = u64::from(item.block) * 1_000_003 + item.cell.len() as u64 + 1;
    let mut byte = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    };
    RgbImage::from_fn(512, 512, |_, _| Rgb([byte(), byte(), byte()]))
}

#[test]
fn what_would_make_the_page_too_large_is_linked() {
    let folder = tempfile::tempdir().unwrap();
    let run = fixture::run_of(folder.path(), &fixture::PROMPTS, noise);
    let page = page(&run);
    assert!(page.len() <= 20_000_000, "{} bytes", page.len());
    let n_inside = page.matches("src=\"data:image/png;base64,").count();
    let linked: Vec<&str> =
        addresses(&page).into_iter().filter(|address| address.starts_with("../shards/")).collect();
    assert_eq!(n_inside + linked.len(), 9 * 5 - 2);
    assert!(n_inside > 10 && !linked.is_empty(), "{n_inside} inside");
    for link in &linked {
        let path = link.replace("%2B", "+").replace("%25", "%");
        assert!(run.report().join(Path::new(&path)).is_file(), "{link}");
    }
    assert!(page.contains(&format!("{} images are linked", linked.len())));
}

#[test]
fn rows_beyond_the_sixty_fourth_are_counted_and_listed() {
    let prompts: Vec<String> = (0..70).map(|at| format!("prompt number {at}")).collect();
    let prompts: Vec<&str> = prompts.iter().map(String::as_str).collect();
    let folder = tempfile::tempdir().unwrap();
    let run = fixture::run_of(folder.path(), &prompts, |_| RgbImage::new(8, 8));
    let page = page(&run);
    assert_eq!(page.matches("<article").count(), 64);
    assert!(page.contains("The first 64 of 70 rows are here; the other 6 are listed in images.csv"));
    let listed = fs::read_to_string(run.report().join("images.csv")).unwrap();
    assert_eq!(listed.lines().count(), 1 + 70 * 9);
    assert!(listed.contains("prompt number 69") && listed.contains("../shards/0/images/ar+69+0.png"));
}

#[test]
fn a_run_without_cells_or_images_has_a_page_that_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let run = RunDir::create(folder.path().join("run")).unwrap();
    let mut summary = fixture::summary();
    summary.cells.clear();
    write_document(&run.summary(), &summary).unwrap();
    let page = page(&run);
    assert!(page.contains("The run has no cells.") && page.contains("No images: the run has no cells."));
}
