//! The index of the committed specs by what they reproduce: every table, figure and statement of the papers.

use std::{collections::BTreeMap, fmt::Write};

use specimen_report::verdicts::reproduce::paper::Paper;

use crate::table;

/// The model of the twins.
const TWIN: &str = "tiny";

/// The page.
pub(crate) fn index() -> String {
    let mut text = "# Experiments\nOne file is one experiment. `paper/` has the tables and figures of papers, at full size and as \
                    twins on the embedded model; `real/` published models on their own; `sweep/` sweeps of ours; `ci/` what \
                    the tests run; `train/` the trainings of heads, for `specimen train-drafter`. [All specs with their questions and sizes](../../docs/reference/specs.md).\n\n\
                    `specimen reproduce all` makes or continues every twin and compares it with the printed table.\n"
        .to_owned();
    for paper in Paper::all().unwrap() {
        write!(text, "\n## {}\n", paper.title).unwrap();
        let tables = paper.tables.iter().map(|table| {
            let shown = format!("`specimen reproduce {}:{}`", paper.id, table.id);
            row(&table.title, &table.specs, &shown, table.why.as_deref())
        });
        let items =
            paper.items.iter().map(|item| row(&item.title, &item.specs, &item.shown(), item.why.as_deref()));
        let heads = ["table or figure", "full size", "twin", "shown by", "what is not here, and why"];
        text.push_str(&table(&heads, tables.chain(items)));
    }
    text
}

fn row(title: &str, specs: &BTreeMap<String, Vec<String>>, shown: &str, why: Option<&str>) -> Vec<String> {
    let link = |name: &String| format!("[{}](paper/{name})", name.trim_end_matches(".toml"));
    let links = |is_twin: bool| {
        let specs = specs.iter().filter(|(model, _)| (model.as_str() == TWIN) == is_twin);
        specs.flat_map(|(_, names)| names).map(link).collect::<Vec<_>>().join(", ")
    };
    let (full, twin) = (links(false), links(true));
    let has_all = [full.as_str(), &twin, shown].iter().all(|cell| !cell.is_empty());
    assert!(has_all || why.is_some(), "{title}: an empty cell needs a reason, `why`");
    vec![title.to_owned(), full, twin, shown.to_owned(), why.unwrap_or_default().to_owned()]
}
