//! Successive halving on made-up numbers, and the readings of a made-up run.
#![allow(clippy::unwrap_used)] // A failed unwrap is a failed test.

mod fixture;

use fixture::run::Made;
use specimen_experiments::goal::{Constraint, Goal, Side};
use specimen_verdicts::{
    tune::{
        rung::{Placed, place},
        schedule::Schedule,
        trial::{Held, Reading, Standing, Trial},
        tuning::{Confirmation, Rung, Setting, Tuning, Verdict},
    },
    values::RunValues,
};

fn reading(value: f64, half: f64) -> Reading {
    Reading { value: Some(value), ci95: Some([value - half, value + half]), why: None }
}

/// A setting with an objective, and how far it keeps one bound of 10, with the half width of that.
fn trial(setting: &str, objective: f64, slack: Option<(f64, f64)>) -> Trial {
    let why = slack.is_none().then(|| "32 images, the protocol asks for 500".to_owned());
    let held = Held {
        constraint: "fid<=10".into(),
        reading: Reading { value: slack.map(|(slack, _)| 10.0 - slack), ci95: None, why },
        bound: slack.map(|_| 10.0),
        slack: slack.map(|(slack, _)| slack),
        slack_ci95: slack.map(|(slack, half)| [slack - half, slack + half]),
    };
    Trial { setting: setting.into(), objective: reading(objective, 0.1), budget: vec![held] }
}

fn names(placed: &[Placed], kept: bool) -> Vec<&str> {
    placed.iter().filter(|one| one.kept == kept).map(|one| one.trial.setting.as_str()).collect()
}

#[test]
fn the_better_half_of_what_meets_the_budget_goes_on() {
    let trials = vec![
        trial("slow", 1.1, Some((1.0, 0.5))),
        trial("fast", 1.9, Some((0.2, 0.5))),
        trial("ruins", 3.0, Some((-2.0, 0.5))),
        trial("doubtful", 2.5, Some((-0.2, 0.5))),
        trial("medium", 1.5, Some((0.3, 0.1))),
    ];
    let placed = place(trials, true);
    assert_eq!(names(&placed, true), ["fast", "medium", "slow"]);
    assert_eq!(names(&placed, false), ["doubtful", "ruins"]);
    let why = |name: &str| placed.iter().find(|one| one.trial.setting == name).unwrap().why.clone();
    assert_eq!(why("fast"), "place 1 of 5, 3 may go on; meets fid<=10, its interval does not decide it");
    assert_eq!(why("medium"), "place 2 of 5, 3 may go on");
    assert_eq!(why("doubtful"), "place 4 of 5, 3 may go on; misses fid<=10, its interval does not decide it");
    assert_eq!(why("ruins"), "place 5 of 5, 3 may go on; misses fid<=10 for certain");
}

#[test]
fn what_misses_for_certain_is_dropped_early_unless_all_do() {
    let one_may = vec![trial("a", 1.0, Some((-0.1, 0.5))), trial("b", 2.0, Some((-2.0, 0.5)))];
    let placed = place([one_may, vec![trial("c", 3.0, Some((-3.0, 0.5)))]].concat(), true);
    assert_eq!((names(&placed, true), names(&placed, false)), (vec!["a"], vec!["b", "c"]));
    assert!(placed[1].why.starts_with("another may meet the budget; misses fid<=10"), "{}", placed[1].why);
    let all = ["a", "b", "c", "d"].into_iter().zip([-4.0, -2.0, -3.0, -1.0]);
    let placed = place(all.map(|(name, slack)| trial(name, 1.0, Some((slack, 0.5)))).collect(), true);
    assert_eq!((names(&placed, true), names(&placed, false)), (vec!["d", "b"], vec!["c", "a"]));
}

