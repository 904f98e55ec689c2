//! Settings judged on made-up numbers, and the readings of made-up runs.

use specimen_experiments::goal::{Constraint, Goal, Side};
use specimen_record::Guarantee;
use specimen_report::verdicts::{
    tune::{
        bound::{BoundCheck, BudgetStatus, Reading},
        trial::{Standing, Trial},
        tuning::Tuning,
    },
    values::{RunValues, Span},
};

use crate::verdicts::fixture;
use fixture::run::Made;

/// A bound of 10 with this slack and half width of its interval.
fn bound(slack: Option<(f64, f64)>) -> BoundCheck {
    let why = slack.is_none().then(|| "32 images, the protocol asks for 500".to_owned());
    let is_open = slack.is_some_and(|(slack, half)| slack.abs() < half);
    BoundCheck {
        constraint: "fid<=10".into(),
        reading: Reading { value: slack.map(|(slack, _)| 10.0 - slack), ci95: None, why },
        bound: slack.map(|_| 10.0),
        slack: slack.map(|(slack, _)| slack),
        slack_interval: slack.map(|(slack, half)| [slack - half, slack + half]),
        is_by_construction: false,
        prompts_to_decide: is_open.then_some(40),
    }
}

#[test]
fn a_setting_stands_by_what_is_decided() {
    use Standing::{Meets, Misses, NotDecided};
    for (slacks, expected) in [
        (vec![], Meets),
        (vec![Some((0.6, 0.5))], Meets),
        (vec![Some((0.6, 0.5)), Some((0.2, 0.5))], NotDecided),
        (vec![Some((-0.2, 0.5))], NotDecided),
        (vec![None], NotDecided),
        (vec![Some((-0.6, 0.5)), None, Some((0.6, 0.5))], Misses),
    ] {
        let budget: Vec<BoundCheck> = slacks.iter().map(|slack| bound(*slack)).collect();
        assert_eq!(Standing::of(&budget), expected, "{slacks:?}");
    }
}

fn goal() -> Goal {
    let constraint = |text: &str, measure: &str, side, of_baseline, plus| Constraint {
        text: text.into(),
        measure: measure.into(),
        side,
        of_baseline,
        plus,
    };
    Goal {
        objective: "nfe".into(),
        higher_is_better: Some(false),
        budget: vec![
            constraint("clip>=ar-0.004", "clip", Side::AtLeast, 1.0, -0.004),
            constraint("nfe<=ar*0.5", "nfe", Side::AtMost, 0.5, 0.0),
        ],
    }
}

/// The readings of a cell, as a relaxed method.
fn read(values: &mut RunValues, goal: &Goal) -> Trial {
    values.summary.cells.iter_mut().for_each(|cell| cell.guarantee = Guarantee::Relaxed);
    Trial::read(values, goal, "chain", "chain of 3", 0.999).unwrap()
}

#[test]
fn bounds_relative_to_the_baseline_are_read_with_paired_intervals() {
    let folder = tempfile::tempdir().unwrap();
    let mut values = RunValues::read(&Made::plain("r").write(folder.path())).unwrap();
    let chain = read(&mut values, &goal());
    assert_eq!(chain.objective.ci95, Some([103.0; 2]), "every prompt takes as many");
    let accepted = Goal { objective: "accepted_per_step".into(), budget: Vec::new(), ..goal() };
    let [low, high] = read(&mut values, &accepted).objective.ci95.unwrap();
    assert!(1.3 < low && low < high && high < 1.7, "{low} {high}");
    // Scores of a cell differ from the baseline's by exactly -0.003 on every prompt; the summary holds other values.
    let [low, high] = chain.budget[0].slack_interval.unwrap();
    assert!((low - 0.001).abs() < 1e-9 && (high - 0.001).abs() < 1e-9, "{low} {high}");
    let share = &chain.budget[1];
    // Plain decoding of the made-up run takes 257 forwards on every prompt.
    assert!((share.bound.unwrap() - 128.5).abs() < 1e-9 && share.slack.unwrap() > 0.0, "{share:?}");
    assert!(share.is_decided() && share.standing() == BudgetStatus::Meets);
    let few = Made { n_prompts: 5, ..Made::plain("few") };
    let mut few = RunValues::read(&few.write(folder.path())).unwrap();
    let chain = read(&mut few, &goal());
    let decided = [chain.objective.ci95, chain.budget[0].slack_interval, chain.budget[1].slack_interval];
    assert_eq!(decided, [None; 3], "five prompts decide nothing");
    let missing = Trial::read(&values, &goal(), "none", "", 0.95).unwrap_err().to_string();
    assert!(missing.contains("no cell `none`"), "{missing}");
}

