//! A race of settings on made-up numbers, and the readings of made-up runs.

use crate::fixture;

use fixture::run::Made;
use specimen_experiments::goal::{Constraint, Goal, Side};
use specimen_record::Guarantee;
use specimen_verdicts::{
    tune::{
        bound::{BoundCheck, BudgetStatus, Reading},
        level::Level,
        rung::{RankedTrial, Round, TrialOutcome, place},
        sample::Sample,
        schedule::Schedule,
        trial::{Evidence, Trial},
        tuning::{Confirmation, Rung, Setting, Tuning, Verdict},
    },
    values::{RunValues, Span},
};

/// A bound of 10 with this slack and half width of its interval.
pub(crate) fn bound(slack: Option<(f64, f64)>) -> BoundCheck {
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

/// A setting with an objective known to ±0.1, and one bound.
fn setting(name: &str, objective: f64, slack: Option<(f64, f64)>) -> Evidence {
    let objective = Sample::Whole { value: objective, ci95: Some([objective - 0.1, objective + 0.1]) };
    Evidence::new(name, objective, vec![bound(slack)]).unwrap()
}

fn placed(found: Vec<Evidence>, is_last: bool) -> Vec<RankedTrial> {
    place(found, &Round { higher_is_better: true, level: Level::fixed(0.95), is_last }).unwrap()
}

pub(crate) fn check(found: Vec<Evidence>, is_last: bool, expected: &[(&str, TrialOutcome)]) {
    let placed = placed(found, is_last);
    let found: Vec<_> = placed.iter().map(|one| (one.trial.setting.as_str(), one.fate)).collect();
    assert_eq!(found, expected);
}

fn mixed() -> Vec<Evidence> {
    vec![
        setting("slow", 1.1, Some((1.0, 0.5))),
        setting("fast", 1.9, Some((0.6, 0.5))),
        setting("close", 1.8, Some((0.3, 0.1))),
        setting("ruins", 3.0, Some((-2.0, 0.5))),
        setting("doubtful", 1.0, Some((-0.2, 0.5))),
        setting("hopeful", 0.9, Some((0.2, 0.5))),
        setting("unknown", 0.8, None),
    ]
}

#[test]
fn only_what_is_decided_is_dropped() {
    use TrialOutcome::{Continues, Misses, Worse};
    let expected = [
        ("fast", Continues),
        ("close", Continues),
        ("slow", Worse),
        ("hopeful", Continues),
        ("doubtful", Continues),
        ("unknown", Continues),
        ("ruins", Misses),
    ];
    check(mixed(), false, &expected);
}

#[test]
fn without_more_prompts_the_best_that_meets_the_budget_is_chosen() {
    use TrialOutcome::{Chosen, Misses, NotChosen, Worse};
    let expected = [
        ("fast", Chosen),
        ("close", NotChosen),
        ("slow", Worse),
        ("hopeful", NotChosen),
        ("doubtful", NotChosen),
        ("unknown", NotChosen),
        ("ruins", Misses),
    ];
    check(mixed(), true, &expected);
}

#[test]
fn a_setting_that_may_miss_the_budget_drops_nothing() {
    let found = vec![setting("fast", 3.0, Some((0.2, 0.5))), setting("slow", 1.0, Some((1.0, 0.5)))];
    check(found, false, &[("fast", TrialOutcome::Continues), ("slow", TrialOutcome::Continues)]);
}

#[test]
fn an_exact_method_is_never_dropped_for_a_bound_of_quality() {
    let mut exact = setting("exact", 1.0, Some((-0.5, 0.1)));
    exact.trial.budget[0].is_by_construction = true;
    let found = vec![exact, setting("relaxed", 2.0, Some((-0.5, 0.1)))];
    check(found.clone(), false, &[("relaxed", TrialOutcome::Misses), ("exact", TrialOutcome::Continues)]);
    check(found, true, &[("relaxed", TrialOutcome::Misses), ("exact", TrialOutcome::NotChosen)]);
}

#[test]
fn where_nothing_meets_the_budget_the_undecided_come_first_and_the_nearest_of_each_kind() {
    let slacks = [("a", -4.0, 0.5), ("b", -0.4, 0.5), ("c", -2.0, 0.5), ("d", -3.0, 9.0)];
    let found =
        slacks.into_iter().map(|(name, slack, half)| setting(name, 1.0, Some((slack, half)))).collect();
    use TrialOutcome::{Continues, Misses};
    check(found, false, &[("b", Continues), ("d", Continues), ("c", Misses), ("a", Misses)]);
}

#[test]
fn the_reason_says_what_decided_or_how_many_prompts_would() {
    let placed = placed(mixed(), false);
    let why = |name: &str| placed.iter().find(|one| one.trial.setting == name).unwrap().why.clone();
    assert_eq!(why("fast"), "meets every bound");
    assert_eq!(why("slow"), "`fast` meets every bound and is better for certain");
    assert_eq!(why("close"), "not better or worse than `fast` for certain");
    assert_eq!(why("hopeful"), "meets fid<=10, undecided: about 40 prompts would decide it");
    assert_eq!(why("doubtful"), "misses fid<=10, undecided: about 40 prompts would decide it");
    assert_eq!(why("ruins"), "misses fid<=10 for certain");
    assert_eq!(why("unknown"), "fid<=10 is undecided: 32 images, the protocol asks for 500");
}

#[test]
fn ties_keep_the_order_of_the_spec_and_a_missing_objective_comes_last_of_its_kind() {
    let absent = Sample::Absent { why: "nothing was timed".into() };
    let without = Evidence::new("none", absent, vec![bound(Some((1.0, 0.1)))]).unwrap();
    let found = vec![without, setting("x", 1.0, Some((1.0, 0.1))), setting("y", 1.0, Some((2.0, 0.1)))];
    check(
        found.clone(),
        true,
        &[("x", TrialOutcome::Chosen), ("y", TrialOutcome::NotChosen), ("none", TrialOutcome::NotChosen)],
    );
    assert!(placed(found, true)[2].why.starts_with("no value of the objective: nothing was timed"));
}

#[test]
fn of_equal_objectives_the_one_whose_bounds_are_decided_is_chosen() {
    check(
        vec![setting("open", 1.0, Some((0.2, 0.5))), setting("sure", 1.0, Some((0.6, 0.5)))],
        true,
        &[("sure", TrialOutcome::Chosen), ("open", TrialOutcome::NotChosen)],
    );
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

/// The readings of `chain`, as a relaxed method.
fn read(rungs: &mut [RunValues], goal: &Goal) -> Trial {
    for run in rungs.iter_mut() {
        run.summary.cells.iter_mut().for_each(|cell| cell.guarantee = Guarantee::Relaxed);
    }
    Evidence::read(rungs, goal, "chain", &Level::fixed(0.999)).unwrap().trial
}

#[test]
fn bounds_relative_to_the_baseline_are_read_with_paired_intervals() {
    let folder = tempfile::tempdir().unwrap();
    let mut values = [RunValues::read(&Made::plain("r").write(folder.path())).unwrap()];
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
    let mut few = [RunValues::read(&few.write(folder.path())).unwrap()];
    let chain = read(&mut few, &goal());
    let decided = [chain.objective.ci95, chain.budget[0].slack_interval, chain.budget[1].slack_interval];
    assert_eq!(decided, [None; 3], "five prompts decide nothing");
    let missing = Evidence::read(&values, &goal(), "none", &Level::fixed(0.95)).unwrap_err().to_string();
    assert!(missing.contains("no cell `none`"), "{missing}");
}

#[test]
fn a_rung_judges_by_the_prompts_of_all_rungs_so_far() {
    let folder = tempfile::tempdir().unwrap();
    let whole = RunValues::read(&Made::plain("whole").write(folder.path())).unwrap();
    let of = |name, prompts: [u32; 2]| Made {
        first_prompt: prompts[0],
        n_prompts: prompts[1],
        ..Made::plain(name)
    };
    let part = |name, prompts| RunValues::read(&of(name, prompts).write(folder.path())).unwrap();
    let parts = [part("one", [0, 8]), part("two", [8, 24])];
    let goal = |objective: &str| Goal { objective: objective.into(), budget: Vec::new(), ..goal() };
    for objective in ["accepted_per_step", "decode_s", "e2e_s", "speedup", "speedup_e2e", "clip"] {
        let together = Evidence::read(&parts, &goal(objective), "chain", &Level::fixed(0.95)).unwrap();
        let at_once =
            Evidence::read(std::slice::from_ref(&whole), &goal(objective), "chain", &Level::fixed(0.95))
                .unwrap();
        assert_eq!(together, at_once, "{objective}");
    }
    // The value over prompts of a speedup is the ratio of mean times, as in the run's table.
    let speedup =
        Evidence::read(std::slice::from_ref(&whole), &goal("speedup"), "chain", &Level::fixed(0.95)).unwrap();
    let times = whole.paired_times("chain", Span::Decode).unwrap();
    let sum = |side: &specimen_verdicts::values::ByPrompt| side.values().sum::<f64>();
    let ratio = sum(&times.baseline) / sum(&times.method);
    assert!((speedup.trial.objective.value.unwrap() - ratio).abs() < 1e-9, "{speedup:?}");
}

#[test]
fn an_exact_cell_meets_bounds_of_quality_and_is_measured_for_others() {
    let folder = tempfile::tempdir().unwrap();
    let values = RunValues::read(&Made::plain("r").write(folder.path())).unwrap();
    let goal = Goal {
        budget: vec![
            // Scores are 0.003 below the baseline's on every prompt.
            Constraint { plus: -0.001, text: "clip>=ar-0.001".into(), ..goal().budget.remove(0) },
            Constraint { of_baseline: 0.1, text: "nfe<=ar*0.1".into(), ..goal().budget.remove(1) },
        ],
        ..goal()
    };
    let mut values = [values];
    let standings = |values: &[RunValues], goal: &Goal| -> Vec<_> {
        let chain = Evidence::read(values, goal, "chain", &Level::fixed(0.999)).unwrap().trial;
        let of = |held: &BoundCheck| (held.standing(), held.is_decided(), held.is_by_construction);
        chain.budget.iter().map(of).collect()
    };
    let misses = (BudgetStatus::Misses, true, false);
    assert_eq!(standings(&values, &goal), [(BudgetStatus::Meets, true, true), misses]);
    // A metric that compares with the baseline's images, such as `token-match`: the baseline has no value, and an exact cell
    // is measured like any other.
    let baseline = values[0].summary.cells.iter_mut().find(|cell| cell.id == "ar").unwrap();
    baseline.metrics.iter_mut().for_each(|metric| metric.value = None);
    assert_eq!(standings(&values, &goal), [(BudgetStatus::Open, false, false), misses]);
    let plain = |plus| {
        let bound = Constraint { of_baseline: 0.0, plus, ..goal.budget[0].clone() };
        Goal { budget: vec![bound], ..goal.clone() }
    };
    assert_eq!(standings(&values, &plain(9.0)), [misses]);
    assert_eq!(standings(&values, &plain(0.0)), [(BudgetStatus::Meets, true, false)]);
}

fn tuning(rungs: Vec<Vec<Evidence>>) -> Tuning {
    let of = |one: &Evidence| Setting { name: one.trial.setting.clone(), method: "chain of 3".into() };
    let settings: Vec<Setting> = rungs[0].iter().map(of).collect();
    let schedule = Schedule::of(18, None).unwrap();
    let goal = Goal {
        objective: "speedup".into(),
        higher_is_better: Some(true),
        budget: vec![Constraint { text: "fid<=10".into(), ..goal().budget.remove(0) }],
    };
    let mut tuning = Tuning::new("made-up", &goal, settings, schedule);
    for (at, found) in rungs.into_iter().enumerate() {
        let prompts = schedule.prompts(at);
        let n_images = ((prompts[1] - prompts[0]) * (found.len() + 1)) as u64;
        let trials = place(found, &tuning.round()).unwrap();
        tuning.rungs.push(Rung {
            run: format!("rung-{}", at + 1),
            result_digest: "0".into(),
            prompts,
            n_images,
            trials,
        });
    }
    tuning
}

fn confirmed(mut tuning: Tuning, slack: (f64, f64)) -> Tuning {
    let trial = setting(&tuning.best().unwrap().trial.setting, 1.8, Some(slack)).trial;
    let standing = trial.standing();
    let (run, prompts) = ("held-out".into(), tuning.schedule.held_out());
    let (result_digest, n_images) = ("0".into(), 12);
    tuning.confirmation = Some(Confirmation { run, result_digest, prompts, n_images, trial, standing });
    tuning.conclude();
    tuning
}

fn four() -> Tuning {
    tuning(vec![
        vec![
            setting("slow", 1.1, Some((1.0, 0.5))),
            setting("fast", 1.9, Some((0.6, 0.5))),
            setting("ruins", 3.0, Some((-2.0, 0.5))),
            setting("doubtful", 2.4, Some((-0.2, 0.5))),
        ],
        vec![setting("fast", 1.8, Some((0.6, 0.5))), setting("doubtful", 2.5, Some((-0.1, 0.5)))],
    ])
}

#[test]
fn held_out_prompts_confirm_or_refute_the_first_of_the_last_rung() {
    let mut begun = four();
    assert_eq!((begun.left(), begun.wants_rung()), (vec!["fast"], false));
    begun.conclude();
    assert_eq!(begun.verdict, None);
    let good = confirmed(four(), (0.5, 0.1));
    let Some(Verdict::Confirmed { setting, undecided, rivals }) = &good.verdict else { panic!("{good:?}") };
    assert_eq!((setting.as_str(), undecided.len()), ("fast", 0));
    assert_eq!(
        (rivals[0].setting.as_str(), rivals[0].prompts, rivals[0].limit),
        ("doubtful", Some(40), Some(60))
    );
    let open = confirmed(four(), (0.5, 0.9));
    let text = "The 6 held-out prompts do not decide fid<=10 (about 40 prompts would, --limit 118 and another --out).";
    assert!(open.said().contains(text), "{}", open.said());
    let bad = confirmed(four(), (-0.5, 0.1));
    assert!(bad.said().contains("does not meet fid<=10 on held-out prompts"), "{}", bad.said());
    let rivals = "Settings that would be better are undecided: `doubtful` fid<=10 (about 40 prompts would, --limit 60 and another --out).";
    assert!(bad.said().ends_with(rivals), "{}", bad.said());
    // A faster setting whose bound has no value is open as well.
    let mut unknown = four();
    unknown.rungs[1].trials.iter_mut().find(|placed| placed.trial.setting == "doubtful").unwrap().trial =
        self::setting("doubtful", 2.5, None).trial;
    let said = confirmed(unknown, (0.5, 0.1)).said();
    assert!(said.contains("Settings that would be better are undecided: `doubtful` fid<=10."), "{said}");
    let open = confirmed(four(), (-0.5, 0.9)).said();
    let text = "by its means it misses what they do not decide, fid<=10 (about 40 prompts would, --limit 118 and another --out).";
    assert!(open.contains(text) && !open.contains("does not meet"), "{open}");
    // A bound that the means keep may be open too.
    let mut of_two = confirmed(four(), (-0.5, 0.1));
    let kept = BoundCheck { constraint: "nfe<=90".into(), ..bound(Some((0.3, 0.9))) };
    of_two.confirmation.as_mut().unwrap().trial.budget.push(kept);
    of_two.conclude();
    let text =
        "does not meet fid<=10 on held-out prompts. The 6 held-out prompts do not decide nfe<=90 (about 40";
    assert!(of_two.said().contains(text), "{}", of_two.said());
}

#[test]
fn the_distance_of_an_exact_setting_is_said_to_be_none_of_its_images() {
    let exact = Sample::Whole { value: 0.0, ci95: Some([0.0; 2]) };
    let exact = || Evidence::new("sjd", exact.clone(), vec![bound(Some((0.5, 0.1)))]).unwrap();
    let said = |found: Vec<Evidence>| {
        let tuning = Tuning { is_distance: true, ..tuning(vec![found]) };
        tuning.table().text(400)
    };
    let line = "abs. Δ speedup: 0 of an exact method, whose distribution is the baseline's";
    let with = said(vec![exact(), setting("close", 1.8, Some((0.3, 0.1)))]);
    assert!(with.contains(line), "{with}");
    let without = said(vec![setting("close", 1.8, Some((0.3, 0.1)))]);
    assert!(!without.contains(line), "{without}");
}

#[test]
fn no_limit_is_advised_that_the_dataset_does_not_have() {
    let said = |n_available: usize| {
        let tuning = Tuning { n_available: Some(n_available), ..four() };
        confirmed(tuning, (0.5, 0.9)).said()
    };
    // 40 held out are a third of 118, and the rungs share 40 of 60.
    let all = said(118);
    assert!(all.contains("do not decide fid<=10 (about 40 prompts would, --limit 118 and"), "{all}");
    let one_fewer = said(117);
    let text = "do not decide fid<=10 (about 40 prompts would, of 118 in all, and the dataset has 117).";
    assert!(one_fewer.contains(text), "{one_fewer}");
    assert!(one_fewer.contains("`doubtful` fid<=10 (about 40 prompts would, --limit 60 and"), "{one_fewer}");
    let part = confirmed(Tuning { is_part: true, ..four() }, (0.5, 0.9)).said();
    assert!(
        part.contains("do not decide fid<=10 (about 40 prompts would).") && !part.contains("--limit"),
        "{part}"
    );
}

#[test]
fn a_best_setting_that_is_slower_than_plain_decoding_is_said_to_be() {
    for held_out in [(0.5, 0.1), (-0.5, 0.1)] {
        let said = |speedup: f64, high: Option<f64>| {
            let mut done = confirmed(four(), held_out);
            let objective = &mut done.confirmation.as_mut().unwrap().trial.objective;
            (objective.value, objective.ci95) = (Some(speedup), high.map(|high| [0.8, high]));
            done.said()
        };
        let text = said(0.9, Some(0.95));
        assert!(text.contains(" Its baseline is faster, by the held-out prompts."), "{text}");
        for high in [None, Some(1.01)] {
            let text = said(0.9, high);
            assert!(text.contains(" its baseline was faster; their interval does not decide it."), "{text}");
        }
        let text = said(1.1, Some(1.2));
        assert!(!text.contains("baseline"), "{text}");
    }
}

#[test]
fn the_margin_of_an_exact_setting_is_said_to_be_the_baselines() {
    let exact = |slack: (f64, f64)| {
        let held = BoundCheck { is_by_construction: true, ..bound(Some(slack)) };
        let objective = Sample::Whole { value: 1.0, ci95: Some([0.9, 1.1]) };
        let mut tuning = tuning(vec![vec![Evidence::new("sd", objective, vec![held]).unwrap()]]);
        tuning.conclude();
        (tuning.table().text(600), tuning.said())
    };
    let (table, said) = exact((-0.46, 0.48));
    assert!(table.contains("[-0.94, 0.02] exact ?"), "{table}");
    assert!(table.contains("its margin is that of the baseline, whatever its own images have"), "{table}");
    assert!(said.contains("by 0.46 [-0.02, 0.94] as the baseline does, whose distribution it has"), "{said}");
    let (table, _) = exact((0.46, 0.1));
    assert!(table.contains("[0.36, 0.56] exact "), "{table}");
}

#[test]
fn one_setting_that_is_left_is_measured_on_until_it_meets_the_budget_or_the_prompts_run_out() {
    let open = tuning(vec![vec![setting("a", 1.0, Some((-0.1, 0.5))), setting("b", 1.0, Some((-2.0, 0.5)))]]);
    assert_eq!((open.left(), open.wants_rung()), (vec!["a"], true));
    let met = tuning(vec![vec![setting("a", 1.0, Some((0.6, 0.5))), setting("b", 1.0, Some((-2.0, 0.5)))]]);
    assert!(!met.wants_rung() && met.best().is_some());
    let none = tuning(vec![vec![setting("a", 1.0, Some((-1.0, 0.5))), setting("b", 1.0, Some((-2.0, 0.5)))]]);
    assert!(!none.wants_rung() && none.best().is_none() && none.left().is_empty());
}

#[test]
fn a_budget_that_nothing_meets_is_said_with_the_nearest_setting_and_the_prompts_that_would_decide() {
    let said = |rungs| {
        let mut tuning = tuning(rungs);
        tuning.conclude();
        assert_eq!(tuning.best(), None);
        tuning.said()
    };
    let missed = |far: (f64, f64), near: (f64, f64)| {
        vec![setting("far", 3.0, Some(far)), setting("near", 1.0, Some(near))]
    };
    assert_eq!(
        said(vec![missed((-3.0, 0.5), (-1.0, 0.5))]),
        "No setting meets the budget: on 6 prompts each misses a bound for certain. The nearest is `near`, which misses \
         fid<=10 by 1.00 [0.50, 1.50]."
    );
    assert_eq!(
        said(vec![missed((-3.0, 0.5), (-0.3, 0.5)), vec![setting("near", 1.0, Some((-0.2, 0.4)))]]),
        "No setting meets the budget; for one setting it is undecided on 12 prompts. It is `near`, which misses \
         fid<=10 by 0.20 [-0.20, 0.60]. Undecided: `near` fid<=10 (about 40 prompts would, --limit 60 and another --out)."
    );
    assert_eq!(
        said(vec![vec![setting("a", 3.0, None)], vec![setting("a", 3.0, None)]]),
        "No setting meets the budget; for some it is undecided on 12 prompts. Not judged: fid<=10: 32 images, the \
         protocol asks for 500."
    );
}

#[test]
fn the_nearest_of_all_is_named_whichever_rung_dropped_it() {
    let said = |rungs| {
        let mut tuning = tuning(rungs);
        tuning.conclude();
        tuning.said()
    };
    // The last rung has only what it could not decide before, which is further from the bound than what was certain.
    let first = |rest: Vec<Evidence>| {
        [vec![setting("sure", 3.0, Some((-0.3, 0.1))), setting("open", 1.0, Some((-4.0, 5.0)))], rest]
            .concat()
    };
    let last = || vec![setting("open", 1.0, Some((-4.0, 0.5)))];
    assert_eq!(
        said(vec![first(Vec::new()), last()]),
        "No setting meets the budget: on 6 to 12 prompts each misses a bound for certain. The nearest is `sure`, which \
         misses fid<=10 by 0.30 [0.20, 0.40] (on 6 prompts)."
    );
    // While one is undecided, it is the nearest that may still meet the budget.
    assert_eq!(
        said(vec![first(Vec::new()), vec![setting("open", 1.0, Some((-4.0, 4.5)))]]),
        "No setting meets the budget; for one setting it is undecided on 12 prompts. It is `open`, which misses \
         fid<=10 by 4.0 [-0.5, 8.5]. Undecided: `open` fid<=10 (about 40 prompts would, --limit 60 and another --out)."
    );
    // What was dropped because another was better had met the budget.
    let best = setting("best", 9.0, Some((0.6, 0.5)));
    let worse = setting("worse", 1.0, Some((0.8, 0.1)));
    assert_eq!(
        said(vec![
            first(vec![best, worse]),
            vec![setting("best", 9.0, Some((-0.9, 0.5))), setting("open", 1.0, Some((-4.0, 0.5)))]
        ]),
        "No setting is left that meets the budget: on 6 to 12 prompts each of the others misses a bound for certain. The \
         nearest is `sure`, which misses fid<=10 by 0.30 [0.20, 0.40] (on 6 prompts). On fewer prompts worse met it, but \
         was worse than another setting that met it."
    );
}

#[test]
fn a_setting_that_is_out_is_named_with_every_bound_that_it_misses_and_leaves_nothing_undecided() {
    let with = |slacks: &[Option<(f64, f64)>]| {
        let bounds = slacks.iter().enumerate().map(|(at, slack)| BoundCheck {
            constraint: ["nfe<=60", "seconds<=ar"][at].into(),
            ..bound(*slack)
        });
        let objective = Sample::Whole { value: 1.0, ci95: Some([0.9, 1.1]) };
        let mut tuning = tuning(vec![vec![Evidence::new("out", objective, bounds.collect()).unwrap()]]);
        tuning.conclude();
        tuning.said()
    };
    let out = "No setting meets the budget: on 6 prompts each misses a bound for certain.";
    assert_eq!(
        with(&[Some((-2.0, 0.5)), Some((-8.0, 9.0))]),
        format!(
            "{out} The nearest is `out`, which misses nfe<=60 by 2.00 [1.50, 2.50] and seconds<=ar by 8.0 [-1.0, 17.0], which \
             is undecided."
        )
    );
    assert_eq!(
        with(&[Some((-2.0, 0.5)), None]),
        out,
        "what cannot be judged does not matter where a bound is missed"
    );
}

#[test]
fn a_tuning_reads_as_a_table_of_100_columns_and_as_csv() {
    let done = confirmed(four(), (0.5, 0.1));
    let text = done.table().text(100);
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    insta::assert_snapshot!("tuning", text);
    insta::assert_snapshot!("tuning_csv", done.csv().unwrap());
    let written = serde_json::to_string(&done).unwrap();
    assert_eq!(serde_json::from_str::<Tuning>(&written).unwrap(), done);
}

#[test]
fn reasons_for_missing_values_are_one_footnote_however_many_rows_have_them() {
    let many = |n: usize| (0..n).map(|at| setting(&format!("s{at}"), 1.0, None)).collect::<Vec<_>>();
    let table = tuning(vec![many(20)]).table();
    assert_eq!(table.footnotes, ["32 images, the protocol asks for 500"]);
    assert_eq!(table.rows[19][2].text, "—ᵃ ?");
}
