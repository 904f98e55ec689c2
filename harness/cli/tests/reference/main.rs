//! The pages of `docs/reference` are what the program itself says: its commands, protocols, models, datasets, specs
//! and the files of a run.
//! So are the JSON Schemas of the files that people write.
//! `make reference` writes them again; this test fails where one is not up to date.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod outputs;
mod papers;
mod schemas;

use std::{
    fmt::Write,
    fs,
    path::{Path, PathBuf},
};

use clap::CommandFactory;
use specimen_catalog::{
    METRICS,
    entry::{ENTRIES, Known},
    metric::{Direction, Needs},
};
use specimen_cli::args::Cli;
use specimen_datasets::{catalog::ENTRIES as DATASETS, manifest::ITEMS};
use specimen_experiments::bundled::summaries;
use specimen_measure::{pair_protocol::PairProtocol, protocol::Protocol, protocol_head::Head};

/// Set, the pages are written and not compared.
const WRITE: &str = "WRITE_REFERENCE";

#[test]
fn the_reference_pages_are_up_to_date() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let pages = pages().map(|(name, text)| (format!("docs/reference/{name}"), text));
    let schemas = schemas::schemas().map(|(name, schema)| (name.to_owned(), format!("{schema:#}\n")));
    let mut stale = Vec::new();
    for (name, text) in pages.into_iter().chain(schemas) {
        let path: PathBuf = root.join(&name);
        if std::env::var_os(WRITE).is_some() {
            fs::write(&path, &text).unwrap();
        } else if fs::read_to_string(&path).ok().as_ref() != Some(&text) {
            stale.push(name);
        }
    }
    assert!(stale.is_empty(), "not up to date: {}; run `make reference`", stale.join(", "));
}

#[test]
fn the_page_of_metrics_names_every_protocol_of_a_tool() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/metrics.md");
    let page = fs::read_to_string(page).unwrap();
    let check = |name: &str, head: &Head| {
        let names_it = |line: &str| line.starts_with("| ") && line.contains(&code(name));
        assert!(head.tool().is_none() || page.lines().any(names_it), "{name}");
    };
    for name in Protocol::names() {
        let protocol = Protocol::named(name).unwrap();
        check(name, protocol.head());
    }
    for name in PairProtocol::names() {
        check(name, PairProtocol::named(name).unwrap().head());
    }
}

