//! Everything that has a name can be cited, and every work is there for something.

use std::collections::{BTreeMap, BTreeSet};

use specimen_catalog::{
    ENTRIES, METRICS, PAIR_PROTOCOLS, PROTOCOLS,
    citation::{CITATIONS, OWN},
};
use specimen_datasets::catalog;
use specimen_decode::method::every_work;
use specimen_experiments::{bundled::bundled, citations::works_of, parse::SpecText, spec::Spec};

/// What cites, and the keys it names.
fn named() -> Vec<(String, Vec<String>)> {
    let owned = |keys: &[&str]| keys.iter().map(|key| (*key).to_owned()).collect();
    let methods = every_work().into_iter().map(|part| (format!("method {}", part.method), owned(part.cite)));
    let models = ENTRIES.iter().map(|entry| (format!("model {}", entry.name), entry.cite.clone()));
    let datasets =
        catalog::ENTRIES.into_iter().map(|entry| (format!("dataset {}", entry.name), owned(entry.cite)));
    let metrics = METRICS.iter().map(|metric| (format!("metric {}", metric.name), metric.cite.clone()));
    let protocols = PROTOCOLS.iter().chain(PAIR_PROTOCOLS).map(|(name, text)| {
        let table: toml::Table = text.parse().unwrap();
        let keys = table["cite"].as_array().unwrap_or_else(|| panic!("protocol {name}: no `cite`"));
        let keys = keys.iter().map(|key| key.as_str().unwrap().to_owned()).collect();
        (format!("protocol {name}"), keys)
    });
    methods.chain(models).chain(datasets).chain(metrics).chain(protocols).collect()
}

#[test]
fn every_method_model_dataset_metric_and_protocol_names_works_that_exist() {
    let known: BTreeSet<&str> = CITATIONS.iter().map(|work| work.key).collect();
    for (what, keys) in named() {
        assert!(!keys.is_empty(), "{what} names no work; give it `cite`");
        for key in keys {
            assert!(known.contains(key.as_str()), "{what} names `{key}`; write citations/{key}.bib");
        }
    }
}

#[test]
fn every_work_is_named_by_something() {
    let named: BTreeSet<String> = named().into_iter().flat_map(|(_, keys)| keys).collect();
    let unused: Vec<&str> =
        CITATIONS.iter().map(|work| work.key).filter(|key| !named.contains(*key)).collect();
    assert!(unused.is_empty(), "nothing names {unused:?}; remove the files");
}

fn spec(text: &str) -> Spec {
    SpecText::parse("spec.toml", text).unwrap().resolve().unwrap()
}

fn bundled_spec(name: &str) -> Spec {
    spec(bundled(name).unwrap().text)
}

/// The reasons by key.
fn reasons(spec: &Spec) -> BTreeMap<String, String> {
    let works = works_of(spec).unwrap();
    works.works().map(|(work, reasons)| (work.key.to_owned(), reasons.join("; "))).collect()
}

#[test]
fn a_spec_is_cited_by_its_methods_models_dataset_and_metrics() {
    let reasons = reasons(&bundled_spec("paper/cascade_table1_llamagen_coco"));
    for (key, reason) in [
        (OWN, "the program that made the measurements"),
        ("vandenoord2016", "method plain decoding"),
        ("leviathan2023", "method speculative sampling"),
        ("miao2023specinfer", "method verification of trees"),
        ("li2024eagle", "method eagle1; model llamagen-t2i-xl-512-drafter"),
        ("yildirim2026cascade", "method cascade"),
        ("so2025gsd", "method gsd"),
        ("sun2024llamagen", "model llamagen-t2i-xl-512; model llamagen-vq-t2i"),
        ("chung2022flan", "model flan-t5-xl"),
        ("chen2015cococaptions", "dataset coco2017-val"),
        ("heusel2017fid", "metric fid"),
        ("hessel2021clipscore", "metric clip-score"),
    ] {
        let found = reasons.get(key).unwrap_or_else(|| panic!("{key} is not among {:?}", reasons.keys()));
        assert!(found.contains(reason), "{key}: {found}");
    }
    assert!(!reasons.contains_key("teng2025sjd"), "no cell drafts by Jacobi iterations");
}

#[test]
fn a_head_that_is_trained_by_a_paper_is_cited_by_it() {
    let reasons = reasons(&bundled_spec("paper/cascade_table2_tiny"));
    assert!(reasons["yildirim2026cascade"].contains("head eagle1 cascade of tiny"), "{reasons:?}");
}

#[test]
fn options_of_a_window_are_cited_by_their_papers() {
    let reasons = reasons(&bundled_spec("paper/drafter_free_tiny"));
    for (key, reason) in [
        ("teng2025sjd", "method sjd"),
        ("so2026scd", "method scd"),
        ("kang2026sjdpac", "method sjd-pac"),
        ("sjdsv2026", "method sjd-sv"),
        ("he2024zipar", "method zipar"),
        ("liao2026pjd", "method pjd"),
    ] {
        assert!(reasons.get(key).is_some_and(|found| found.contains(reason)), "{key}: {reasons:?}");
    }
}

#[test]
fn what_another_program_makes_is_noted_and_not_cited() {
    let works = works_of(&bundled_spec("ci/external_tiny")).unwrap();
    assert!(works.notes().iter().any(|note| note.contains("another program makes its images")), "{works:?}");
    let bibtex = works.bibtex();
    let entries = bibtex.lines().filter(|line| line.contains('@')).count();
    assert_eq!(entries, works.works().count());
    assert!(bibtex.lines().any(|line| line.starts_with("% cell ")), "{bibtex}");
}
