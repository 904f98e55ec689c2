//! Figures for papers: one figure in a width on paper as SVG, PDF and PNG, with and without its title; and tables of
//! chosen columns.

use crate::fixture;

use std::fs;
use std::path::{Path, PathBuf};

use specimen_record::{RunDir, write_document};
use specimen_report::{Outcome, Quality, Style, draw, table_of};

fn run_of(folder: &Path) -> RunDir {
    let run = RunDir::create(folder.join("run")).unwrap();
    write_document(&run.summary(), &fixture::summary()).unwrap();
    run
}

/// The files of one figure, by their endings.
fn drawn(style: &Style, name: &str) -> (tempfile::TempDir, impl Fn(&str) -> Vec<u8> + use<>) {
    let folder = tempfile::tempdir().unwrap();
    let run = run_of(folder.path());
    let quality = Quality::Difference("target-nll".into());
    let out = folder.path().join("paper");
    let made = draw(&run, &fixture::summary(), &out, &[name.to_owned()], (&quality, &[]), style).unwrap();
    let [(_, Outcome::Written(files))] = &made[..] else { panic!("{made:?}") };
    let files: Vec<PathBuf> = files.clone();
    assert!(!run.report().exists(), "only the figure is written");
    let read = move |ending: &str| {
        fs::read(files.iter().find(|file| file.extension().unwrap() == ending).unwrap()).unwrap()
    };
    (folder, read)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Width and height of a PDF page in points.
fn page_size(pdf: &[u8]) -> (f64, f64) {
    let text = text(pdf);
    let numbers = text.split("/MediaBox").nth(1).unwrap().split(['[', ']']).nth(1).unwrap();
    let numbers: Vec<f64> = numbers.split_whitespace().map(|number| number.parse().unwrap()).collect();
    (numbers[2], numbers[3])
}

/// The inflated streams of a PDF file.
fn streams(pdf: &[u8]) -> Vec<Vec<u8>> {
    let find = |from: usize, what: &[u8]| {
        pdf[from..].windows(what.len()).position(|window| window == what).map(|at| from + at)
    };
    let (mut found, mut at) = (Vec::new(), 0);
    while let Some(start) = find(at, b"stream\n") {
        let (start, mut out) = (start + 7, Vec::new());
        let end = find(start, b"endstream").unwrap();
        std::io::Read::read_to_end(&mut flate2::read::ZlibDecoder::new(&pdf[start..end]), &mut out).unwrap();
        found.push(out);
        at = end + 9;
    }
    found
}

#[test]
fn a_figure_has_its_width_on_paper_in_every_format() {
    for (mm, units) in [(85.0, 560.0), (174.0, 1146.0)] {
        let style = Style { width_mm: Some(mm), is_titled: true };
        let (_folder, read) = drawn(&style, "pareto");
        let svg = text(&read("svg"));
        assert!(svg.contains(&format!("width=\"{mm}mm\"")), "{}", &svg[..200]);
        assert!(svg.contains(&format!("viewBox=\"0 0 {units} ")), "{}", &svg[..200]);
        let (wide, _) = page_size(&read("pdf"));
        assert!((wide - mm * 72.0 / 25.4).abs() < 0.01, "{wide}");
        let png = image::load_from_memory(&read("png")).unwrap();
        assert_eq!(f64::from(png.width()), 3.0 * units);
        assert_eq!(f64::from(dots_per_inch(&read("png"))), (f64::from(png.width()) * 25.4 / mm).round());
    }
}

#[test]
fn a_figure_for_a_screen_says_its_size_on_paper_too() {
    let (_folder, read) = drawn(&Style::SCREEN, "pareto");
    // 1120 pixels on the 85 mm of a column.
    assert_eq!(dots_per_inch(&read("png")), 335);
}

#[test]
fn a_figure_without_a_title_is_as_much_lower() {
    let style = |is_titled| Style { width_mm: Some(85.0), is_titled };
    let (_one, with) = drawn(&style(true), "pareto");
    let (_two, without) = drawn(&style(false), "pareto");
    assert!(text(&with("svg")).contains("made-up: speed against quality"));
    let bare = text(&without("svg"));
    assert!(!bare.contains("made-up") && bare.contains("Speedup over ar"));
    assert!(page_size(&with("pdf")).1 > page_size(&without("pdf")).1 + 15.0);
}

#[test]
fn a_pdf_holds_a_font_whose_letters_can_be_read_back_and_is_the_same_twice() {
    let style = Style { width_mm: Some(85.0), is_titled: false };
    let (_one, read) = drawn(&style, "pareto");
    let pdf = read("pdf");
    let words = text(&pdf);
    assert!(pdf.starts_with(b"%PDF-") && words.contains("/CIDFontType2") && words.contains("+DejaVuSans"));
    assert!(!words.contains("/Type3") && !words.contains("/CreationDate"), "fonts of type 3 are refused");
    assert!(pdf.len() < 60_000, "{} bytes: the whole font is in it", pdf.len());
    let streams = streams(&pdf);
    let maps: Vec<String> =
        streams.iter().map(|stream| text(stream)).filter(|s| s.contains("begincmap")).collect();
    // Every letter of the words has its place: `S` of "Speedup" and the delta of the axis.
    assert!(maps.len() == 1 && maps[0].contains("<0053>") && maps[0].contains("<0394>"), "{maps:?}");
    let (_two, again) = drawn(&style, "pareto");
    assert!(again("pdf") == pdf);
}

#[test]
fn a_figure_that_the_run_does_not_have_is_refused_with_those_it_has() {
    let folder = tempfile::tempdir().unwrap();
    let run = run_of(folder.path());
    let quality = Quality::Difference("target-nll".into());
    let error = draw(
        &run,
        &fixture::summary(),
        folder.path(),
        &["parto".to_owned()],
        (&quality, &[]),
        &Style::SCREEN,
    )
    .unwrap_err()
    .to_string();
    assert_eq!(error, "no figure `parto`; did you mean `pareto`?");
}

#[test]
fn a_table_has_the_columns_that_were_asked_for_in_their_order() {
    let columns = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let table = table_of(&fixture::summary(), &columns(&["target-nll", "NFE", "accepted_per_step"])).unwrap();
    let heads: Vec<&str> = table.columns.iter().map(|column| column.name.as_str()).collect();
    assert_eq!(heads, ["method", "target-nll", "NFE", "accepted"]);
    assert!(table.rows.iter().all(|row| row.len() == 4));
    let ar = table.rows.iter().find(|row| row[0].text == "ar").unwrap();
    assert!(ar[2].text.starts_with("256.0") && ar[3].text.starts_with("1.00"), "{ar:?}");
    // One that is named twice, by its head and its name in the CSV, is there once.
    let once = table_of(&fixture::summary(), &columns(&["nfe", "NFE", "accepted"])).unwrap();
    let heads: Vec<&str> = once.columns.iter().map(|column| column.name.as_str()).collect();
    assert_eq!(heads, ["method", "NFE", "accepted"]);
    // Reasons of columns that are not there are not there either.
    assert!(
        table.footnotes.iter().all(|note| !note.contains("the protocol asks for 500")),
        "{:?}",
        table.footnotes
    );
    // Nor is what the other columns mean.
    let legend = table.legend.join(" ");
    assert!(legend.starts_with("Accepted: ") && legend.contains("NFE: target forwards"), "{legend}");
    assert!(legend.contains("target-nll minus the baseline's"), "{legend}");
    for other in ["Speedup", "Overhead", "Timing", "scene-clip", "abs. Δ"] {
        assert!(!legend.contains(other), "{other} is no column: {legend}");
    }
    let error = table_of(&fixture::summary(), &columns(&["fid"])).unwrap_err();
    assert!(
        error.to_string().starts_with(
            "no column `fid`; the table has output, drafter, n, failed, speedup, speedup_geomean"
        ),
        "{error}"
    );
}

/// What a PNG file says of its size on paper.
fn dots_per_inch(png: &[u8]) -> u32 {
    let at = png.windows(4).position(|word| word == b"pHYs").unwrap() + 4;
    let per_metre = u32::from_be_bytes(png[at..at + 4].try_into().unwrap());
    assert_eq!(png[at + 8], 1, "the unit is a metre");
    (f64::from(per_metre) * 0.0254).round() as u32
}
