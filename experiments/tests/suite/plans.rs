//! What a plan promises: seeds that do not know the method, blocks in which cells take turns, and a digest
//! that names exactly what will run.

use specimen_datasets::PromptSet;
use specimen_experiments::{
    bandwidth::{Bandwidth, time_bounds},
    estimate::{FetchSize, Footprint, JudgedBy, Missing},
    parse::SpecText,
    plan::Plan,
    prompts,
    spec::Spec,
};
use std::collections::{BTreeMap, BTreeSet};

const SPEC: &str = r#"schema = 1
name = "s"
seed = 42
analysis = "first"
dataset = { name = "scenes-val", limit = 10, samples = 2 }
model = { name = "tiny", dtype = "bf16" }
sampling = { temperature = 1.0, top_k = 0, top_p = 1.0, guidance = 3.0 }
timing = { warmup = 2, blocks = 4 }
[[cell]]
name = "ar"
[[cell]]
name = "sd"
drafter = { proposer = "eagle1", shape = "chain", depth = 3 }
[[cell]]
name = "images"
timed = false
drafter = { proposer = "eagle1", shape = "chain", depth = 2 }
[[cell]]
name = "tree"
drafter = { proposer = "eagle1", shape = "static", tree = "tiny_13" }
"#;

fn spec(text: &str) -> Spec {
    SpecText::parse("s.toml", text).unwrap().resolve().unwrap()
}

fn plan(text: &str) -> Plan {
    let spec = spec(text);
    let prompts = prompts::open(&spec.dataset, None).unwrap();
    Plan::new(spec, &prompts).unwrap()
}

/// Seeds by prompt and sample, for each cell.
fn seeds(plan: &Plan) -> BTreeMap<String, Vec<u64>> {
    let mut seeds: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for item in &plan.items {
        seeds.entry(plan.cell_name(item).to_owned()).or_default().push(item.seed);
    }
    seeds
}

#[test]
fn a_plan_that_no_memory_holds_is_refused() {
    let spec = spec(&SPEC.replace("samples = 2", "samples = 1000000"));
    let prompts = prompts::open(&spec.dataset, None).unwrap();
    let message = Plan::new(spec, &prompts).unwrap_err().to_string();
    assert_eq!(
        message,
        "the plan has 4 cells x 10 prompts x 1000000 samples, more than 16777216 items; split the spec"
    );
}

/// The run order of the first timed block, as `cell prompt sample`.
fn first_block(plan: &Plan) -> Vec<String> {
    let items = plan.blocks[0].items.iter().map(|&at| &plan.items[at as usize]);
    items.map(|item| format!("{} {} {}", plan.cell_name(item), item.prompt, item.sample)).collect()
}

#[test]
fn cells_take_turns_batch_by_batch() {
    let text = SPEC.replace("dtype = \"bf16\" }", "dtype = \"bf16\", batch = 4 }");
    let order = first_block(&plan(&text));
    assert_eq!(order[..8], ["ar 0 0", "ar 0 1", "ar 1 0", "ar 1 1", "sd 0 0", "sd 0 1", "sd 1 0", "sd 1 1"]);
    assert_eq!(order[12..14], ["sd 2 0", "sd 2 1"], "the next batch begins with the next cell");
    // As with one image at a time, images and seeds are those of any batch size.
    assert_eq!(seeds(&plan(&text)), seeds(&plan(SPEC)));
    assert_ne!(plan(&text).digest, plan(SPEC).digest);
}

#[test]
fn a_batch_is_said_for_a_model_or_for_all_and_one_image_is_no_batch() {
    let of = |timing: &str, model: &str| {
        let text = SPEC.replace("blocks = 4", timing).replace("dtype = \"bf16\"", model);
        spec(&text).cells[0].model.batch
    };
    let bf16 = "dtype = \"bf16\"";
    assert_eq!(of("blocks = 4, batch = 2", bf16), Some(2));
    assert_eq!(of("blocks = 4, batch = 2", "dtype = \"bf16\", batch = 4"), Some(4));
    assert_eq!(of("blocks = 4, batch = 2", "dtype = \"bf16\", batch = 1"), None);
    let one = SPEC.replace("blocks = 4", "blocks = 4, batch = 1");
    assert_eq!(plan(&one).digest, plan(SPEC).digest);
}

