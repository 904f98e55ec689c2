//! The known answers that `doctor` asks for.

use specimen_measure::known_answers::{known_answers, wrong_pixels};
use specimen_measure::metrics::{METRICS, PAIR_METRICS};

#[test]
fn every_metric_has_a_known_answer_and_gives_it() {
    let answers = known_answers().unwrap();
    for metric in METRICS {
        let values = &metric.entry().values;
        let names =
            if values.is_empty() { vec![metric.name] } else { values.iter().map(String::as_str).collect() };
        for name in names {
            assert!(answers.iter().any(|answer| answer.metric == name), "{name}");
        }
    }
    for metric in PAIR_METRICS {
        assert!(answers.iter().any(|answer| answer.metric == metric.name), "{}", metric.name);
    }
    for answer in answers {
        assert!(answer.is_right(), "{answer:?}");
    }
}

#[test]
fn one_picture_has_the_same_pixels_under_every_protocol_everywhere() {
    assert_eq!(wrong_pixels().unwrap(), Vec::<&str>::new());
}
