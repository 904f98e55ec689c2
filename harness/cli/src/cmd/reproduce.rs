//! `specimen reproduce`: a paper's table and a run of its twin, with a verdict on every value and claim.

mod page;

use std::{
    collections::{BTreeMap, btree_map::Entry},
    path::{Path, PathBuf},
};

use clap::Args;
use serde_json::json;
use specimen_experiments::parse::SpecText;
use specimen_foundation::fail;
use specimen_record::{Part, RunDir, write_atomic};
use specimen_report::{
    table::{Block, Column, Table, html_page},
    verdicts::{
        reproduce::{
            paper::{Paper, PaperTable, spec_named},
            reproduction::{Reproduction, reproduce as set_beside},
        },
        values::RunValues,
    },
};

use crate::{
    cmd::compare::Layout,
    console::{Console, answer, answer_json},
    seal_check::{SealArgs, Unverified},
    shared_args::Format,
};
use page::{MadeItem, MadeTable};

/// In place of a paper: every one.
const ALL: &str = "all";

/// What to reproduce.
#[derive(Debug, Args)]
pub struct ReproduceArgs {
    /// A paper, for all its tables; one of them, as in `cascade:table3b`; or `all` papers [default: list the tables]
    #[arg(value_name = "PAPER[:TABLE]")]
    pub paper: Option<String>,
    /// Model of the twins
    #[arg(long, value_name = "NAME", default_value = "tiny")]
    pub model: String,
    /// Take this run instead of making one; for one table
    #[arg(long, value_name = "DIR")]
    pub run: Option<PathBuf>,
    /// Folder that the runs are made in, or continued [default: results/runs]
    #[arg(long, value_name = "DIR", conflicts_with = "run")]
    pub out: Option<PathBuf>,
    /// Take only the first N prompts
    #[arg(long, value_name = "N", conflicts_with = "run", value_parser = clap::value_parser!(u32).range(1..))]
    pub limit: Option<u32>,
    /// Also make the longer runs that claims about distances need; `all` makes them without it
    #[arg(long, conflicts_with = "run")]
    pub long: bool,
    /// How the tables are written
    #[arg(long, value_enum, default_value_t = Layout::Terminal)]
    pub layout: Layout,
    #[command(flatten)]
    pub seal: SealArgs,
}

/// Compares tables of a paper with runs, and writes the result into the report of each run. A whole paper, and all of
/// them, become a page.
pub(crate) fn reproduce(args: &ReproduceArgs, console: &Console) -> anyhow::Result<()> {
    let Some(asked) = &args.paper else { return list(args, console) };
    let tables = tables(args, asked)?;
    let unverified = Unverified::check(&args.run, Part::Values, &args.seal, console)?;
    let made = compared(args, tables, console)?;
    if args.run.is_none() && !asked.contains(':') {
        let items = items(args, asked, console)?;
        let page = page::write(&out(args, &format!("reproduce-{asked}")), &made, &items, console)?;
        console.say(format!("page: {}", page.display()));
    }
    let found: Vec<Reproduction> = made.into_iter().map(|made| made.found).collect();
    match console.format() {
        Format::Json => unverified.answer_json(&found),
        Format::Human => unverified.answer(&said(&found, args.layout)),
    }
}

/// Makes the runs of the tables, or continues them, and compares each.
fn compared(
    args: &ReproduceArgs,
    tables: Vec<(Paper, PaperTable)>,
    console: &Console,
) -> anyhow::Result<Vec<MadeTable>> {
    let mut made = Vec::new();
    let mut longer = BTreeMap::new();
    let mut longer_folders = BTreeMap::new();
    for (paper, table) in tables {
        let folders = match &args.run {
            Some(folder) => vec![folder.clone()],
            None => {
                let specs = table.specs(&args.model)?.into_iter();
                specs.map(|spec| make(args, spec, console)).collect::<anyhow::Result<_>>()?
            }
        };
        let names = longer_specs(args, &paper, &table);
        for name in &names {
            if let Entry::Vacant(place) = longer.entry(name.clone()) {
                let folder = make(args, spec_named(name)?, console)?;
                place.insert(RunValues::read(&RunDir::open(&folder)?)?);
                longer_folders.insert(name.clone(), folder);
            }
        }
        let of_table = |name: &String| Some((name.clone(), longer_folders.get(name)?.clone()));
        let longer_folders: BTreeMap<String, PathBuf> = names.iter().filter_map(of_table).collect();
        for folder in folders {
            let run = RunDir::open(&folder)?;
            let found = set_beside(&paper, &table, &RunValues::read(&run)?, &longer)?;
            write(&run.report(), &found, console)?;
            made.push(MadeTable { table: table.clone(), run: folder, found, longer: longer_folders.clone() });
        }
    }
    Ok(made)
}

/// Makes the runs that show what is no table of the papers.
fn items(args: &ReproduceArgs, asked: &str, console: &Console) -> anyhow::Result<Vec<MadeItem>> {
    let papers = if asked == ALL { Paper::all()? } else { vec![Paper::named(asked)?] };
    let mut made = Vec::new();
    for paper in papers {
        for item in paper.items {
            let names = item.specs.get(&args.model).into_iter().flatten();
            let runs = names.map(|name| make(args, spec_named(name)?, console));
            let runs = runs.collect::<anyhow::Result<_>>()?;
            made.push(MadeItem { paper: paper.title.clone(), item, runs });
        }
    }
    Ok(made)
}

