//! Which of two settings of a tuning has the better objective, by what their prompts have.

use specimen_verdicts::tune::{
    level::Level,
    rung::{
        Round,
        TrialOutcome::{self, Continues, Worse},
        place,
    },
    sample::Sample,
    trial::Evidence,
};

use crate::tune::{bound, check};

#[test]
fn objectives_are_compared_prompt_by_prompt() {
    let prompts = |values: &[f64]| {
        Sample::Prompts(values.iter().enumerate().map(|(at, value)| (at.to_string(), *value)).collect())
    };
    // Their spread over prompts is far larger than their difference, which is the same on every prompt.
    let spread = [1.0, 9.0, 3.0, 7.0, 5.0, 2.0];
    let one = |name: &str, lead: f64| {
        let objective = prompts(&spread.map(|value| value + lead));
        Evidence::new(name, objective, vec![bound(Some((1.0, 0.5)))]).unwrap()
    };
    check(
        vec![one("b", 0.0), one("a", 0.1)],
        false,
        &[("a", TrialOutcome::Continues), ("b", TrialOutcome::Worse)],
    );
    check(
        vec![one("b", 0.0), one("a", 0.0)],
        false,
        &[("b", TrialOutcome::Continues), ("a", TrialOutcome::Continues)],
    );
}

#[test]
fn distances_from_the_baseline_are_compared_prompt_by_prompt_at_the_level_of_the_rung() {
    let distance = |name: &str, apart: &[f64]| {
        let apart = apart.iter().enumerate().map(|(at, value)| (at.to_string(), *value)).collect();
        Evidence::new(name, Sample::Distance(apart), vec![bound(Some((1.0, 0.5)))]).unwrap()
    };
    let fates = |found: Vec<Evidence>| -> Vec<(String, TrialOutcome)> {
        let round = Round { higher_is_better: false, level: Level::fixed(0.9917), is_last: false };
        place(found, &round).unwrap().into_iter().map(|one| (one.trial.setting, one.fate)).collect()
    };
    let expected = |all: [(&str, TrialOutcome); 2]| all.map(|(name, fate)| (name.to_owned(), fate)).to_vec();
    // Mean 1.5 and deviation 1.0488 of six: t = 3.503, and 4.22 is needed at 99.17 % (2.57 at 95 %).
    let far = [0.0, 1.0, 1.0, 2.0, 2.0, 3.0];
    let exact = [0.0; 6];
    assert_eq!(
        fates(vec![distance("exact", &exact), distance("far", &far)]),
        expected([("exact", Continues), ("far", Continues)])
    );
    // Half the deviation: t = 7.006.
    let sure = far.map(|value| 0.75 + value / 2.0);
    assert_eq!(
        fates(vec![distance("exact", &exact), distance("sure", &sure)]),
        expected([("exact", Continues), ("sure", Worse)])
    );
    // Each alone is not sure of its place, and the difference is the same on every prompt, on either side of the baseline.
    for side in [1.0, -1.0] {
        let near = [1.0, 3.0, 2.0, 4.0, 2.0, 3.0].map(|value| side * value);
        let further = near.map(|value| value + side * 0.5);
        assert_eq!(
            fates(vec![distance("further", &further), distance("near", &near)]),
            expected([("near", Continues), ("further", Worse)])
        );
    }
    // On two sides: the difference of the values says nothing of that of the distances.
    let above = [1.1, 1.3, 1.2, 1.4, 1.2, 1.3];
    let below = above.map(|value| -value + 0.1);
    let other = [1.0, 1.2, 1.1, 1.3, 1.1, 1.2].map(|value| -value);
    assert_eq!(
        fates(vec![distance("above", &above), distance("below", &below)]),
        expected([("below", Continues), ("above", Worse)])
    );
    let mixed = [1.4, 1.0, 1.3, 1.2, 1.4, 1.1];
    assert_eq!(
        fates(vec![distance("mixed", &mixed), distance("other", &other)]),
        expected([("other", Continues), ("mixed", Continues)])
    );
    // The difference alone would decide, but on which side of 0 they are is not known.
    let around = [-9.0, 9.0, -8.0, 8.0, -7.0, 8.0];
    let beside = around.map(|value| value + 0.5);
    assert_eq!(
        fates(vec![distance("around", &around), distance("beside", &beside)]),
        expected([("around", Continues), ("beside", Continues)])
    );
}
