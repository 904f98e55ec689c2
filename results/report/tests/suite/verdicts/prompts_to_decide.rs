//! How many prompts would decide a claim.

use specimen_report::verdicts::{
    compare::comparison::{Scale, estimate},
    reproduce::{claims::ClaimVerdict, paper::Test},
    values::RunValues,
};
use specimen_stats::student::student_quantile;

use crate::verdicts::{fixture::run::Made, reproduce::tested_on};

/// The prompts that would decide `test`, which is undecided.
fn prompts(run: &RunValues, test: Test) -> u64 {
    let found = tested_on("tiny", run, "speedup", test);
    assert_eq!(found.verdict, ClaimVerdict::NotTestable, "{found:?}");
    found.prompts_to_decide.unwrap_or_else(|| panic!("{found:?}"))
}

fn rises(cells: [&str; 3]) -> Test {
    Test::Rises { cells: cells.map(String::from).to_vec() }
}

#[test]
fn an_undecided_claim_says_how_many_prompts_would_decide_it() {
    let folder = tempfile::tempdir().unwrap();
    let run = RunValues::read(&Made::plain("run").write(folder.path())).unwrap();
    let seed = u64::from_str_radix(&run.summary.result_digest.as_str()[..16], 16).unwrap();
    let of = |cell: &str| run.by_prompt(cell, "accepted_per_step");
    let ratio = estimate(&of("tree"), &of("chain"), Scale::Ratio, seed).unwrap().unwrap();
    let [low, high] = ratio.ci95.unwrap();
    // The edge of the claim is a tenth of the interval's width from the value: with equal sides, 542 prompts by SciPy.
    let (value, side, half) = (ratio.value - 1.0, high - ratio.value, (high - low) / 2.0);
    let within = value + half / 5.0;
    let end = |n: u64| {
        let (shrunk, t) = ((24.0 / n as f64).sqrt(), |n: u64| student_quantile(n - 1, 0.975).unwrap());
        half * t(n) / t(24) * shrunk * (1.0 + (side / half - 1.0) * shrunk)
    };
    let expected = (25..).find(|n| end(*n) < half / 5.0);
    assert!(expected > Some(542), "{ratio:?}");
    let cells = vec!["chain".to_owned(), "tree".to_owned()];
    let found = tested_on("tiny", &run, "accepted_per_step", Test::Alike { cells, within });
    assert_eq!(found.verdict, ClaimVerdict::NotTestable, "{found:?}");
    assert_eq!(found.prompts_to_decide, expected, "{found:?}");
}

#[test]
fn a_step_that_leans_down_may_refute_a_rise_before_its_ends_do() {
    // The fixture's times differ by cell and image.
    let accepted = vec![("ar", 0.0), ("low", 1.5), ("middle", 1.48), ("high", 1.498)];
    let folder = tempfile::tempdir().unwrap();
    let run = RunValues::read(&Made { accepted, ..Made::plain("run") }.write(folder.path())).unwrap();
    let greater = |cell: &str| prompts(&run, Test::Greater { cell: cell.into(), than: vec!["low".into()] });
    let rises = prompts(&run, rises(["low", "middle", "high"]));
    assert!(rises < greater("high"), "{rises}, {}", greater("high"));
    assert_eq!(rises, greater("middle"));
}

#[test]
fn a_step_that_leans_down_slightly_does_not_delay_the_rise_of_the_ends() {
    let accepted = vec![("ar", 0.0), ("low", 1.5), ("middle", 1.498), ("high", 1.52)];
    let folder = tempfile::tempdir().unwrap();
    let run = RunValues::read(&Made { accepted, ..Made::plain("run") }.write(folder.path())).unwrap();
    let greater = |cell: &str| prompts(&run, Test::Greater { cell: cell.into(), than: vec!["low".into()] });
    // The step alone would take more prompts than the ends, which decide that the claim holds.
    assert!(greater("middle") > greater("high"), "{}, {}", greater("middle"), greater("high"));
    assert_eq!(prompts(&run, rises(["low", "middle", "high"])), greater("high"));
}
