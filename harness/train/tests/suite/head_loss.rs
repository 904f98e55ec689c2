//! The loss of heads, against its definition written out slot by slot.

use specimen_models::{heads::draft_head::Head, seam::backbone::Backbone};
use specimen_train::{
    head_loss::{HeadLoss, PairSlot, Redundancy},
    pair::Pair,
    unroll::unroll,
};
use tch::{Kind, Tensor, no_grad};

use crate::support::{N_TOKENS, batch, eagle1, eagle1_and_join, eagle3, target};

const BASE: HeadLoss = HeadLoss {
    depth: 3,
    depth_decay: 0.8,
    feature_weight: Some(0.7),
    row_weight: 0.5,
    guided_weight: 1.0,
    guidance: 3.0,
    redundancy: None,
    hard_ce_weight: 0.0,
};
const SOFT: HeadLoss = HeadLoss { feature_weight: None, ..BASE };

fn weighed(c: f64, tau_seq: f64, base: HeadLoss) -> HeadLoss {
    weighed_on(PairSlot::First, c, tau_seq, base)
}

fn weighed_on(slot: PairSlot, c: f64, tau_seq: f64, base: HeadLoss) -> HeadLoss {
    HeadLoss { redundancy: Some(Redundancy { c, tau_seq, slot }), ..base }
}

fn value<H: Head>(loss: &HeadLoss, pair: &Pair<H>) -> f64 {
    let (total, values) = loss.of(&pair.head, &pair.lesson(&batch()));
    assert_eq!(values.len(), loss.names().len());
    assert_eq!(total.double_value(&[]), values[0]);
    values[0]
}

/// Gradient of the tensor that joins embedding and feature.
fn gradient(loss: &HeadLoss) -> (f64, Vec<f32>) {
    let (pair, join) = eagle1_and_join();
    let values = pair.learn(loss, &batch());
    (values[0], Vec::try_from(join.grad().reshape([-1])).unwrap())
}

#[test]
fn a_weight_of_1_is_the_base_loss_bit_for_bit() {
    let (base, of_base) = gradient(&BASE);
    let (one, of_one) = gradient(&weighed(1.0, 0.5, BASE));
    assert_eq!(base.to_bits(), one.to_bits());
    assert!(of_base.iter().zip(&of_one).all(|(a, b)| a.to_bits() == b.to_bits()));
    assert!(of_base.iter().any(|grad| *grad != 0.0));
}

#[test]
fn the_weight_counts_where_features_are_redundant_and_only_there() {
    let pair = eagle1();
    let base = value(&SOFT, &pair);
    let second = weighed_on(PairSlot::Second, 2.0, -1.5, SOFT);
    assert_eq!(value(&second, &pair), 2.0 * base, "every slot that a head predicts is the second of a pair");
    let first = value(&weighed(2.0, -1.5, SOFT), &pair);
    assert!(base < first && first < 2.0 * base, "an image's last slot is the first of none: {first}");
    assert_eq!(value(&weighed(2.0, 1.5, SOFT), &pair), base, "none is");
    let some = value(&weighed(2.0, 0.3, SOFT), &pair);
    assert!(base < some && some < 2.0 * base, "{base} < {some}");
}

