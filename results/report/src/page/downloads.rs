//! The files that hold what the page shows, as links from the report's folder.

use serde::Serialize;
use specimen_record::RunDir;

use super::embed::link;
use crate::drawing::figure::Figure;

/// One file.
#[derive(Serialize)]
pub(crate) struct Download {
    name: String,
    /// Address; made of letters that need no escaping.
    href: String,
    what: &'static str,
}

/// Files below the run's folder, and what each is.
const OF_THE_RUN: [(&str, &str); 6] = [
    ("merged/summary.json", "every number of the tables, with reasons for those that are absent"),
    ("merged/records.jsonl", "one row an image: tokens, counts, digests"),
    ("merged/steps.jsonl", "one row an image: every step of its decoding"),
    ("manifest.json", "what was run, with what, on what"),
    ("plan.json", "every image of the plan with its seed"),
    ("checksums.json", "digests of the run's files"),
];

/// Files of the report itself, as far as they are there.
const OF_THE_REPORT: [(&str, &str); 5] = [
    ("table.csv", "the table, every number in full"),
    ("table.md", "the table as Markdown"),
    ("table.tex", "the table for LaTeX"),
    ("images.csv", "one row an image: prompt, seed, counts, file"),
    ("grid.png", "the first prompts as one picture"),
];

/// The files that are there.
pub(crate) fn downloads(run: &RunDir, figures: &[&Figure]) -> Vec<Download> {
    let here = OF_THE_REPORT.iter().filter(|(name, _)| run.report().join(name).is_file());
    let here = here.map(|(name, what)| Download { name: (*name).to_owned(), href: link(name), what });
    let drawn = figures.iter().map(|figure| {
        let name = format!("{}.csv", figure.words.name);
        Download { href: link(&name), name, what: "the data of the figure" }
    });
    let there = OF_THE_RUN.iter().filter(|(path, _)| run.root().join(path).is_file());
    let there = there.map(|(path, what)| Download {
        name: (*path).to_owned(),
        href: link(&format!("../{path}")),
        what,
    });
    here.chain(drawn).chain(there).collect()
}
