//! Decoding rates on hand-counted images.
#![allow(clippy::unwrap_used, reason = "a failed call is a failed test")]

use specimen_stats::decode_metrics::{DecodeTotals, DepthCounts, ImageCounts};
use specimen_stats::{Statistic, StatsError};

fn image(n_tokens: u64, n_target_forwards: u64, accepted: &[u64], skips: &[u64]) -> ImageCounts {
    ImageCounts {
        n_tokens,
        n_target_forwards,
        n_accepted_by_verify: accepted.to_vec(),
        n_emitted_by_verify: accepted.iter().map(|n| n + 1).collect(),
        n_forced_accepted: 0,
        n_committed_by_skip: skips.to_vec(),
        depths: Vec::new(),
    }
}

fn totals(images: &[ImageCounts]) -> DecodeTotals {
    let mut totals = DecodeTotals::default();
    for image in images {
        totals.push(image).unwrap();
    }
    totals
}

#[test]
fn plain_decoding_emits_one_token_a_forward() {
    // Prefill and 15 forwards for 16 tokens.
    let rates = image(16, 16, &[0; 15], &[]).rates().unwrap();
    assert_eq!((rates.nfe, rates.accepted_per_step, rates.tokens_per_forward), (16.0, 0.0, 1.0));
    assert_eq!((rates.tokens_per_forward_with_skips, rates.step_compression), (1.0, 1.0));
}

#[test]
fn alpha_excludes_and_tau_includes_the_bonus_token() {
    // Prefill samples 1; verifies emit 3, 1, 4 and 2, of which one token is past the end: 10 kept.
    let rates = image(10, 5, &[2, 0, 3, 1], &[]).rates().unwrap();
    assert_eq!(rates.accepted_per_step, 1.5);
    assert_eq!(rates.tokens_per_forward, 2.5);
    assert_eq!(rates.tokens_per_forward_with_skips, 2.5);
    assert_eq!(rates.clipped_tokens_per_forward, 2.5);
    assert_eq!(rates.step_compression, 2.0);
}

#[test]
fn rows_side_by_side_emit_several_tokens_a_forward_and_accept_none() {
    // Prefill samples 1; three forwards emit 1, 2 and 2 of rows that are under way together.
    let counts = ImageCounts { n_emitted_by_verify: vec![1, 2, 2], ..image(6, 4, &[0; 3], &[]) };
    let rates = counts.rates().unwrap();
    assert_eq!((rates.accepted_per_step, rates.tokens_per_forward), (0.0, 5.0 / 3.0));
    assert_eq!((rates.tokens_per_forward_with_skips, rates.clipped_tokens_per_forward), (5.0 / 3.0, 2.0));
}

#[test]
fn skipped_tokens_raise_tpf_and_leave_tau() {
    let rates = image(13, 4, &[2, 1, 1], &[3, 3]).rates().unwrap();
    assert_eq!(rates.tokens_per_forward, 7.0 / 3.0);
    assert_eq!(rates.tokens_per_forward_with_skips, 13.0 / 3.0);
    assert_eq!(rates.clipped_tokens_per_forward, 13.0 / 3.0);
}

#[test]
fn forced_tokens_leave_only_the_second_alpha() {
    let counts = ImageCounts { n_forced_accepted: 2, ..image(10, 5, &[2, 0, 3, 1], &[]) };
    let rates = counts.rates().unwrap();
    assert_eq!((rates.accepted_per_step, rates.accepted_per_step_unforced), (1.5, 1.0));
}

#[test]
fn the_macro_mean_weighs_images_and_the_micro_mean_weighs_forwards() {
    let value =
        totals(&[image(9, 3, &[4, 2], &[]), image(8, 8, &[0, 0, 1, 0, 0, 0, 1], &[])]).value().unwrap();
    assert_eq!(value.n_images, 2);
    assert!((value.macro_mean.accepted_per_step - (3.0 + 2.0 / 7.0) / 2.0).abs() < 1e-15);
    assert!((value.micro.accepted_per_step - 8.0 / 9.0).abs() < 1e-15);
    assert!((value.macro_mean.step_compression - 2.0).abs() < 1e-15);
    assert!((value.micro.step_compression - 17.0 / 11.0).abs() < 1e-15);
    assert_eq!((value.macro_mean.nfe, value.micro.nfe), (5.5, 5.5));
}

