//! Runs of the stub network disturbed in every way a night on a shared machine can bring: after each the merged
//! digest is that of an undisturbed run, nothing that was finished is made again, and every loss is reported.
//!
//! `CHAOS_ROUNDS` is how often each disturbance is tried, at moments that a seed decides (default 1;
//! `make chaos-local` tries 100 kills). The table of what was done is printed at the end.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test may panic, and the table is its answer")]

mod disturb;
mod round;
mod tmpfs;

use disturb::Disturbance;
use round::{Ground, Outcome};
use tmpfs::Tmpfs;

#[test]
fn no_disturbance_changes_a_digest_or_repeats_what_was_finished() {
    let n_rounds: u32 = std::env::var("CHAOS_ROUNDS").map_or(1, |n| n.parse().unwrap());
    let ground = Ground::prepare();
    println!("undisturbed: {} items, result {}", ground.n_items, ground.digest);
    println!(
        "disturbance                      rounds  equal digests  repeated items  cost something  reported"
    );
    let mut n_wrong = 0;
    for disturbance in Disturbance::ALL {
        // Kills at random moments are what is tried most.
        let n = if disturbance.is_kill() { n_rounds.div_ceil(3) } else { n_rounds.div_ceil(10) };
        let rounds: Vec<Outcome> = (0..n).map(|i| ground.round(disturbance, i)).collect();
        let n_equal = rounds.iter().filter(|round| round.is_equal).count();
        let n_repeated: usize = rounds.iter().map(|round| round.n_repeated).sum();
        let n_cost = rounds.iter().filter(|round| round.has_cost).count();
        let n_reported = rounds.iter().filter(|round| round.is_reported).count();
        println!(
            "{:31}  {n:6}  {n_equal:13}  {n_repeated:14}  {n_cost:14}  {n_reported:8}",
            disturbance.name()
        );
        // A worker may end just before it is killed; what a driver leaves is always reported.
        let n_silent =
            if disturbance == Disturbance::KillWorker { 0 } else { n_cost - n_reported.min(n_cost) };
        n_wrong += rounds.len() - n_equal + n_repeated + n_silent;
    }
    assert_eq!(n_wrong, 0);
}

#[test]
fn a_full_disk_and_a_read_only_one_lose_nothing() {
    let ground = Ground::prepare();
    let Some(disk) = Tmpfs::mount("a_full_disk_and_a_read_only_one_lose_nothing") else { return };
    ground.full_disk(&disk);
    ground.read_only(&disk);
}

#[test]
fn a_flipped_bit_is_found_and_what_it_spoilt_is_made_again() {
    let n_rounds: u32 = std::env::var("CHAOS_ROUNDS").map_or(2, |n| n.parse::<u32>().unwrap().div_ceil(10));
    let ground = Ground::prepare();
    (0..n_rounds).for_each(|i| ground.flipped_bit(i));
    println!("a flipped bit: found and mended in {n_rounds} rounds");
}