#[test]
fn a_warm_up_is_of_whole_batches_and_the_plan_says_how_large_they_are() {
    let said = |timing: &str| {
        let text = SPEC.replace("warmup = 2, blocks = 4", timing);
        plan(&text).estimate(|_| None).to_string()
    };
    // Three cells are timed; two images of each, a third begins another batch.
    for (timing, n) in [("warmup = 1, blocks = 4, batch = 2", 6), ("warmup = 3, blocks = 4, batch = 2", 12)] {
        let said = said(timing);
        assert!(
            said.contains(&format!("batch   2 images at a time\nwarm-up {n} images per worker\n")),
            "{said}"
        );
    }
    assert!(!said("warmup = 1, blocks = 4").contains("batch "));
}

#[test]
fn batches_that_cannot_be_are_refused_with_what_to_do() {
    let refused = |text: &str| {
        let spec = spec(text);
        let prompts = prompts::open(&spec.dataset, None).unwrap();
        Plan::new(spec, &prompts).unwrap_err().to_string()
    };
    let uneven = SPEC.replace("blocks = 4", "blocks = 4, batch = 8");
    let said = refused(&uneven);
    let expected = "cell `ar`: `batch` is 8, but the cell is timed, and 10 prompts x 2 samples in blocks of 4 prompts give batches \
                    that are not full; make the images of a block, and all, a multiple of it, or write `timed = false`";
    assert_eq!(said, expected);
    let frontier = SPEC.replace("blocks = 4", "blocks = 2, batch = 4")
        + "[[cell]]\nname = \"rows\"\nfrontier = { kind = \"zipar\", window = 4 }\n";
    let said = refused(&frontier);
    assert!(said.contains("cell `rows`") && said.contains("several rows of one image together"), "{said}");
    let external = SPEC.replace("blocks = 4", "blocks = 2, batch = 4")
        + "[[cell]]\nname = \"other\"\nexternal = { command = [\"true\"] }\n";
    let said = refused(&external);
    assert!(said.contains("cell `other`") && said.contains("another program makes its images"), "{said}");
}

#[test]
fn seeds_do_not_depend_on_the_method_the_cell_or_what_else_runs() {
    let all = seeds(&plan(SPEC));
    assert!(all.values().all(|seeds| *seeds == all["ar"]));
    let alone = seeds(&plan(&SPEC[..SPEC.find("[[cell]]\nname = \"sd\"").unwrap()]));
    assert_eq!(alone["ar"], all["ar"]);
    let fewer = seeds(&plan(&SPEC.replace("limit = 10", "limit = 3")));
    assert_eq!(fewer["ar"][..], all["ar"][..6]);
    let f32 = seeds(&plan(&SPEC.replace("bf16", "f32")));
    assert_eq!(f32, all);
}

#[test]
fn seeds_of_different_images_differ() {
    let seeds = &seeds(&plan(SPEC))["ar"];
    assert_eq!(seeds.iter().collect::<BTreeSet<_>>().len(), 20);
    assert!(
        self::seeds(&plan(&SPEC.replace("seed = 42", "seed = 43")))["ar"]
            .iter()
            .all(|seed| !seeds.contains(seed))
    );
}

#[test]
fn items_are_sorted_by_cell_prompt_and_sample_and_each_is_in_one_block() {
    let plan = plan(SPEC);
    assert_eq!(plan.items.len(), 4 * 10 * 2);
    assert!(plan.items.is_sorted_by_key(|item| (item.cell, item.prompt, item.sample)));
    let mut placed: Vec<u32> = plan.blocks.iter().flat_map(|block| block.items.iter().copied()).collect();
    placed.sort_unstable();
    assert_eq!(placed, (0..80).collect::<Vec<_>>());
    for (at, block) in plan.blocks.iter().enumerate() {
        assert_eq!(block.index as usize, at);
        assert!(block.items.iter().all(|&item| plan.items[item as usize].block == block.index));
    }
}