#[test]
fn a_speedup_is_the_ratio_of_mean_times_as_in_the_table_of_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let values = RunValues::read(&Made::plain("whole").write(folder.path())).unwrap();
    let goal = Goal { objective: "speedup".into(), budget: Vec::new(), ..goal() };
    let speedup = Trial::read(&values, &goal, "chain", "", 0.95).unwrap();
    let times = values.paired_times("chain", Span::Decode).unwrap();
    let sum = |side: &specimen_report::verdicts::values::ByPrompt| side.values().sum::<f64>();
    let ratio = sum(&times.baseline) / sum(&times.method);
    assert!((speedup.objective.value.unwrap() - ratio).abs() < 1e-9, "{speedup:?}");
}

#[test]
fn an_exact_cell_meets_bounds_of_quality_and_is_measured_for_others() {
    let folder = tempfile::tempdir().unwrap();
    let mut values = RunValues::read(&Made::plain("r").write(folder.path())).unwrap();
    let goal = Goal {
        budget: vec![
            // Scores are 0.003 below the baseline's on every prompt.
            Constraint { plus: -0.001, text: "clip>=ar-0.001".into(), ..goal().budget.remove(0) },
            Constraint { of_baseline: 0.1, text: "nfe<=ar*0.1".into(), ..goal().budget.remove(1) },
        ],
        ..goal()
    };
    let standings = |values: &RunValues, goal: &Goal| -> Vec<_> {
        let chain = Trial::read(values, goal, "chain", "", 0.999).unwrap();
        let of = |held: &BoundCheck| (held.standing(), held.is_decided(), held.is_by_construction);
        chain.budget.iter().map(of).collect()
    };
    let misses = (BudgetStatus::Misses, true, false);
    assert_eq!(standings(&values, &goal), [(BudgetStatus::Meets, true, true), misses]);
    // A metric that compares with the baseline's images, such as `token-match`: the baseline has no value, and an exact cell
    // is measured like any other.
    let baseline = values.summary.cells.iter_mut().find(|cell| cell.id == "ar").unwrap();
    baseline.metrics.iter_mut().for_each(|metric| metric.value = None);
    assert_eq!(standings(&values, &goal), [(BudgetStatus::Open, false, false), misses]);
    let plain = |plus| {
        let bound = Constraint { of_baseline: 0.0, plus, ..goal.budget[0].clone() };
        Goal { budget: vec![bound], ..goal.clone() }
    };
    assert_eq!(standings(&values, &plain(9.0)), [misses]);
    assert_eq!(standings(&values, &plain(0.0)), [(BudgetStatus::Meets, true, false)]);
}

