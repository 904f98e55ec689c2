//! Lossless methods keep the target's distribution; the same seed gives the same image.

use specimen_decode::dist::TokenId;

use crate::support::{
    ALL, AR, CHAIN_3, DYNAMIC, JACOBI, JACOBI_ABOVE, JACOBI_LEFT, MC_SIM, N_TOKENS, STATIC_321,
    check_distribution, drafter, greedy, image, method, target,
};

#[test]
fn the_toy_has_the_size_the_other_checks_assume() {
    let joint = target().joint(N_TOKENS);
    assert_eq!(joint.len(), 625);
    assert!((joint.iter().sum::<f64>() - 1.0).abs() < 1e-6);
    // Top-k 4 of 5: a fifth of the tokens is impossible at every position.
    assert_eq!(joint.iter().filter(|&&mass| 0.0 < mass).count(), 4_usize.pow(4));
}

#[test]
fn autoregressive_decoding_has_the_exact_joint_distribution() {
    check_distribution(|| method(AR, drafter()));
}

#[test]
fn a_sampled_chain_keeps_the_target_distribution() {
    check_distribution(|| method(CHAIN_3, drafter()));
}

#[test]
fn a_static_tree_sampled_without_replacement_keeps_the_target_distribution() {
    check_distribution(|| method(STATIC_321, drafter()));
    check_distribution(|| method(MC_SIM, drafter()));
}

#[test]
fn a_dynamic_tree_of_chosen_tokens_keeps_the_target_distribution() {
    check_distribution(|| method(DYNAMIC, drafter()));
}

#[test]
fn jacobi_windows_keep_the_target_distribution_whatever_they_start_from() {
    for drafter_table in [JACOBI, JACOBI_LEFT, JACOBI_ABOVE] {
        check_distribution(|| method(drafter_table, drafter()));
    }
}

#[test]
fn a_perfect_drafter_keeps_the_target_distribution_as_well() {
    for drafter in [CHAIN_3, STATIC_321, DYNAMIC] {
        check_distribution(|| method(drafter, target()));
    }
}

#[test]
fn greedy_decoding_gives_the_autoregressive_tokens_whatever_the_method() {
    let n_tokens = 32;
    for (target_seed, seed) in [(11, 0), (21, 1), (31, 2)] {
        let target = || greedy(specimen_decode::toy::ToyModel { seed: target_seed, ..target() });
        let tokens = |drafter: &str, model| image(method(drafter, model), target(), n_tokens, seed).tokens;
        let expected = tokens(AR, target());
        let mut context: Vec<TokenId> = Vec::new();
        for _ in 0..n_tokens {
            context.push(target().distribution(&context).argmax());
        }
        assert_eq!(expected, context);
        for method in ALL {
            assert_eq!(tokens(method, greedy(drafter())), expected, "greedy drafter, {method}");
            assert_eq!(tokens(method, drafter()), expected, "sampling drafter, {method}");
            assert_eq!(tokens(method, target()), expected, "perfect drafter, {method}");
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_image_on_any_thread() {
    for drafter_table in ALL {
        let run = move |seed| image(method(drafter_table, drafter()), target(), 16, seed);
        let threads: Vec<_> = (0..8).map(|seed| std::thread::spawn(move || run(seed))).collect();
        let images: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
        for (seed, image) in images.iter().enumerate() {
            assert_eq!(*image, run(seed as u64), "seed {seed}, {drafter_table}");
        }
        assert!(images[1..].iter().any(|image| image.tokens != images[0].tokens), "seeds matter");
    }
}