#[test]
fn timed_cells_share_blocks_of_prompts_and_untimed_ones_do_not() {
    let plan = plan(SPEC);
    let described: Vec<(bool, BTreeSet<u32>, BTreeSet<u32>)> = plan
        .blocks
        .iter()
        .map(|block| {
            let items = || block.items.iter().map(|&item| plan.items[item as usize]);
            (block.timed, items().map(|item| item.cell).collect(), items().map(|item| item.prompt).collect())
        })
        .collect();
    let block = |timed, cells: &[u32], prompts: std::ops::Range<u32>| {
        (timed, cells.iter().copied().collect(), prompts.collect())
    };
    let timed = [0, 1, 3];
    assert_eq!(
        described,
        [
            block(true, &timed, 0..4),
            block(true, &timed, 4..8),
            block(true, &timed, 8..10),
            block(false, &[2], 0..4),
            block(false, &[2], 4..8),
            block(false, &[2], 8..10),
        ]
    );
}

#[test]
fn cells_take_turns_on_every_image_and_each_stands_at_each_place_equally_often() {
    let plan = plan(SPEC);
    let order: Vec<_> =
        plan.blocks.iter().filter(|block| block.timed).flat_map(|block| &block.items).collect();
    let mut times_at_place: BTreeMap<(u32, usize), usize> = BTreeMap::new();
    for turn in order[..18 * 3].chunks(3) {
        let items: Vec<_> = turn.iter().map(|&&item| plan.items[item as usize]).collect();
        assert!(items.iter().all(|item| (item.prompt, item.sample) == (items[0].prompt, items[0].sample)));
        for (place, item) in items.iter().enumerate() {
            *times_at_place.entry((item.cell, place)).or_default() += 1;
        }
    }
    assert_eq!(times_at_place.len(), 9);
    assert!(times_at_place.values().all(|&n| n == 6), "{times_at_place:?}");
}

#[test]
fn models_are_not_mixed_in_a_block() {
    let list = "model = [{ name = \"tiny\", dtype = \"bf16\" }, { name = \"tiny\", dtype = \"f32\" }]";
    let plan = plan(&SPEC.replace("model = { name = \"tiny\", dtype = \"bf16\" }", list));
    for block in &plan.blocks {
        let models =
            block.items.iter().map(|&item| &plan.spec.cells[plan.items[item as usize].cell as usize].model);
        assert_eq!(models.collect::<BTreeSet<_>>().len(), 1);
    }
}

#[test]
fn the_digest_changes_with_what_runs_and_not_with_prose_or_metrics() {
    let digest = |text: &str| plan(text).digest;
    let original = digest(SPEC);
    assert_eq!(digest(SPEC), original);
    let kept = [
        ("\"first\"", "\"second\""),
        ("name = \"s\"", "name = \"t\""),
        ("[[cell]]\nname = \"ar\"", "[[metric]]\nname = \"target-nll\"\n[[cell]]\nname = \"ar\""),
    ];
    for (from, to) in kept {
        assert_eq!(digest(&SPEC.replace(from, to)), original, "{to}");
    }
    let changed = [
        ("seed = 42", "seed = 43"),
        ("limit = 10", "limit = 11"),
        ("depth = 3", "depth = 4"),
        ("guidance = 3.0", "guidance = 3.5"),
        ("blocks = 4", "blocks = 5"),
        ("warmup = 2", "warmup = 3"),
        ("bf16", "f32"),
        ("name = \"sd\"", "name = \"sd2\""),
        ("timed = false", "timed = true"),
    ];
    let digests: BTreeSet<String> =
        changed.iter().map(|(from, to)| digest(&SPEC.replace(from, to))).collect();
    assert_eq!(digests.len(), changed.len());
    assert!(!digests.contains(&original));
}

#[test]
fn the_digest_of_a_known_plan_never_changes() {
    let spec = spec(
        &SPEC
            .replace("name = \"scenes-val\", limit = 10, samples = 2", "name = \"unconditional\", limit = 3"),
    );
    let plan = Plan::new(spec, &PromptSet::unconditional("unconditional", 3).unwrap()).unwrap();
    // Computed from the documented bytes by another program.
    assert_eq!(plan.digest, "a5be1411723ad488ede78b01b49d54e908470bda1d020a371a37f9500afe7aa2");
}

#[test]
fn prompts_of_another_dataset_are_refused() {
    let prompts = PromptSet::unconditional("unconditional", 3).unwrap();
    let error = Plan::new(spec(SPEC), &prompts).unwrap_err().to_string();
    assert_eq!(error, "the spec asks for dataset `scenes-val`, the prompts given are of `unconditional`");
}

