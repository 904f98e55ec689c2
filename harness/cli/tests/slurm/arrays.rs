//! A real cluster of one node gives the records of this machine, attended or not.

use crate::{
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
    assert!(left.err.contains("the cluster has "), "{}", left.err);
    let status = ended(desk.command(&["status", "left", "--format", "json"]).spawn().unwrap());
    let status: serde_json::Value = serde_json::from_str(&status.out).unwrap();
    assert!(status["slurm"]["name"].as_str().unwrap().starts_with("specimen-"), "{status}");
    let last = ended(desk.arrays("left", "3", &["--resume"]).spawn().unwrap());
    assert_eq!(last.code, Some(0), "{}", last.err);
    assert_eq!(desk.digest("here"), desk.digest("left"));
}