#[test]
fn acceptance_by_depth_is_pooled_and_absent_where_nothing_was_tested() {
    let depth = |n_tested, n_accepted| DepthCounts { n_tested, n_accepted };
    let first = ImageCounts { depths: vec![depth(2, 2), depth(2, 1)], ..image(4, 3, &[2, 1], &[]) };
    let second =
        ImageCounts { depths: vec![depth(2, 1), depth(0, 0), depth(0, 0)], ..image(3, 3, &[1, 0], &[]) };
    let value = totals(&[first, second]).value().unwrap();
    assert_eq!(value.acceptance_by_depth, vec![Some(0.75), Some(0.5), None]);
}

#[test]
fn any_cut_into_shards_gives_the_same_digits() {
    let images: Vec<ImageCounts> = (0..30_u64)
        .map(|i| {
            let accepted: Vec<u64> = (0..7 + i % 5).map(|j| (i * 7 + j * 3) % 6).collect();
            let depths = vec![DepthCounts { n_tested: 7, n_accepted: i % 7 }; (i % 3) as usize];
            let n_forwards = accepted.len() as u64 + 1;
            ImageCounts { depths, ..image(20 + i, n_forwards, &accepted, &[i % 4]) }
        })
        .collect();
    let whole = totals(&images);
    for cut in [1, 11, 29] {
        let mut parts = totals(&images[..cut]);
        parts.merge(&totals(&images[cut..])).unwrap();
        assert_eq!(parts, whole);
        assert_eq!(parts.value().unwrap(), whole.value().unwrap());
    }
    let text = serde_json::to_string(&whole).unwrap();
    assert_eq!(serde_json::from_str::<DecodeTotals>(&text).unwrap(), whole);
}

#[test]
fn counts_that_cannot_be_are_refused_and_change_nothing() {
    let mut state = totals(&[image(4, 3, &[2, 1], &[])]);
    let before = state.clone();
    let no_verify = image(1, 1, &[], &[]);
    assert!(matches!(state.push(&no_verify), Err(StatsError::TooFew { needed: 1, found: 0, .. })));
    assert!(matches!(state.push(&image(4, 1, &[1, 1], &[])), Err(StatsError::Inconsistent { .. })));
    let forced = ImageCounts { n_forced_accepted: 4, ..image(4, 3, &[2, 1], &[]) };
    assert!(matches!(state.push(&forced), Err(StatsError::Inconsistent { .. })));
    let depths = vec![DepthCounts { n_tested: 1, n_accepted: 2 }];
    let deep = ImageCounts { depths, ..image(4, 3, &[2, 1], &[]) };
    assert!(matches!(state.push(&deep), Err(StatsError::Inconsistent { .. })));
    let too_few = ImageCounts { n_emitted_by_verify: vec![3, 0], ..image(4, 3, &[2, 1], &[]) };
    assert!(matches!(state.push(&too_few), Err(StatsError::Inconsistent { .. })));
    let not_all = ImageCounts { n_emitted_by_verify: vec![3], ..image(4, 3, &[2, 1], &[]) };
    assert!(matches!(state.push(&not_all), Err(StatsError::Inconsistent { .. })));
    assert_eq!(state, before);
    assert!(DecodeTotals::default().value().is_err());
}

#[test]
fn forced_and_skipped_tokens_of_all_images_are_pooled() {
    let first = ImageCounts { n_forced_accepted: 2, ..image(13, 4, &[2, 1, 1], &[3, 3]) };
    let second = ImageCounts { n_forced_accepted: 3, ..image(18, 4, &[3, 2, 2], &[5, 3]) };
    let pooled = totals(&[first, second]).value().unwrap().micro;
    // 11 accepted of which 5 were forced, in 6 verifies; 14 tokens were skipped.
    assert_eq!(pooled.accepted_per_step_unforced, 1.0);
    assert_eq!(pooled.tokens_per_forward_with_skips, (11.0 + 6.0 + 14.0) / 6.0);
}

#[test]
fn a_forward_for_each_verify_is_enough() {
    assert!(image(10, 4, &[2, 0, 3, 1], &[]).rates().is_ok());
    assert!(image(10, 3, &[2, 0, 3, 1], &[]).rates().is_err());
}
