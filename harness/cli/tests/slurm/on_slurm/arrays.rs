//! A real cluster of one node gives the records of this machine, attended or not.

use std::path::Path;

use crate::on_slurm::{
    cluster::Cluster,
    desk::{Desk, QUICK, ended},
};

#[test]
fn five_tasks_of_a_cluster_give_the_records_of_this_machine() {
    let Some(cluster) = Cluster::real("five_tasks_of_a_cluster_give_the_records_of_this_machine") else {
        return;
    };
    let desk = Desk::new(&cluster, QUICK);
    let here = desk.run("here", &[]);
    assert_eq!(here.code, Some(0), "{}", here.err);
    let there = ended(desk.arrays("there", "5", &[]).spawn().unwrap());
    assert_eq!(there.code, Some(0), "{}", there.err);
    assert_eq!(desk.digest("here"), desk.digest("there"));
    assert!(
        there.err.contains("shard(s) of timed blocks") && there.err.contains("of untimed blocks"),
        "{}",
        there.err
    );
    assert_eq!(ended(desk.command(&["verify", "there"]).spawn().unwrap()).code, Some(0));

    // Handed in and left alone, looked at, and finished by another driver.
    let left = ended(desk.arrays("left", "3", &["--detach"]).spawn().unwrap());
    assert_eq!(left.code, Some(0), "{}", left.err);
    assert!(left.err.contains("the cluster works on "), "{}", left.err);
    let status = ended(desk.command(&["status", "left", "--format", "json"]).spawn().unwrap());
    let status: serde_json::Value = serde_json::from_str(&status.out).unwrap();
    assert!(status["slurm"]["name"].as_str().unwrap().starts_with("specimen-"), "{status}");
    let last = ended(desk.arrays("left", "3", &["--resume"]).spawn().unwrap());
    assert_eq!(last.code, Some(0), "{}", last.err);
    assert_eq!(desk.digest("here"), desk.digest("left"));
}

/// `make slurm-quickstart` sets this to `whole`.
const EXTENT: &str = "SLURM_QUICKSTART";

#[test]
fn the_quickstart_in_shards_gives_the_result_of_this_machine() {
    let Some(cluster) = Cluster::real("the_quickstart_in_shards_gives_the_result_of_this_machine") else {
        return;
    };
    let desk = Desk::new(&cluster, QUICK);
    let spec = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments/specs/quickstart.toml");
    // Two of its prompts in two tasks, without warm-ups, take half a minute; all of them take many.
    let (mut narrowed, mut n_shards) =
        (vec!["--limit", "2", "--set", "timing.blocks=1", "--set", "timing.warmup=0"], "2");
    if std::env::var(EXTENT).is_ok_and(|extent| extent == "whole") {
        narrowed.clear();
        n_shards = "5";
    }
    let run = |out: &str, more: &[&str]| {
        let fixed = ["run", spec.to_str().unwrap(), "--out", out];
        ended(desk.command(&[&fixed[..], &narrowed, more].concat()).spawn().unwrap())
    };
    let here = run("here", &[]);
    assert_eq!(here.code, Some(0), "{}", here.err);
    let there = run("there", &["--executor", "slurm", "--profile", "fast.toml", "--shards", n_shards]);
    assert_eq!(there.code, Some(0), "{}", there.err);
    let said = format!(": {n_shards} shard(s) of timed blocks");
    assert!(there.err.contains(&said), "{}", there.err);
    let (here, there) = (desk.digest("here"), desk.digest("there"));
    println!("the quickstart here: {here}\nthe quickstart in shards of a cluster: {there}");
    assert_eq!(here, there);
}
