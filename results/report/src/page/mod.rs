//! `report/index.html`: the whole report as one file that needs no network and no server. Texts go through the
//! template's escaping; what a script reads goes through [`embed::script_json`].

mod downloads;
mod embed;
mod gallery;
mod provenance;
mod results;
mod unmeasured;
mod warnings;

use minijinja::Environment;
use serde::Serialize;
use specimen_record::{Manifest, Part, RunDir, Summary, read_document, seal_complaints};

use crate::ReportError;
use crate::drawing::figure::Figure;
use crate::drawing::palette::colors_on_dark;
use crate::figures::NamedFigure;
use crate::images::by_prompt::ImagesByPrompt;
use crate::tables::conditions::conditions;

const TEMPLATE: &str = include_str!("index.html");
const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");

/// Bytes that the page may have.
pub(crate) const MOST_BYTES: usize = 20_000_000;

/// Rows of images that the page may have.
pub(crate) const MOST_ROWS: usize = 64;

/// What the page shows of a figure.
#[derive(Serialize)]
struct FigurePart {
    name: String,
    title: String,
    caption: String,
    svg: String,
}

/// The page as the template sees it.
#[derive(Serialize)]
struct Page<'a> {
    policy: String,
    style: &'a str,
    script: &'a str,
    colors_on_dark: Vec<(String, String)>,
    name: &'a str,
    conditions: String,
    tiles: Vec<results::Tile>,
    warnings: Vec<warnings::Warning>,
    table: results::TablePart,
    differences: Vec<results::DifferencePart>,
    differences_note: String,
    figures: Vec<FigurePart>,
    missing_figures: Vec<(String, String)>,
    by_prompt: gallery::Gallery,
    unmeasured: Vec<unmeasured::AbsentQuantity>,
    analysis: Vec<String>,
    protocols: Vec<String>,
    manifest: Option<provenance::ManifestPart>,
    spec: String,
    downloads: Vec<downloads::Download>,
    footer: String,
    /// JSON that is safe inside a script element.
    data: String,
}

/// The page of a run as HTML. `by_prompt`: the images, or the reason why there are none.
pub(crate) fn page(
    run: &RunDir,
    summary: &Summary,
    named_figures: &[NamedFigure],
    by_prompt: Result<&ImagesByPrompt, &str>,
) -> Result<String, ReportError> {
    let manifest: Option<Manifest> = match run.manifest().is_file() {
        true => Some(read_document(&run.manifest())?),
        false => None,
    };
    let drawn: Vec<&Figure> = named_figures.iter().filter_map(|named| named.drawn.as_ref().ok()).collect();
    let (differences, differences_note) = results::difference_parts(summary)?;
    let mut page = Page {
        policy: policy(),
        style: STYLE,
        script: SCRIPT,
        colors_on_dark: colors_on_dark(),
        name: &summary.name,
        conditions: conditions(summary),
        tiles: results::tiles(summary),
        warnings: warnings::warnings(summary, manifest.as_ref(), &unverified(run, manifest.as_ref())),
        table: results::table(summary)?,
        differences,
        differences_note,
        figures: drawn.iter().map(|figure| figure_part(figure)).collect(),
        missing_figures: missing(named_figures),
        by_prompt: gallery::Gallery::default(),
        unmeasured: unmeasured::absent_quantities(summary, named_figures),
        analysis: provenance::analysis(summary),
        protocols: provenance::protocols(summary),
        manifest: manifest.as_ref().map(|manifest| provenance::manifest_part(summary, manifest)),
        spec: serde_json::to_string_pretty(&summary.spec).expect("a value has text keys"),
        downloads: downloads::downloads(run, &drawn),
        footer: format!(
            "Made by specimen {} from merged/summary.json, result {}.",
            env!("CARGO_PKG_VERSION"),
            summary.result_digest.as_str()
        ),
        data: embed::script_json(&gallery::PageData::default()),
    };
    let by_prompt = match by_prompt {
        Ok(by_prompt) => by_prompt,
        Err(why) => {
            page.by_prompt.why = Some(why.to_owned());
            return render(&page);
        }
    };
    // Without images first: they get the bytes that are left.
    let mut n_rows = by_prompt.rows.len();
    loop {
        let mut gallery = gallery::Gallery::of(by_prompt, summary, n_rows);
        page.data = embed::script_json(&gallery::PageData::of(by_prompt, summary, n_rows));
        page.by_prompt = gallery;
        let bare = render(&page)?;
        if bare.len() > MOST_BYTES / 2 && n_rows > 1 {
            n_rows /= 2;
            continue;
        }
        gallery = std::mem::take(&mut page.by_prompt);
        gallery.embed_images(run, by_prompt, MOST_BYTES.saturating_sub(bare.len()))?;
        page.by_prompt = gallery;
        return render(&page);
    }
}

/// What of a sealed run's files is not as it was sealed.
fn unverified(run: &RunDir, manifest: Option<&Manifest>) -> Vec<String> {
    let is_sealed = manifest.is_some_and(|manifest| manifest.sealed.is_some());
    let complaints = if is_sealed { seal_complaints(run, Part::All) } else { Vec::new() };
    complaints.iter().map(ToString::to_string).collect()
}

fn render(page: &Page<'_>) -> Result<String, ReportError> {
    let mut environment = Environment::new();
    // The name decides that everything is escaped.
    environment.add_template("index.html", TEMPLATE)?;
    Ok(environment
        .get_template("index.html")?
        .render(minijinja::Value::from(minijinja::value::Serde(page)))?)
}

/// What the page may do: run its own script, show images that it carries or links, nothing else.
fn policy() -> String {
    format!(
        "default-src 'none'; img-src data: file: 'self'; style-src 'unsafe-inline'; script-src '{}'",
        embed::script_hash(SCRIPT)
    )
}

fn figure_part(figure: &Figure) -> FigurePart {
    FigurePart {
        name: figure.words.name.clone(),
        title: embed::heading(&figure.words.title),
        caption: figure.words.caption.clone(),
        svg: embed::inline_svg(&figure.bare_svg, &figure.words.title),
    }
}

fn missing(named_figures: &[NamedFigure]) -> Vec<(String, String)> {
    let drawn = named_figures
        .iter()
        .filter_map(|named| Some((named.name.clone(), named.drawn.as_ref().err()?.clone())));
    drawn.collect()
}
