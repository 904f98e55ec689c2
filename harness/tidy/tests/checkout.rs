//! Every rule of this crate, applied to this checkout. A failing test lists one complaint a line.

use std::sync::LazyLock;

use specimen_tidy::{
    graph, links, pages, registry, sources,
    workspace::{self, Member, TextFile},
};

static FILES: LazyLock<Vec<TextFile>> = LazyLock::new(|| workspace::text_files(&workspace::root()));
static MEMBERS: LazyLock<Vec<Member>> = LazyLock::new(|| workspace::members(&workspace::root()));

fn assert_none(complaints: impl IntoIterator<Item = String>) {
    let complaints: Vec<String> = complaints.into_iter().collect();
    assert!(complaints.is_empty(), "{} complaint(s):\n{}\n", complaints.len(), complaints.join("\n"));
}

fn text_of(path: &str) -> &'static str {
    FILES.iter().find(|file| file.path == path).map(|file| file.text.as_str()).unwrap_or_default()
}

#[test]
fn the_walk_sees_the_sources_of_every_crate() {
    for member in MEMBERS.iter() {
        let prefix = format!("{}/src/", member.folder);
        assert!(FILES.iter().any(|file| file.is_rust() && file.path.starts_with(&prefix)), "{prefix}");
    }
    assert!(FILES.iter().any(|file| file.path == "Makefile"));
}

#[test]
fn crates_use_lower_levels_only_and_as_architecture_says() {
    assert_none(graph::check_edges(&MEMBERS, &graph::rows(text_of("ARCHITECTURE.md"))));
}

#[test]
fn heavy_libraries_stay_where_they_belong() {
    assert_none(graph::check_confined(&MEMBERS));
}

#[test]
fn crates_are_named_after_their_folder_and_inherit_the_workspace() {
    assert_none(graph::check_manifests(&MEMBERS));
}

#[test]
fn no_source_file_is_long() {
    assert_none(FILES.iter().filter_map(sources::check_length));
}

#[test]
fn every_source_file_says_what_it_is_for() {
    assert_none(FILES.iter().filter_map(sources::check_module_doc));
}

#[test]
fn every_source_file_is_compiled() {
    assert_none(sources::check_declared(&FILES));
}

#[test]
fn messages_and_documents_are_in_plain_words() {
    assert_none(FILES.iter().flat_map(pages::check_phrases));
}

#[test]
fn every_method_and_model_is_registered() {
    for registry in registry::REGISTRIES {
        assert!(
            !registry::things(&registry, &FILES).is_empty(),
            "{} holds no {}",
            registry.folder,
            registry.thing
        );
        assert_none(registry::check(&registry, &FILES));
    }
}

#[test]
fn every_model_and_metric_that_a_spec_can_name_is_there() {
    assert_none(registry::check_metrics(&FILES));
}

#[test]
fn every_error_type_with_a_kind_of_failure_is_asked_for_it() {
    assert_none(registry::check_failures(&FILES));
}

#[test]
fn links_in_documents_lead_somewhere() {
    let documents = FILES.iter().filter(|file| file.path.ends_with(".md"));
    assert_none(documents.flat_map(|file| links::check_links(&workspace::root(), file)));
}

#[test]
fn every_page_is_in_the_book() {
    assert_none(pages::check_listed(&FILES));
}

#[test]
fn every_measurement_says_date_machine_commit_and_command() {
    assert!(FILES.iter().any(|file| file.path.starts_with("docs/measurements/2")), "there is one to check");
    assert_none(FILES.iter().flat_map(pages::check_measurement));
}

#[test]
fn readme_and_how_we_measure_stay_short() {
    assert_none(FILES.iter().filter_map(pages::check_length));
}
