//! The known answers that `doctor` asks for.

use specimen_measure::known_answers::{known_answers, wrong_pixels};

#[test]
fn every_metric_has_a_known_answer_and_gives_it() {
    let answers = known_answers().unwrap();
    let metrics: Vec<&str> = answers.iter().map(|answer| answer.metric).collect();
    let two_rules = ["fid", "kid", "kid over subsets", "precision", "recall", "density", "coverage"];
    let strict = ["precision by <", "recall by <", "density by <", "coverage by <"];
    let others = ["cmmd", "vendi", "is", "clip-score"];
    assert_eq!(metrics, [&two_rules[..], &strict, &others].concat());
    for answer in answers {
        assert!(answer.is_right(), "{answer:?}");
    }
}

#[test]
fn one_picture_has_the_same_pixels_under_every_protocol_everywhere() {
    assert_eq!(wrong_pixels().unwrap(), Vec::<&str>::new());
}