#[test]
fn more_items_than_can_be_counted_are_refused() {
    let spec = spec(&SPEC.replace("limit = 10, samples = 2", "limit = 2000, samples = 1000000"));
    let prompts = prompts::open(&spec.dataset, None).unwrap();
    let error = Plan::new(spec, &prompts).unwrap_err().to_string();
    assert_eq!(
        error,
        "the plan has 4 cells x 2000 prompts x 1000000 samples, more than 16777216 items; split the spec"
    );
}

fn warnings(text: &str) -> Vec<String> {
    plan(text).warnings().iter().map(ToString::to_string).collect()
}

#[test]
fn a_plan_says_beforehand_which_values_will_be_missing() {
    assert_eq!(warnings(SPEC), [""; 0]);
    let unnamed = SPEC.replace("name = \"ar\"", "name = \"plain\"");
    assert_eq!(
        warnings(&unnamed),
        ["speedup will be null for plain, sd, tree: the spec has no cell `ar` to compare with"]
    );
    let untimed = SPEC.replace("name = \"ar\"", "name = \"ar\"\ntimed = false");
    assert_eq!(warnings(&untimed), ["speedup will be null for sd, tree: the cell `ar` is untimed"]);
    let other = SPEC.replace("name = \"ar\"", "name = \"ar\"\nsampling = { top_k = 5 }");
    assert_eq!(
        warnings(&other),
        ["speedup will be null for sd, tree: no timed cell `ar` has their model and sampling"]
    );
    let metric = format!("{SPEC}[[metric]]\nname = \"fd-scenes\"\nmin_n = 500\n");
    assert_eq!(
        warnings(&metric),
        ["fd-scenes will be null: it needs 500 images (min_n) and each cell will have 20"]
    );
    let by_default = metric.replace("min_n = 500\n", "");
    assert_eq!(warnings(&by_default), warnings(&metric));
    let enough = metric.replace("min_n = 500", "min_n = 20");
    assert_eq!(warnings(&enough), [""; 0]);
    let few = spec(&SPEC.replace("name = \"scenes-val\", limit = 10", "name = \"p.txt\", limit = 10"));
    let prompts = PromptSet::new(
        "p.txt",
        vec![specimen_datasets::Prompt::new(specimen_datasets::PromptId::number(0), "a")],
    )
    .unwrap();
    let plan = Plan::new(few, &prompts).unwrap();
    assert_eq!(plan.warnings()[0].to_string(), "the dataset has 1 prompts, fewer than the limit of 10");
}

#[test]
fn cells_that_are_one_method_under_two_names_are_told_beforehand() {
    let again =
        "[[cell]]\nname = \"sd-again\"\ndrafter = { proposer = \"eagle1\", shape = \"chain\", depth = 2 }\n";
    // An axis that crosses a cell that was written out, and an untimed cell of the same method.
    let text = format!("{SPEC}{again}[axes]\n\"cell.sd.drafter.depth\" = [1, 2, 3]\n");
    let reported = warnings(&text);
    assert_eq!(reported.len(), 1, "{reported:?}");
    assert!(
        reported[0].starts_with(
            "sd[depth=2], images, sd-again are the same method under 3 names: their images will"
        ),
        "{reported:?}"
    );
    let other = again.replace("depth = 2 }", "depth = 2 }\nsampling = { top_k = 5 }");
    assert!(warnings(&format!("{SPEC}{other}")).iter().all(|reported| !reported.contains("same method")));
}

#[test]
fn a_rule_that_asks_for_more_near_tokens_than_there_are_is_told_beforehand() {
    let with = |k: usize| {
        let rule = format!("accept = [{{ kind = \"lantern\", k = {k}, delta = 0.2 }}]");
        let cell = "drafter = { proposer = \"eagle1\", shape = \"chain\", depth = 3 }";
        format!("{SPEC}[[cell]]\nname = \"near\"\n{cell}\n{rule}\n")
    };
    assert_eq!(warnings(&with(1023)), [""; 0]);
    assert_eq!(
        warnings(&with(1024)),
        [
            "`near` asks for the 1024 nearest tokens, and `tiny` has 1023 besides the token itself: all of them count as near; \
             give a smaller `k`"
        ]
    );
}