/// The definition: smooth L1 and soft cross-entropy of each slot, with the weight of the slot.
fn by_definition<H: Head>(loss: &HeadLoss, pair: &Pair<H>) -> f64 {
    let (batch, target) = (batch(), target());
    let lesson = pair.lesson(&batch);
    let features = lesson.features.shallow_clone();
    let rows = |x: &Tensor, row: i64, slot: i64| -> Vec<f64> {
        Vec::try_from(x.get(row).get(slot).to_kind(Kind::Double)).unwrap()
    };
    let guided = |caption: &[f64], null: &[f64]| -> Vec<f64> {
        caption.iter().zip(null).map(|(c, n)| n + loss.guidance * (c - n)).collect()
    };
    let distribution = |logits: &[f64]| -> Vec<f64> {
        let sum: f64 = logits.iter().map(|l| l.exp()).sum();
        logits.iter().map(|l| l.exp() / sum).collect()
    };
    let nats = |truth: &[f64], drafted: &[f64]| -> f64 {
        truth.iter().zip(distribution(drafted)).map(|(q, p)| -q * p.ln()).sum()
    };
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let true_logits = target.logits(&features);
    let unrolled = unroll(&pair.head, &lesson, loss.depth);
    let mut total = 0.0;
    for (k, predicted) in (0..).zip(&unrolled) {
        let logits = pair.head.logits(&target, predicted);
        let n_slots = N_TOKENS - k - 1;
        let (mut regression, mut of_rows, mut of_guided, mut hard) = (0.0, 0.0, 0.0, 0.0);
        for r in 0..n_slots {
            // Row r of depth k consumes token r + k and predicts the feature of slot r + k + 1.
            let slot = r + k;
            for image in 0..2 {
                // Slot slot + 1 is predicted. Equation 4: it weighs c if it and the one after it are redundant.
                let is_redundant = |w: Redundancy, first: i64| {
                    first + 1 < N_TOKENS && {
                        let (f, next) = (rows(&features, image, first), rows(&features, image, first + 1));
                        w.tau_seq <= dot(&f, &next) / (dot(&f, &f) * dot(&next, &next)).sqrt()
                    }
                };
                let first = |w: Redundancy| if w.slot == PairSlot::First { slot + 1 } else { slot };
                let weight =
                    loss.redundancy.map_or(1.0, |w| if is_redundant(w, first(w)) { w.c } else { 1.0 });
                let of = |x: &Tensor, at: i64| [rows(x, image, at), rows(x, image + 2, at)];
                let (drafted, aim) = (of(&logits, r), of(&true_logits, slot + 1));
                let drawn = batch.tokens.int64_value(&[image, slot + 1]) as usize;
                for (drafted, aim) in drafted.iter().zip(&aim) {
                    hard -= distribution(drafted)[drawn].ln() / (4 * n_slots) as f64;
                    of_rows += weight * nats(&distribution(aim), drafted) / (4 * n_slots) as f64;
                }
                let (drafted, aim) = (guided(&drafted[0], &drafted[1]), guided(&aim[0], &aim[1]));
                of_guided += weight * nats(&distribution(&aim), &drafted) / (2 * n_slots) as f64;
                for row in [image, image + 2] {
                    let (a, b) = (rows(predicted, row, r), rows(&features, row, slot + 1));
                    let smooth = |d: f64| if d.abs() < 1.0 { 0.5 * d * d } else { d.abs() - 0.5 };
                    let sum: f64 = a.iter().zip(&b).map(|(a, b)| smooth(a - b)).sum();
                    regression += sum / (4 * n_slots * 16) as f64;
                }
            }
        }
        let of_depth = loss.feature_weight.map_or(0.0, |w| w * regression)
            + loss.row_weight * of_rows
            + loss.guided_weight * of_guided;
        let of_depth = of_depth + loss.hard_ce_weight * hard;
        total += of_depth * loss.depth_decay.powi(k as i32);
    }
    total
}

#[test]
fn the_loss_is_its_definition() {
    let second = weighed_on(PairSlot::Second, 2.0, 0.3, BASE);
    let hard = HeadLoss { hard_ce_weight: 0.6, ..weighed(2.0, 0.3, BASE) };
    let rows = HeadLoss { row_weight: 0.1, guided_weight: 0.0, ..hard };
    for loss in [BASE, weighed(2.0, 0.3, BASE), weighed(3.0, 0.3, SOFT), second, hard, rows] {
        no_grad(|| {
            let (found, expected) = (value(&loss, &eagle1()), by_definition(&loss, &eagle1()));
            assert!((found / expected - 1.0).abs() < 1e-5, "eagle1, {loss:?}: {found}, not {expected}");
            let loss = HeadLoss { feature_weight: None, ..loss };
            let (found, expected) = (value(&loss, &eagle3()), by_definition(&loss, &eagle3()));
            assert!((found / expected - 1.0).abs() < 1e-5, "eagle3, {loss:?}: {found}, not {expected}");
        });
    }
}

#[test]
fn a_report_names_what_the_loss_has() {
    assert_eq!(SOFT.names(), ["loss", "overlap1", "overlap2", "overlap3"]);
    let shallow = HeadLoss { depth: 1, ..weighed(2.0, 0.5, BASE) };
    assert_eq!(shallow.names(), ["loss", "feature", "redundant", "overlap1"]);
    assert_eq!(eagle1().learn(&shallow, &batch()).len(), 4);
}