/// A setting: its name, an objective known to 0.1, and the slack of one bound.
type Setting = (&'static str, f64, Option<(f64, f64)>);

/// A tuning of these settings.
fn tuning(settings: &[Setting]) -> Tuning {
    let folder = tempfile::tempdir().unwrap();
    let values = RunValues::read(&Made::plain("made-up").write(folder.path())).unwrap();
    let goal = Goal {
        objective: "speedup".into(),
        higher_is_better: Some(true),
        budget: vec![Constraint { text: "fid<=10".into(), ..goal().budget.remove(0) }],
    };
    let empty = Tuning::of(&values, &goal, &[]).unwrap();
    let of = |(name, objective, slack): &Setting| {
        let budget = vec![bound(*slack)];
        let ci95 = Some([objective - 0.1, objective + 0.1]);
        Trial {
            setting: (*name).to_owned(),
            method: "chain of 3".to_owned(),
            objective: Reading { value: Some(*objective), ci95, why: None },
            standing: Standing::of(&budget),
            budget,
        }
    };
    empty.with(settings.iter().map(of).collect())
}

const MIXED: [Setting; 6] = [
    ("slow", 1.1, Some((1.0, 0.5))),
    ("fast", 1.9, Some((0.6, 0.5))),
    ("ruins", 3.0, Some((-2.0, 0.5))),
    ("doubtful", 2.4, Some((-0.2, 0.5))),
    ("hopeful", 0.9, Some((0.2, 0.5))),
    ("unknown", 2.8, None),
];

#[test]
fn the_best_is_of_those_that_meet_every_bound_for_certain_and_better_ones_that_are_not_decided_are_named() {
    let found = tuning(&MIXED);
    let order: Vec<&str> = found.settings.iter().map(|one| one.setting.as_str()).collect();
    assert_eq!(order, ["fast", "slow", "hopeful", "doubtful", "unknown", "ruins"]);
    assert_eq!(found.best.as_deref(), Some("fast"));
    let said = found.said();
    assert!(
        said.starts_with("Best: `fast`, speedup 1.90 [1.80, 2.00]. It was chosen by these prompts"),
        "{said}"
    );
    let open = "Not decided, and would be better: `doubtful` fid<=10 (about 40 prompts would decide it: --limit 40); `unknown` \
                fid<=10 (32 images, the protocol asks for 500).";
    assert!(said.ends_with(open), "{said}");
    let few = Tuning { n_available: Some(39), ..found };
    assert!(
        few.said().contains("(about 40 prompts would decide it, and the dataset has 39)"),
        "{}",
        few.said()
    );
}

#[test]
fn a_best_setting_that_is_slower_than_plain_decoding_is_said_to_be() {
    let said = |speedup| tuning(&[("a", speedup, Some((0.6, 0.5)))]).said();
    assert!(said(0.9).contains(" Its baseline is faster."), "{}", said(0.9));
    assert!(!said(1.1).contains("baseline"), "{}", said(1.1));
}

#[test]
fn bounds_that_nothing_meets_are_said_with_the_nearest_setting_or_what_would_decide() {
    let none = tuning(&[("far", 3.0, Some((-3.0, 0.5))), ("near", 1.0, Some((-1.0, 0.5)))]);
    assert_eq!(none.best, None);
    let expected = "No setting meets the bounds. The nearest is `near`: misses fid<=10 by 1.00 [0.50, 1.50].";
    assert_eq!(none.said(), expected);
    let open = tuning(&[("far", 3.0, Some((-3.0, 0.5))), ("near", 1.0, Some((0.3, 0.5)))]);
    let expected = "No setting meets the bounds for certain. Not decided: `near` fid<=10 (about 40 prompts would decide it: \
                    --limit 40).";
    assert_eq!(open.said(), expected);
}

#[test]
fn the_margin_of_an_exact_setting_is_said_to_be_the_baselines() {
    let mut found = tuning(&[("sd", 1.0, Some((-0.46, 0.1)))]);
    found.settings[0].budget[0].is_by_construction = true;
    let table = found.table().text(600);
    assert!(table.contains("[-0.56, -0.36] exact "), "{table}");
    assert!(table.contains("its margin is that of the baseline, whatever its own images have"), "{table}");
    let said = found.said();
    assert!(said.contains("by 0.46 [0.36, 0.56] as the baseline does, whose distribution it has"), "{said}");
    found.is_distance = true;
    found.settings[0].objective.ci95 = Some([0.0; 2]);
    let table = found.table().text(600);
    assert!(
        table.contains("abs. Δ speedup: 0 of an exact method, whose distribution is the baseline's"),
        "{table}"
    );
}

#[test]
fn a_tuning_reads_as_a_table_of_80_columns_and_as_csv() {
    let found = tuning(&MIXED);
    let text = found.table().text(80);
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    insta::assert_snapshot!("tuning", text);
    insta::assert_snapshot!("tuning_csv", found.csv().unwrap());
}