#[test]
fn ties_keep_the_order_of_the_spec_and_a_missing_value_comes_last_of_its_kind() {
    let mut without = trial("none", 0.0, Some((1.0, 0.1)));
    without.objective = Reading { value: None, ci95: None, why: Some("nothing was timed".into()) };
    let trials = vec![without, trial("x", 1.0, Some((1.0, 0.1))), trial("y", 1.0, Some((2.0, 0.1)))];
    let placed = place(trials.clone(), false);
    assert_eq!(names(&placed, true), ["x", "y"]);
    assert!(placed[2].why.ends_with("no value of the objective: nothing was timed"), "{}", placed[2].why);
    assert_eq!(place(trials, true), placed);
    let unknown = vec![trial("unknown", 9.0, None), trial("met", 1.0, Some((1.0, 0.1)))];
    let placed = place(unknown, true);
    assert_eq!((names(&placed, true), placed[1].standing), (vec!["met"], Standing::Open));
    assert!(placed[1].why.contains("fid<=10 is open: 32 images"), "{}", placed[1].why);
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

#[test]
fn bounds_relative_to_the_baseline_are_read_with_paired_intervals() {
    let folder = tempfile::tempdir().unwrap();
    let values = RunValues::read(&Made::plain("r").write(folder.path())).unwrap();
    let chain = Trial::read(&values, &goal(), "chain").unwrap();
    assert_eq!(chain.objective.ci95, Some([103.0; 2]), "every prompt takes as many");
    let accepted = Goal { objective: "accepted_per_step".into(), budget: Vec::new(), ..goal() };
    let [low, high] = Trial::read(&values, &accepted, "chain").unwrap().objective.ci95.unwrap();
    assert!(1.3 < low && low < high && high < 1.7, "{low} {high}");
    // Scores of a cell differ from the baseline's by exactly -0.003 on every prompt; the summary holds other values.
    let [low, high] = chain.budget[0].slack_ci95.unwrap();
    assert!((low - 0.001).abs() < 1e-9 && (high - 0.001).abs() < 1e-9, "{low} {high}");
    let share = &chain.budget[1];
    assert!((share.bound.unwrap() - 128.0).abs() < 1e-9 && share.slack.unwrap() > 0.0, "{share:?}");
    assert!(share.is_decided() && share.standing() == Standing::Meets);
    let few = Made { n_prompts: 5, ..Made::plain("few") };
    let few = RunValues::read(&few.write(folder.path())).unwrap();
    let chain = Trial::read(&few, &goal(), "chain").unwrap();
    let decided = [chain.objective.ci95, chain.budget[0].slack_ci95, chain.budget[1].slack_ci95];
    assert_eq!(decided, [None; 3], "five prompts decide nothing");
    let missing = Trial::read(&values, &goal(), "none").unwrap_err().to_string();
    assert!(missing.contains("no cell `none`"), "{missing}");
}

fn tuning(rungs: Vec<Vec<Trial>>) -> Tuning {
    let of = |trial: &Trial| Setting { name: trial.setting.clone(), method: "chain of 3".into() };
    let settings: Vec<Setting> = rungs[0].iter().map(of).collect();
    let schedule = Schedule::of(settings.len(), 40, None).unwrap();
    let goal = Goal {
        objective: "speedup".into(),
        higher_is_better: Some(true),
        budget: vec![Constraint { text: "fid<=10".into(), ..goal().budget.remove(0) }],
    };
    let mut tuning = Tuning::new("made-up", &goal, settings, schedule);
    for (at, trials) in rungs.into_iter().enumerate() {
        let (prompts, trials) = (schedule.prompts(at), place(trials, true));
        tuning.rungs.push(Rung {
            run: format!("rung-{}", at + 1),
            result_digest: "0".into(),
            prompts,
            trials,
        });
    }
    tuning
}

fn confirmed(mut tuning: Tuning, slack: (f64, f64)) -> Tuning {
    let trial = trial(&tuning.best().unwrap().trial.setting, 1.8, Some(slack));
    let standing = trial.standing();
    let (run, prompts) = ("held-out".into(), tuning.schedule.held_out());
    tuning.confirmation = Some(Confirmation { run, result_digest: "0".into(), prompts, trial, standing });
    tuning.conclude();
    tuning
}

fn three() -> Tuning {
    tuning(vec![
        vec![
            trial("slow", 1.1, Some((1.0, 0.5))),
            trial("fast", 1.9, Some((0.2, 0.5))),
            trial("ruins", 3.0, Some((-2.0, 0.5))),
        ],
        vec![trial("slow", 1.2, Some((1.1, 0.5))), trial("fast", 1.8, Some((0.6, 0.5)))],
    ])
}

#[test]
fn held_out_prompts_confirm_or_refute_the_first_of_the_last_rung() {
    let mut begun = three();
    assert_eq!((begun.left(), begun.wants_rung()), (vec!["fast"], false));
    begun.conclude();
    assert_eq!(begun.verdict, None);
    let good = confirmed(three(), (0.5, 0.1));
    assert_eq!(good.verdict, Some(Verdict::Confirmed { setting: "fast".into(), undecided: vec![] }));
    let open = confirmed(three(), (0.5, 0.9));
    assert!(
        open.said().contains("confirm it, though the interval does not decide fid<=10. It is chain of 3.")
    );
    let bad = confirmed(three(), (-0.5, 0.9));
    assert!(bad.said().contains("on held-out prompts it does not meet fid<=10"), "{}", bad.said());
}

#[test]
fn a_budget_that_nothing_meets_is_said_with_the_nearest_setting() {
    let mut nothing =
        tuning(vec![vec![trial("far", 3.0, Some((-3.0, 0.5))), trial("near", 1.0, Some((-1.0, 0.5)))]]);
    nothing.conclude();
    assert_eq!(nothing.best(), None);
    assert_eq!(
        nothing.said(),
        "No setting of the last rung meets the budget. The nearest is `near`, which misses a bound by 10.00 % of it."
    );
    let mut open = tuning(vec![vec![trial("a", 3.0, None)]]);
    open.conclude();
    assert_eq!(
        open.said(),
        "No setting of the last rung meets the budget. Not judged: fid<=10: 32 images, the protocol asks for 500."
    );
}

#[test]
fn a_tuning_reads_as_a_table_of_100_columns_and_as_csv() {
    let done = confirmed(three(), (0.5, 0.1));
    let text = done.table().text(100);
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    insta::assert_snapshot!("tuning", text);
    insta::assert_snapshot!("tuning_csv", done.csv().unwrap());
    let written = serde_json::to_string(&done).unwrap();
    assert_eq!(serde_json::from_str::<Tuning>(&written).unwrap(), done);
}
