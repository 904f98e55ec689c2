//! The committed training specification, and what a specification must say.

use std::path::Path;

use specimen_train::{pipeline::Network, spec::TrainSpec};

fn committed() -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tiny.toml")).unwrap()
}

fn read(text: &str) -> anyhow::Result<TrainSpec> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("spec.toml");
    std::fs::write(&path, text).unwrap();
    TrainSpec::read(&path)
}

#[test]
fn plain_and_weighed_heads_differ_in_nothing_but_the_weight() {
    let spec = read(&committed()).unwrap();
    assert_eq!(spec.further.redundancy.c, 2.0);
    let [plain, weighed] = [Network::DrafterFurther, Network::DrafterCascade].map(|n| n.redundancy(&spec));
    assert_eq!((plain.c, weighed), (1.0, spec.further.redundancy));
    assert_eq!(plain.tau_seq, weighed.tau_seq);
}

#[test]
fn a_specification_without_end_is_refused_before_it_fills_the_memory() {
    let refused = TrainSpec::read(Path::new("/dev/zero")).map(|_| ()).unwrap_err();
    assert!(
        format!("{refused:#}").contains("/dev/zero")
            && format!("{refused:#}").contains("more than 4194304 bytes")
    );
}

#[test]
fn a_batch_that_cannot_be_split_and_a_holdout_of_nothing_are_refused() {
    let text = committed();
    let refusal = |text: String| format!("{:#}", read(&text).map(|_| ()).unwrap_err());
    let split = refusal(text.replace("[eagle3]\nn_replicas    = 1", "[eagle3]\nn_replicas    = 3"));
    assert!(split.contains("eagle3.schedule.batch is 4"), "{split}");
    let held_out = refusal(text.replace("n_validation = 32", "n_validation = 0"));
    assert!(held_out.contains("own_images.n_validation is 0"), "{held_out}");
    let taps = refusal(text.replace("taps      = [4, 8, 11]", "taps      = [4, 11, 8]"));
    assert!(taps.contains("eagle3.model.taps are [4, 11, 8]"), "{taps}");
}
