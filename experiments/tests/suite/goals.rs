//! Objectives and budgets as typed: what they mean, and what is said of those that mean nothing.

use specimen_experiments::{
    goal::{Goal, Side},
    parse::SpecText,
};

const SPEC: &str = r#"schema = 1
name = "s"
seed = 42
dataset = { name = "scenes-val", limit = 8 }
model = { name = "tiny", dtype = "bf16" }
sampling = { temperature = 1.0, top_k = 0, top_p = 1.0, guidance = 3.0 }
timing = { warmup = 2, blocks = 4 }
[[cell]]
name = "ar"
[[metric]]
name = "target-nll"
[[metric]]
name = "scene-clip"
[[metric]]
name = "fid"
protocol = "lantern"
real = "val2017"
[[metric]]
name = "kid"
protocol = "lantern"
real = "val2017"
"#;

fn goal(objective: &str, budget: &[&str]) -> Result<Goal, String> {
    let spec = SpecText::parse("s.toml", SPEC).unwrap().resolve().unwrap();
    let budget: Vec<String> = budget.iter().map(|text| (*text).to_owned()).collect();
    Goal::parse(objective, &budget, &spec).map_err(|error| error.to_string())
}

/// A constraint means: this measure, from this side, this share of the baseline plus this much.
fn check(text: &str, measure: &str, side: Side, of_baseline: f64, plus: f64) {
    let found = goal("speedup", &[text]).unwrap().budget.remove(0);
    assert_eq!((found.measure.as_str(), found.side), (measure, side), "{text}");
    assert_eq!((found.of_baseline, found.plus), (of_baseline, plus), "{text}");
}

#[test]
fn a_bound_is_a_number_or_stands_relative_to_the_baseline() {
    check("nfe<=90", "nfe", Side::AtMost, 0.0, 90.0);
    check("nfe <= -9e1", "nfe", Side::AtMost, 0.0, -90.0);
    check("nfe<=ar", "nfe", Side::AtMost, 1.0, 0.0);
    check("fid<=ar+0.5", "fid:lantern", Side::AtMost, 1.0, 0.5);
    check(" clip >= ar - 0.002 ", "scene-clip", Side::AtLeast, 1.0, -0.002);
    check("nll<=ar*1.05", "target-nll", Side::AtMost, 1.05, 0.0);
    check("kid:lantern<=1", "kid:lantern", Side::AtMost, 0.0, 1.0);
    let goal = goal("nfe", &["fid<=ar+0.5,clip>=ar-0.002", "nll<=4"]).unwrap();
    let texts: Vec<&str> = goal.budget.iter().map(|constraint| constraint.text.as_str()).collect();
    assert_eq!(texts, ["fid<=ar+0.5", "clip>=ar-0.002", "nll<=4"]);
    assert_eq!((goal.higher_is_better, goal.needs_baseline()), (Some(false), true));
    assert_eq!(goal.budget[0].bound(20.0), 20.5);
}

#[test]
fn a_baseline_is_needed_for_speedups_and_relative_bounds_only() {
    assert!(goal("speedup", &[]).unwrap().needs_baseline());
    assert!(!goal("nfe", &["nll<=4"]).unwrap().needs_baseline());
    assert!(goal("nfe", &["speedup_e2e>=1.2"]).unwrap().needs_baseline());
    assert_eq!(goal("nll", &[]).unwrap().higher_is_better, None);
}

fn check_refused(objective: &str, budget: &str, parts: &[&str]) {
    let message = goal(objective, &[budget]).unwrap_err();
    for part in parts {
        assert!(message.contains(part), "`{part}` is not in `{message}`");
    }
}

#[test]
fn what_is_wrong_is_named_with_its_place_and_the_nearest_name() {
    check_refused(
        "speedupp",
        "nfe<=1",
        &["--objective speedupp: ", "did you mean `speedup`?", "it has speedup, "],
    );
    check_refused(
        "nfe",
        "fid<=ar,clp>=1",
        &["--subject-to fid<=ar,clp>=1: at character 9: ", "no measure `clp`"],
    );
    check_refused("nfe", "target-nl<=1", &["did you mean `target-nll`?"]);
    check_refused(
        "nfe",
        "lantern<=1",
        &["`lantern` may be `fid:lantern` or `kid:lantern`; name one in full"],
    );
    check_refused("nfe", "fid<ar", &["at character 1: `fid<ar` has neither <= nor >=", "write it like"]);
    check_refused("nfe", "fid<=ar/2", &["at character 6: `ar/2` is no bound; a bound is a number, ar, ar+x"]);
    check_refused("nfe", "fid<=aar", &["`aar` is no bound"]);
    check_refused("nfe", "fid<=inf", &["`inf` is no bound"]);
    check_refused("nfe", "fid<=ar,", &["at character 9: there is no constraint"]);
    check_refused("nfe", "fid<=1,fid<=2", &["at character 8: `fid:lantern` is bounded twice from one side"]);
}