#[test]
fn prompts_that_the_embedded_model_cannot_take_are_told_beforehand() {
    let own = spec(&SPEC.replace("name = \"scenes-val\", limit = 10", "name = \"p.txt\""));
    let texts = ["a red circle on sand", "a portrait of a cat", "a blue fox"];
    let prompts = (0..)
        .zip(texts)
        .map(|(id, text)| specimen_datasets::Prompt::new(specimen_datasets::PromptId::number(id), text));
    let prompts = PromptSet::new("p.txt", prompts.collect()).unwrap();
    let reported = Plan::new(own, &prompts).unwrap().warnings();
    let [reported] = &reported[..] else { panic!("one warning: {reported:?}") };
    let reported = reported.to_string();
    assert!(
        reported.starts_with("`tiny` cannot take 2 of 3 prompts, whose images will fail; the first is `1`: "),
        "{reported}"
    );
    assert!(reported.contains("portrait"), "{reported}");
}

#[test]
fn an_estimate_counts_and_bounds_the_disk_space() {
    let plan = plan(SPEC);
    let tiny = Footprint { n_tokens: 256, width: 64, height: 64 };
    let mut estimate = plan.estimate(|_| Some(tiny));
    // Raw pixels, a thousandth of them, then png, row and token bytes.
    assert_eq!(tiny.bytes(), 12_288 + 12 + 1_024 + 2_048 + 24 * 256);
    assert_eq!(estimate.disk_bytes, Some(80 * tiny.bytes()));
    estimate.digest = "0123456789abcdef0123".to_owned();
    estimate.memory_bytes = Some(262_000_000);
    estimate.seconds = Some(61.2);
    estimate.judged_by = Some(JudgedBy::History);
    let bounds = |streamed| {
        time_bounds(
            &plan.spec,
            plan.prompts.len(),
            vec![Bandwidth::given(1e10)],
            |_| Some(tiny),
            |_| streamed,
        )
    };
    estimate.time_bounds = bounds(Some(1_350_000_000));
    // 80 images of 256 tokens.
    assert!((estimate.time_bounds[0].seconds - 80.0 * 256.0 * 0.135).abs() < 1e-9);
    let no_footprint = time_bounds(&plan.spec, 4, Bandwidth::known(), |_| None, |_| Some(1));
    let no_prompts = time_bounds(&plan.spec, 0, Bandwidth::known(), |_| Some(tiny), |_| Some(1));
    assert_eq!((bounds(None), no_footprint, no_prompts), (vec![], vec![], vec![]));
    let mut miss = |what: &str, remedy: &str, fetch| {
        estimate.missing.push(Missing { what: what.to_owned(), remedy: remedy.to_owned(), fetch });
    };
    miss("weights of tiny", "run make train-tiny", None);
    let size = |n_files, n_bytes, n_unknown| Some(FetchSize { n_files, n_bytes, n_unknown });
    miss("weights of a", "specimen data fetch a", size(1, 1_350_000_000, 0));
    miss("weights of b", "specimen data fetch b", size(3, 250_000_000, 2));
    miss("weights of c", "specimen data fetch c", size(1, 0, 1));
    let expected = "plan    s (0123456789abcdef)\n\
                    cells   4, 3 timed\n\
                    items   80 in 6 blocks, over 10 prompts\n\
                    warm-up 6 images per worker\n\
                    disk    at most 1.7 MB for images and their rows\n\
                    memory  about 262.0 MB per worker\n\
                    time    about 61 s of work, as the earlier run in its folder took\n\
                    bound   46 min at 0.01 TB/s (as given) of work\n\
                    \x20       assumed: one forward a token, as without drafts; each reads the weights once, and the \
                    keys and values of half an image; nothing for text, pictures and metrics\n\
                    missing weights of tiny\n        run make train-tiny\n\
                    missing weights of a, 1.4 GB\n        specimen data fetch a\n\
                    missing weights of b, at least 250.0 MB; 2 of 3 sizes are unknown\n        specimen data fetch b\n\
                    missing weights of c, 1 file of unknown size\n        specimen data fetch c\n";
    assert_eq!(estimate.to_string(), expected);
    assert_eq!(estimate.to_fetch().unwrap().to_string(), "at least 1.6 GB; 3 of 5 sizes are unknown");
    estimate.missing.truncate(1);
    assert_eq!(estimate.to_fetch(), None);
    assert_eq!(plan.estimate(|_| None).disk_bytes, None);
}

#[test]
fn a_plan_survives_the_way_through_json() {
    let plan = plan(SPEC);
    assert_eq!(serde_json::from_str::<Plan>(&serde_json::to_string(&plan).unwrap()).unwrap(), plan);
}