fn pages() -> [(&'static str, String); 8] {
    [
        ("commands.md", commands()),
        ("metrics.md", metrics()),
        ("protocols.md", protocols()),
        ("models.md", models()),
        ("datasets.md", datasets()),
        ("specs.md", bundled_specs()),
        ("outputs.md", outputs::outputs()),
        ("../../experiments/specs/README.md", papers::index()),
    ]
}

/// A table in Markdown; a bar in a cell is escaped.
fn table(heads: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut text = format!("| {} |\n|{}\n", heads.join(" | "), "---|".repeat(heads.len()));
    for row in rows {
        let cells: Vec<String> = row.iter().map(|cell| cell.replace('|', "\\|").replace('\n', " ")).collect();
        writeln!(text, "| {} |", cells.join(" | ")).unwrap();
    }
    text
}

fn code(name: &str) -> String {
    format!("`{name}`")
}

fn commands() -> String {
    let mut command = Cli::command();
    command.build();
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let mut text =
        format!("# Commands\n{about}: what `specimen help` and `specimen COMMAND --help` print.\n\n");
    let after = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    for line in after.lines() {
        writeln!(text, "- {line}").unwrap();
    }
    text.push_str("\n## Options of every command\n\n");
    let shared = command.get_arguments().filter(|arg| arg.is_global_set());
    let row = |arg: &clap::Arg| {
        let values: Vec<String> =
            arg.get_possible_values().iter().map(|value| code(value.get_name())).collect();
        let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
        vec![code(&format!("--{}", arg.get_long().unwrap())), help, values.join(", ")]
    };
    text.push_str(&table(&["option", "what it does", "values"], shared.map(row)));
    for sub in command.get_subcommands().filter(is_shown) {
        one_command(&mut text, sub);
    }
    text
}

fn is_shown(command: &&clap::Command) -> bool {
    !command.is_hide_set() && command.get_name() != "help"
}

/// A command with its help, without the options of every command, then those below it.
fn one_command(text: &mut String, command: &clap::Command) {
    let name = command.get_bin_name().unwrap_or(command.get_name());
    let is_common =
        |arg: &clap::Arg| arg.is_global_set() || matches!(arg.get_id().as_str(), "help" | "version");
    let mut alone = command.clone().mut_args(|arg| if is_common(&arg) { arg.hide(true) } else { arg });
    let help = alone.render_help().to_string();
    write!(text, "\n## {name}\n```text\n").unwrap();
    help.trim_end().lines().for_each(|line| writeln!(text, "{}", line.trim_end()).unwrap());
    text.push_str("```\n");
    command.get_subcommands().filter(is_shown).for_each(|sub| one_command(text, sub));
}

fn metrics() -> String {
    let mut text = "# Metrics\nWhat `name` in `[[metric]]` may be. Each is one file in \
                    [harness/catalog/metrics](../../harness/catalog/metrics). [Metrics](../metrics.md) says which \
                    command replaces which tool.\n\n"
        .to_owned();
    let row = |metric: &specimen_catalog::Metric| {
        let better = match metric.direction {
            Direction::Lower if metric.name == specimen_record::TARGET_NLL => "nearer to the baseline's",
            Direction::Lower => "lower",
            Direction::Higher => "higher",
        };
        let needs = match metric.needs {
            Needs::Nothing => "",
            Needs::Protocol => "`protocol`",
            Needs::ProtocolAndReal => "`protocol`, `real`",
            Needs::Baseline => "a baseline",
            Needs::ProtocolAndBaseline => "`protocol`, a baseline",
            Needs::Import => "scores of another tool (`specimen import-scores`)",
        };
        let values: Vec<String> = metric.values.iter().map(|value| code(value)).collect();
        let command =
            metric.command.as_ref().map_or_else(String::new, |_| format!("`specimen {}`", metric.name));
        vec![
            code(&metric.name),
            metric.what.clone(),
            values.join(", "),
            metric.unit.clone(),
            better.to_owned(),
            needs.to_owned(),
            command,
        ]
    };
    let heads = ["name", "what it is", "values", "unit", "better", "needs in a spec", "command"];
    text.push_str(&table(&heads, METRICS.iter().map(row)));
    text.push_str(
        "\nOf a relaxed cell, reports show the absolute difference of `target-nll` from the baseline's: nearer to 0 is \
         better. An exact cell differs by chance only, so nothing is marked.\n",
    );
    text
}

fn protocols() -> String {
    let mut text = "# Protocols\nA protocol is the exact recipe of a published number: how a picture is decoded and \
                    resized, which network reads it, and how features become a value. The files are in \
                    [metrics/protocols](../../metrics/protocols); [Metrics](../metrics.md) says how to choose one.\n\
                    A digest names the recipe: equal digests mean comparable values.\n\n"
        .to_owned();
    let all: Vec<Protocol> = Protocol::names().map(|name| Protocol::named(name).unwrap()).collect();
    let row = |protocol: &Protocol| {
        let digests = protocol.recipe().metrics().into_iter().map(|metric| {
            let digest: String =
                protocol.digest_of(metric.table)[..6].iter().map(|byte| format!("{byte:02x}")).collect();
            format!("{} `{digest}`", metric.name)
        });
        let network = format!("{} {}", protocol.recipe().network.name, protocol.recipe().network.layer);
        let alias = protocol.head().alias().map_or_else(String::new, |alias| format!(" (`{alias}`)"));
        vec![
            format!("{}{alias}", code(protocol.name())),
            protocol.head().tool().unwrap_or_default().to_owned(),
            digests.collect::<Vec<_>>().join(", "),
            network,
            protocol.head().about().to_owned(),
        ]
    };
    text.push_str(&table(
        &["protocol (alias)", "agrees with", "metrics and their digests", "network, layer", "what it is"],
        all.iter().map(row),
    ));
    text.push_str(
        "\n## Protocols of pairs\nFor metrics that compare two pictures of one size as they are; the files are in \
         [metrics/protocols/pairs](../../metrics/protocols/pairs).\n\n",
    );
    let of_pairs: Vec<PairProtocol> =
        PairProtocol::names().map(|name| PairProtocol::named(name).unwrap()).collect();
    let row = |protocol: &PairProtocol| {
        let digests = protocol.recipe().metrics().into_iter().map(|metric| {
            format!("{} `{}`", metric.name, protocol.label(metric.name).rsplit('@').next().unwrap())
        });
        let alias = protocol.head().alias().map_or_else(String::new, |alias| format!(" (`{alias}`)"));
        vec![
            format!("{}{alias}", code(protocol.name())),
            protocol.head().tool().unwrap_or_default().to_owned(),
            digests.collect::<Vec<_>>().join(", "),
            protocol.recipe().network().unwrap_or("none").to_owned(),
            protocol.head().about().to_owned(),
        ]
    };
    text.push_str(&table(
        &["protocol (alias)", "agrees with", "metrics and their digests", "network", "what it is"],
        of_pairs.iter().map(row),
    ));
    text.push_str("\n## Sources\n\n");
    let source = |protocol: &Protocol| vec![code(protocol.name()), protocol.head().source().to_owned()];
    let pair_source =
        |protocol: &PairProtocol| vec![code(protocol.name()), protocol.head().source().to_owned()];
    let rows = all.iter().map(source).chain(of_pairs.iter().map(pair_source));
    text.push_str(&table(&["protocol", "where its facts come from"], rows));
    text
}

fn models() -> String {
    let mut text = "# Models\nWhat `name` in `[model]` may be, and the other weights that the program knows. Each is one \
                    file in [harness/catalog/models](../../harness/catalog/models).\n\n## Targets\n\n"
        .to_owned();
    let targets = ENTRIES.iter().filter_map(|entry| entry.target.as_ref().map(|target| (entry, target)));
    let row = |(entry, target): (&specimen_catalog::Entry, &specimen_catalog::Target)| {
        let size = format!("{}x{}", target.width, target.height);
        vec![code(&entry.name), entry.what.clone(), target.n_tokens.to_string(), size, licence(entry)]
    };
    text.push_str(&table(&["name", "what it is", "tokens an image", "pixels", "licence"], targets.map(row)));
    text.push_str("\n## Draft heads, parts that models share, and networks of metrics\n\n");
    let others = ENTRIES.iter().filter(|entry| entry.target.is_none());
    let row = |entry: &specimen_catalog::Entry| {
        vec![code(&entry.name), entry.what.clone(), entry.files.len().to_string(), licence(entry)]
    };
    text.push_str(&table(&["name", "what it is", "files", "licence"], others.map(row)));
    text
}

fn licence(entry: &specimen_catalog::Entry) -> String {
    match &entry.licence {
        Known::Unknown => "unknown".to_owned(),
        known => known.to_string(),
    }
}

fn datasets() -> String {
    let mut text = "# Datasets\nWhat `name` in `[dataset]` may be, besides the path of a file: `.json` (COCO captions), \
                    `.tsv` (as PartiPrompts), `.txt`, `.csv` and `.jsonl`, each also with `.gz`.\n\n"
        .to_owned();
    let row = |entry: &specimen_datasets::catalog::Entry| {
        let n = entry.n_prompts.map_or_else(|| "as `limit` says".to_owned(), |n| n.to_string());
        let needs = entry.file().map(|item| code(&item.key)).unwrap_or_default();
        vec![code(entry.name), n, entry.what.to_owned(), needs]
    };
    text.push_str(&table(&["name", "prompts", "what it is", "needs"], DATASETS.iter().map(row)));
    text.push_str("\n## Files\n`specimen data fetch NAME` takes a key or a group.\n\n");
    let row = |item: &specimen_datasets::manifest::DataItem| {
        let groups: Vec<String> = item.groups.iter().map(|group| code(group)).collect();
        let places: Vec<String> = item.places.iter().map(|place| code(place)).collect();
        vec![code(&item.key), groups.join(", "), places.join(" or "), item.licence.clone()]
    };
    text.push_str(&table(
        &["key", "groups", "place below `SPECIMEN_DATA`", "licence"],
        ITEMS.iter().map(row),
    ));
    text
}

fn bundled_specs() -> String {
    let mut text = "# Specs\nThe experiments that are in the program. `specimen specs list WORD…` searches them, \
                    `specimen plan NAME` says what one takes, `specimen run NAME` runs it.\n\
                    The files are in [experiments/specs](../../experiments/specs). Images are those of all cells.\n"
        .to_owned();
    let groups = [
        ("", "First steps"),
        ("paper/", "Tables and figures of papers"),
        ("sweep/", "Sweeps"),
        ("real/", "Published weights and whole datasets"),
        ("ci/", "Checks of the program itself"),
    ];
    let all = summaries().unwrap();
    let group_of =
        |name: &str| name.split_once('/').map_or_else(String::new, |(folder, _)| format!("{folder}/"));
    for (folder, title) in groups {
        write!(text, "\n## {title}\n\n").unwrap();
        let rows = all.iter().filter(|spec| group_of(spec.name) == folder).map(|spec| {
            let images = spec.n_images.map_or_else(|| "-".to_owned(), |n| n.to_string());
            let published = spec.published.iter().map(|name| code(name)).collect::<Vec<_>>().join(", ");
            vec![
                code(spec.name),
                spec.question.clone(),
                spec.models.join(", "),
                spec.dataset.clone(),
                spec.n_cells.to_string(),
                images,
                published,
            ]
        });
        text.push_str(&table(
            &["name", "what it asks", "model", "dataset", "cells", "images", "compared with"],
            rows,
        ));
    }
    assert!(
        all.iter().all(|spec| groups.iter().any(|(folder, _)| group_of(spec.name) == *folder)),
        "a folder of specs has no heading here"
    );
    text
}
