//! The table `[slurm]`: what it means, what is refused, and that no plan depends on it.

use std::path::Path;

use specimen_experiments::{
    array_shape::ArrayShape,
    parse::SpecText,
    plan::Plan,
    prompts,
    slurm::{Ask, SlurmSpec},
};

const SPEC: &str = r#"schema = 1
name = "s"
seed = 42
dataset = { name = "scenes-val", limit = 8 }
model = { name = "tiny", dtype = "bf16" }
sampling = { temperature = 1.0, top_k = 0, top_p = 1.0, guidance = 3.0 }
timing = { warmup = 2, blocks = 4 }
[[cell]]
name = "ar"
[[cell]]
name = "quality"
timed = false
"#;

fn slurm(table: &str) -> Result<SlurmSpec, String> {
    let text = SpecText::parse("s.toml", &format!("{SPEC}{table}")).unwrap();
    text.slurm().map(Option::unwrap).map_err(|error| error.to_string())
}

#[track_caller]
fn check_refused(table: &str, part: &str) {
    let error = slurm(table).unwrap_err();
    assert!(error.contains(part), "`{part}` is not in `{error}`");
    // A run that asks for no cluster hears of it too.
    let text = SpecText::parse("s.toml", &format!("{SPEC}{table}")).unwrap();
    assert_eq!(text.resolve().unwrap_err().to_string(), error);
}

#[test]
fn timed_tasks_ask_for_the_same_but_what_their_table_says() {
    let found = slurm(
        "[slurm]\npartition = \"gpu\"\ngres = \"gpu:1\"\ntime = 90\nsetup = [\"module load cuda\"]\nextra = [\"--nice\"]\n\
         [slurm.timing]\nconstraint = \"h200\"\nexclusive = true\ntime = \"1-12\"\n",
    );
    let found = found.unwrap();
    let text = |text: &str| Some(text.to_owned());
    let quality = Ask {
        partition: text("gpu"),
        gres: text("gpu:1"),
        time: text("90"),
        extra: vec!["--nice".to_owned()],
        ..SlurmSpec::of_the_cluster().quality
    };
    let timing = Ask { constraint: text("h200"), exclusive: true, time: text("1-12"), ..quality.clone() };
    let setup = vec!["module load cuda".to_owned()];
    assert_eq!(found, SlurmSpec { quality, timing, setup, ..SlurmSpec::of_the_cluster() });
}

#[test]
fn what_a_batch_system_would_misread_is_refused_with_its_place() {
    check_refused("[slurm]\npartion = \"gpu\"\n", "partition");
    check_refused("[slurm]\npartition = \"gpu --wrap=x\"\n", "a text without spaces");
    check_refused("[slurm]\ngres = \"gpu:1\\n#SBATCH\"\n", "a text without spaces");
    check_refused("[slurm]\nsetup = [\"a\\nb\"]\n", "slurm.setup.0");
    check_refused("[slurm]\nextra = [\"script.sh\"]\n", "a flag of sbatch");
    check_refused("[slurm]\ntime = \"two hours\"\n", "slurm.time");
    check_refused("[slurm]\nthrottle = 0\n", "`slurm.throttle` is 0, expected 1 to");
    check_refused("[slurm]\nmax_attempts = 0\n", "slurm.max_attempts");
    check_refused("[slurm.timing]\nmax_attempts = 2\n", "unknown key `max_attempts` in [slurm.timing]");
}

#[test]
fn a_profile_counts_before_the_spec_key_by_key_and_an_override_before_both() {
    let folder = tempfile::tempdir().unwrap();
    let profile = folder.path().join("p.toml");
    std::fs::write(&profile, "[slurm]\npartition = \"a\"\nmem = \"8G\"\n[slurm.timing]\nqos = \"fast\"\n")
        .unwrap();
    let table = "[slurm]\npartition = \"b\"\ngres = \"gpu:1\"\n[slurm.timing]\nexclusive = true\n";
    let mut text = SpecText::parse("s.toml", &format!("{SPEC}{table}")).unwrap();
    text.overlay_slurm(&profile).unwrap();
    text.set("slurm.mem=\"9G\"").unwrap();
    let found = text.slurm().unwrap().unwrap();
    let word = |word: &Option<String>| word.clone().unwrap_or_default();
    let words = [word(&found.quality.partition), word(&found.quality.mem), word(&found.timing.gres)];
    assert_eq!(words, ["a", "9G", "gpu:1"]);
    assert!(found.timing.exclusive && found.timing.qos.as_deref() == Some("fast"));

    // Where the spec says nothing, the profile is all there is.
    let mut text = SpecText::parse("s.toml", SPEC).unwrap();
    assert_eq!(text.slurm().unwrap(), None);
    text.overlay_slurm(&profile).unwrap();
    assert_eq!(word(&text.slurm().unwrap().unwrap().quality.mem), "8G");
    std::fs::write(&profile, "seed = 3\n").unwrap();
    assert!(text.overlay_slurm(&profile).unwrap_err().to_string().contains("seed"));
    assert!(text.overlay_slurm(Path::new("no/such.toml")).is_err());
    let endless = text.overlay_slurm(Path::new("/dev/zero")).unwrap_err().to_string();
    assert!(endless.contains("/dev/zero") && endless.contains("more than 4194304 bytes"), "{endless}");
}

#[test]
fn a_plan_does_not_depend_on_the_cluster() {
    let plan = |table: &str| {
        let spec = SpecText::parse("s.toml", &format!("{SPEC}{table}")).unwrap().resolve().unwrap();
        let prompts = prompts::open(&spec.dataset, None).unwrap();
        Plan::new(spec, &prompts).unwrap()
    };
    assert_eq!(plan(""), plan("[slurm]\npartition = \"gpu\"\n"));
}

#[test]
fn arrays_are_counted_as_they_are_handed_in() {
    let spec = SpecText::parse("s.toml", SPEC).unwrap().resolve().unwrap();
    let prompts = prompts::open(&spec.dataset, None).unwrap();
    let plan = Plan::new(spec, &prompts).unwrap();
    let mut settings = slurm("[slurm]\nthrottle = 3\n[slurm.timing]\ngres = \"gpu:2\"\n").unwrap();
    let shape = ArrayShape::new(&plan, &settings, 5, 1001, Some([3600.0, 7200.0]));
    assert_eq!(
        shape.to_string(),
        "slurm   2 task(s) of timed blocks in 1 array(s), 3 at a time, each with gpu:2: about 2.00 GPU-hours\n\
         slurm   2 task(s) of untimed blocks in 1 array(s), 3 at a time: about 2.00 task-hours\n"
    );
    // Shards 0 and 1 are timed, 2 and 3 are not; arrays hold shards 0 to 2 and 3 to 5.
    settings.timing.gres = None;
    let shape = ArrayShape::new(&plan, &settings, 2, 3, None);
    let counts: Vec<(u32, u32)> = shape.kinds.iter().map(|kind| (kind.n_tasks, kind.n_arrays)).collect();
    assert_eq!(counts, [(2, 1), (2, 2)]);
}
