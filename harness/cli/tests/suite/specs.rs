//! `specimen specs` and `specimen quickstart`: the specs that are in the program, where no checkout is.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use crate::support::Desk;

#[test]
fn specs_are_listed_by_their_words() {
    let desk = Desk::new();
    let all = desk.json(&["specs", "list"]);
    let names = |value: &serde_json::Value| -> Vec<String> {
        let specs = value["specs"].as_array().unwrap();
        specs.iter().map(|spec| spec["name"].as_str().unwrap().to_owned()).collect()
    };
    assert!(names(&all).contains(&"quickstart".to_owned()));
    let twins = names(&desk.json(&["specs", "list", "CASCADE", "tiny"]));
    assert!(twins.contains(&"paper/cascade_table1_tiny".to_owned()), "{twins:?}");
    assert!(!twins.contains(&"paper/cascade_table1_lumina_coco".to_owned()), "{twins:?}");
    assert_eq!(names(&desk.json(&["specs", "list", "PartiPrompts", "plan"])), ["real/parti_plan"]);
    let text = desk.succeeds(&["specs", "list", "cascade", "fig4"]).out;
    assert!(text.contains("paper/cascade_fig4_tiny") && text.contains("tiny"), "{text}");
    desk.fails(&["specs", "list", "no-such-word"], 2, &["no spec has all of the words `no-such-word`"]);
}

#[test]
fn a_spec_is_shown_copied_and_planned_where_no_checkout_is() {
    let desk = Desk::new();
    let shown = desk.succeeds(&["specs", "show", "ci/stub"]).out;
    desk.succeeds(&["specs", "copy", "stub"]);
    assert_eq!(desk.text("stub.toml"), shown);
    let by_name = desk.json(&["plan", "stub"]);
    let by_file = desk.json(&["plan", "stub.toml"]);
    assert_eq!(by_name["digest"], by_file["digest"]);
    assert!(by_name["digest"].is_string(), "{by_name}");

    std::fs::create_dir(desk.path("quickstart")).unwrap();
    assert_eq!(desk.json(&["plan", "quickstart"])["name"], "quickstart", "a folder hides no spec");

    desk.fails(&["specs", "copy", "stub"], 2, &["stub.toml: is there already; name another file"]);
    desk.fails(&["specs", "copy", "stub", "no/such/x.toml"], 6, &["x.toml: cannot write the spec"]);
    let twice = ["plan", "stub", "--limit", "3", "--set", "dataset.limit=4"];
    desk.fails(&twice, 2, &["--limit 3", "`--set dataset.limit=4` gives the number of prompts too"]);
    desk.fails(
        &["specs", "show", "quickstrat"],
        2,
        &["no spec is named `quickstrat`", "did you mean `quickstart`?"],
    );
    desk.fails(&["plan", "quickstrat"], 3, &["quickstrat", "specimen specs list"]);
}

#[test]
fn schemas_are_printed_for_editors() {
    let desk = Desk::new();
    for (kind, committed) in [
        ("spec", "experiments/specs/spec.schema.json"),
        ("protocol", "metrics/protocols/protocol.schema.json"),
        ("pair-protocol", "metrics/protocols/pairs/pair-protocol.schema.json"),
    ] {
        let committed = std::fs::read_to_string(crate::support::workspace(committed)).unwrap();
        assert_eq!(desk.succeeds(&["schema", kind]).out, committed, "{kind}");
    }
}

#[test]
fn the_quickstart_needs_no_checkout() {
    let desk = Desk::new();
    let ran = desk.succeeds(&["quickstart", "--limit", "1", "--out", "first"]);
    assert!(ran.out.contains("Run quickstart"), "{}", ran.out);
    assert!(desk.path("first/report/index.html").is_file());
}