/// Specs that claims of a table have for themselves, where they are made.
fn longer_specs(args: &ReproduceArgs, paper: &Paper, table: &PaperTable) -> Vec<String> {
    if args.run.is_some() || !is_long(args) {
        return Vec::new();
    }
    let claims = paper.claims.iter().filter(|claim| claim.table == table.id);
    claims.filter_map(|claim| claim.specs.get(&args.model).cloned()).collect()
}

fn is_long(args: &ReproduceArgs) -> bool {
    args.long || args.paper.as_deref() == Some(ALL)
}

/// The tables that are asked for, each with its paper.
fn tables(args: &ReproduceArgs, asked: &str) -> anyhow::Result<Vec<(Paper, PaperTable)>> {
    let (name, table) = match asked.split_once(':') {
        Some((paper, table)) => (paper, Some(table)),
        None => (asked, None),
    };
    let papers = if name == ALL { Paper::all()? } else { vec![Paper::named(name)?] };
    if args.run.is_some() && table.is_none() {
        let first = format!("{}:{}", papers[0].id, papers[0].tables[0].id);
        fail!(Usage: "--run is a run of one table; name it, as in {first}");
    }
    let mut tables = Vec::new();
    for paper in papers {
        let of_paper = match table {
            Some(table) => vec![paper.table(table)?.clone()],
            None => {
                paper.tables.iter().filter(|table| table.specs.contains_key(&args.model)).cloned().collect()
            }
        };
        tables.extend(of_paper.into_iter().map(|table| (paper.clone(), table)));
    }
    if tables.is_empty() {
        let why = format!(
            "no table of `{asked}` has a spec for the model `{}`; `specimen reproduce` lists them",
            args.model
        );
        fail!(Usage: "{why}");
    }
    Ok(tables)
}

/// Prints what can be reproduced, and on which models.
fn list(args: &ReproduceArgs, console: &Console) -> anyhow::Result<()> {
    let papers = Paper::all()?;
    let rows = || papers.iter().flat_map(|paper| paper.tables.iter().map(move |table| (paper, table)));
    if console.format() == Format::Json {
        let named = rows().map(|(paper, table)| json!({ "table": format!("{}:{}", paper.id, table.id), "title": table.title, "specs": table.specs }));
        return answer_json(&json!({ "schema": 1, "tables": named.collect::<Vec<_>>() }));
    }
    let mut shown = Table { id: "papers".to_owned(), ..Table::default() };
    shown.rows = vec![Vec::new(); rows().count()];
    let mut column = |name: &str, of: &dyn Fn(&Paper, &PaperTable) -> String| {
        let entries =
            rows().map(|(paper, table)| specimen_report::table::Entry::plain(&of(paper, table))).collect();
        shown.push(Column::text(name), entries);
    };
    column("table", &|paper, table| format!("{}:{}", paper.id, table.id));
    column("title", &|_, table| table.title.clone());
    column("models", &|_, table| table.specs.keys().cloned().collect::<Vec<_>>().join(", "));
    answer(&args.layout.of(&shown))
}

fn said(found: &[Reproduction], layout: Layout) -> String {
    let tables = found.iter().flat_map(|one| [one.values_table(), one.claims_table()]);
    if layout == Layout::Html {
        let title = found.iter().map(|one| one.id.as_str()).collect::<Vec<_>>().join(", ");
        return html_page(&title, &tables.map(Block::Table).collect::<Vec<_>>());
    }
    tables.map(|table| layout.of(&table)).collect::<Vec<_>>().join("\n")
}

/// `reproduce.md`, `.tex`, `.html` and `.json`.
fn write(folder: &Path, found: &Reproduction, console: &Console) -> anyhow::Result<()> {
    let one = std::slice::from_ref(found);
    for (name, layout) in [
        ("reproduce.md", Layout::Markdown),
        ("reproduce.tex", Layout::Latex),
        ("reproduce.html", Layout::Html),
    ] {
        write_atomic(&folder.join(name), said(one, layout).as_bytes())?;
    }
    write_atomic(&folder.join("reproduce.json"), serde_json::to_string_pretty(found)?.as_bytes())?;
    console.say(format!("{}: written to {}", found.id, folder.join("reproduce.md").display()));
    if let Some(run) = folder.parent().filter(|_| !folder.join("index.html").is_file()) {
        console.say(format!("the run's own page and figures: specimen report {}", run.display()));
    }
    Ok(())
}

/// Makes the run of a spec, or continues it; its folder.
fn make(args: &ReproduceArgs, mut text: SpecText, console: &Console) -> anyhow::Result<PathBuf> {
    if let Some(limit) = args.limit {
        text.set(&format!("dataset.limit={limit}"))?;
    }
    let spec = text.resolve()?;
    let folder = out(args, &spec.name);
    super::rerun::run(spec, &folder, console)
}

/// A folder of this name where runs are made.
fn out(args: &ReproduceArgs, name: &str) -> PathBuf {
    args.out.as_ref().map_or_else(|| crate::spec_args::default_out(name), |folder| folder.join(name))
}
