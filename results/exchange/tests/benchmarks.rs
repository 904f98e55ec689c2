//! Images for the scripts of GenEval and DPG-Bench, and their results on the way back. The lines of results are as the scripts
//! write them (djghosh13/geneval `evaluate_images.py`, TencentQQGYLab/ELLA `compute_dpg_bench.py`), made by hand.
#![allow(clippy::unwrap_used)] // A failed unwrap is a failed test.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use image::{ColorType, ImageEncoder, codecs::png::PngEncoder};
use serde_json::{Value, json};
use specimen_datasets::data_root::DataRoot;
use specimen_exchange::{CellScores, ExchangeError, Exported, export, exporter, read_scores};
use specimen_record::{Block, Digest, Item, ItemKey, PlanFile, Record, RunDir, Status};
use tempfile::TempDir;

const GENEVAL: &str = r#"{"tag": "single_object", "include": [{"class": "vase", "count": 1}], "prompt": "a photo of a vase"}
{"tag": "counting", "include": [{"class": "clock", "count": 2}], "exclude": [{"class": "clock", "count": 3}], "prompt": "a photo of two clocks"}
"#;

const DPG: &str = "item_id,text,keywords,proposition_id,dependency,category_broad,category_detailed,tuple,question_natural_language
cups1,\"two cups, blue\",,1,0,entity,whole,entity - whole (cups),Are there cups?
cups1,\"two cups, blue\",,2,1,attribute,color,\"attribute - color (cups, blue)\",\"Are the cups, all, blue?\"
sky,a wide sky,,1,0,global,,global - (sky),Is it a sky?
";

/// A benchmark: its dataset, prompts by id, and the file of prompts below the data folder.
struct Bench {
    tool: &'static str,
    dataset: &'static str,
    prompts: [(&'static str, &'static str); 2],
    file: (&'static str, &'static str),
}

const GENEVAL_BENCH: Bench = Bench {
    tool: "geneval",
    dataset: "geneval",
    prompts: [("0", "a photo of a vase"), ("1", "a photo of two clocks")],
    file: ("geneval/evaluation_metadata.jsonl", GENEVAL),
};

const DPG_BENCH: Bench = Bench {
    tool: "dpg",
    dataset: "dpg-bench",
    prompts: [("cups1", "two cups, blue"), ("sky", "a wide sky")],
    file: ("dpg_bench/dpg_bench.csv", DPG),
};

/// A finished run of two cells in a folder with its data.
struct Desk {
    folder: TempDir,
    run: RunDir,
    bench: Bench,
}

/// The colour of an image.
fn colour(item: &Item) -> u8 {
    let prompt = item.prompt_id.bytes().map(u32::from).sum::<u32>();
    (prompt + 7 * item.sample + 100 * u32::from(item.cell == "ar")) as u8
}

impl Desk {
    fn new(bench: Bench, n_samples: u32) -> Desk {
        Desk::with(bench, n_samples, |_| (8, 8))
    }

    /// A run whose images have this size.
    fn with(bench: Bench, n_samples: u32, size: fn(&Item) -> (u32, u32)) -> Desk {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("run");
        let file = folder.path().join("data").join(bench.file.0);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, bench.file.1).unwrap();
        let mut items = Vec::new();
        for cell in ["ar", "lant[k=3]"] {
            for (id, prompt) in bench.prompts {
                for sample in 0..n_samples {
                    items.push(Item {
                        key: ItemKey::new(cell, id, sample),
                        cell: cell.to_owned(),
                        prompt_id: id.to_owned(),
                        sample,
                        seed: serde_json::from_value(json!("00000000000000ff")).unwrap(),
                        block: 0,
                        prompt: prompt.to_owned(),
                    });
                }
            }
        }
        let blocks = vec![Block { index: 0, items: items.iter().map(|item| item.key.clone()).collect() }];
        let mut summary: Value =
            serde_json::from_str(include_str!("../../record/tests/suite/summary.json")).unwrap();
        summary["spec"]["dataset"]["name"] = json!(bench.dataset);
        let plan = PlanFile::new("run", items, blocks, &summary["spec"]).unwrap();
        let mut lines = String::new();
        for item in &plan.items {
            let (width, height) = size(item);
            let rgb = vec![colour(item); (3 * width * height) as usize];
            let mut png = Vec::new();
            PngEncoder::new(&mut png).write_image(&rgb, width, height, ColorType::Rgb8.into()).unwrap();
            let name = item.key.file_name("png");
            put(&root.join("shards/0/images").join(&name), &png);
            let record = Record {
                status: Status::Ok,
                err: None,
                image: Some(name),
                image_digest: Some(Digest::of(&rgb)),
                width,
                height,
                ..Record::failed(item, "")
            };
            lines.push_str(&format!("{}\n", serde_json::to_string(&record).unwrap()));
        }
        summary["result_digest"] = json!(Digest::of(lines.as_bytes()));
        let digest = &summary["plan_digest"];
        let manifest = json!({
            "schema": 1, "name": summary["name"], "argv": ["specimen"], "spec": summary["spec"],
            "spec_digest": digest, "plan_digest": digest, "git": { "sha": null, "dirty": null }, "weights": [],
            "datasets": [], "dtype": "bf16", "device": "cpu", "threads": 1, "environment": {},
            "hardware": { "cpu_model": "a", "cores": 1, "cpu_features": [], "memory_mb": 1, "gpus": [] },
            "software": { "specimen": "0.1.0", "libtorch": null, "rustc": null },
            "started": "2026-11-24T07:30:00Z", "sealed": null
        });
        for (path, text) in [
            ("manifest.json", manifest.to_string()),
            ("merged/summary.json", summary.to_string()),
            ("merged/records.jsonl", lines),
            ("plan.json", serde_json::to_string(&plan).unwrap()),
        ] {
            put(&root.join(path), text.as_bytes());
        }
        let run = RunDir::open(&root).unwrap();
        Desk { folder, run, bench }
    }

    fn path(&self, below: &str) -> PathBuf {
        self.folder.path().join(below)
    }

    fn export(&self) -> Result<Exported, ExchangeError> {
        let data = DataRoot::new(self.path("data"));
        export(&self.run, exporter(self.bench.tool).unwrap(), &self.path("out"), Some(&data))
    }

    /// What refuses the export, of which then nothing is left.
    fn refused(&self) -> String {
        let why = self.export().unwrap_err().to_string();
        let left: Vec<_> =
            fs::read_dir(self.folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left.len(), 2, "{left:?}");
        why
    }

    /// The folder of a cell, as results name it.
    fn folder_of(&self, cell: &str) -> String {
        let summary: Value = serde_json::from_str(&fs::read_to_string(self.run.summary()).unwrap()).unwrap();
        format!("{cell}+{}", &summary["result_digest"].as_str().unwrap()[..12])
    }

    fn read(&self, name: &str, text: &str, cell: Option<&str>) -> Result<Vec<CellScores>, ExchangeError> {
        let path = self.path(name);
        put(&path, text.as_bytes());
        read_scores(&self.run, &path, cell, Some(&DataRoot::new(self.path("data"))))
    }

    /// Checks that a file of results is refused for a reason.
    fn check_refused(&self, name: &str, text: &str, cell: Option<&str>, parts: &[&str]) {
        let why = self.read(name, text, cell).unwrap_err().to_string();
        for part in parts {
            assert!(why.contains(part), "`{part}` is not in `{why}`");
        }
    }
}

fn put(path: &Path, bytes: &[u8]) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
}

fn below(out: &Path, exported: &Exported) -> Vec<String> {
    let name = |path: &PathBuf| path.strip_prefix(out).unwrap().to_str().unwrap().to_owned();
    exported.files.iter().map(name).collect()
}

#[test]
fn geneval_gets_a_folder_a_prompt_with_the_line_of_its_number() {
    let desk = Desk::new(GENEVAL_BENCH, 4);
    let exported = desk.export().unwrap();
    let of_ar = desk.folder_of("ar");
    let files = below(&desk.path("out"), &exported);
    assert_eq!(files.len(), 2 * 2 * 5);
    assert_eq!(files[0], format!("{of_ar}/00000/metadata.jsonl"));
    assert_eq!(files[4], format!("{of_ar}/00000/samples/0003.png"));
    assert!(files.iter().any(|file| file.starts_with(&desk.folder_of("lant%5Bk%3D3%5D"))), "{files:?}");
    let line = fs::read_to_string(desk.path("out").join(&of_ar).join("00001/metadata.jsonl")).unwrap();
    assert_eq!(line.trim_end(), GENEVAL.lines().nth(1).unwrap());
    for (name, sample) in [("ar+1+0.png", "0000.png"), ("ar+1+3.png", "0003.png")] {
        let of_run = fs::read(desk.run.find_image(name).unwrap().unwrap()).unwrap();
        assert_eq!(
            fs::read(desk.path("out").join(&of_ar).join("00001/samples").join(sample)).unwrap(),
            of_run
        );
    }
    assert!(exported.notes.is_empty(), "{:?}", exported.notes);
    let two = Desk::new(GENEVAL_BENCH, 2).export().unwrap();
    assert_eq!(two.notes, ["2 images a prompt; published scores are of 4"]);
}

#[test]
fn dpg_gets_a_grid_a_prompt_that_is_called_like_the_item() {
    let desk = Desk::new(DPG_BENCH, 4);
    let exported = desk.export().unwrap();
    let of_ar = desk.folder_of("ar");
    let files = below(&desk.path("out"), &exported);
    assert_eq!(files.len(), 4);
    assert_eq!(files[0], format!("{of_ar}/cups1.png"));
    assert_eq!(exported.notes[0], format!("{of_ar}: RESOLUTION is 8"));
    let picture = image::open(desk.path("out").join(&files[0])).unwrap().into_rgb8();
    assert_eq!(picture.dimensions(), (16, 16));
    let first = picture.get_pixel(0, 0).0[0];
    let others = [(8, 0), (7, 8), (15, 15)].map(|(x, y)| picture.get_pixel(x, y).0[0]);
    assert_eq!(others, [first.wrapping_add(7), first.wrapping_add(14), first.wrapping_add(21)]);
}

#[test]
fn what_a_benchmark_does_not_take_is_refused_and_nothing_is_left() {
    let three = Desk::new(DPG_BENCH, 3).refused();
    assert!(
        three.contains("prompt `cups1` has 3 images, expected 4") && three.contains("samples = 4"),
        "{three}"
    );
    let wide = Desk::with(DPG_BENCH, 4, |_| (8, 6)).refused();
    assert!(wide.contains("8 pixels wide and 6 high, expected 8 each way"), "{wide}");
    let mixed =
        Desk::with(DPG_BENCH, 4, |item| if item.prompt_id == "sky" { (4, 4) } else { (8, 8) }).refused();
    assert!(mixed.contains("ar/sky/0 is 4 pixels"), "{mixed}");

    for bench in [GENEVAL_BENCH, DPG_BENCH] {
        let (place, text) = bench.file;
        let (id, prompt) = bench.prompts[1];
        let desk = Desk::new(bench, 4);
        let other = text.replace(prompt, "another prompt");
        put(&desk.path("data").join(place), other.as_bytes());
        let why = desk.refused();
        assert!(why.contains(&format!("prompt `{id}` of the run is `{prompt}`")), "{why}");
        assert!(why.contains("has `another prompt`"), "{why}");
        fs::remove_file(desk.path("data").join(place)).unwrap();
        let why = desk.refused();
        assert!(why.contains("is absent") && why.contains("specimen data fetch"), "{why}");
        put(&desk.path("data").join(place), text.as_bytes());

        let image = desk.run.find_image(&ItemKey::new("ar", id, 3).file_name("png")).unwrap().unwrap();
        let before = fs::read(&image).unwrap();
        fs::copy(desk.run.find_image(&ItemKey::new("ar", id, 2).file_name("png")).unwrap().unwrap(), &image)
            .unwrap();
        let why = desk.refused();
        assert!(why.contains(&format!("ar+{id}+3.png")), "{why}");
        fs::remove_file(&image).unwrap();
        let why = desk.refused();
        assert!(why.contains(&format!("ar/{id}/3 has no image")), "{why}");
        fs::write(&image, before).unwrap();

        let records = desk.run.merged_records();
        let lines = fs::read_to_string(&records).unwrap();
        let failed: Vec<String> = lines
            .lines()
            .map(|line| {
                let record: Record = serde_json::from_str(line).unwrap();
                let plan: PlanFile =
                    serde_json::from_str(&fs::read_to_string(desk.run.plan()).unwrap()).unwrap();
                let item = plan.items.iter().find(|item| item.key == record.key).unwrap();
                let record = if record.key == plan.items[0].key {
                    Record::failed(item, "out of memory")
                } else {
                    record
                };
                serde_json::to_string(&record).unwrap() + "\n"
            })
            .collect();
        fs::write(&records, failed.concat()).unwrap();
        let why = desk.refused();
        assert!(why.contains("0 has no image (out of memory)") && why.contains("--resume"), "{why}");
    }
}

#[test]
fn a_run_of_another_dataset_is_refused() {
    for (bench, dataset, why) in [
        (GENEVAL_BENCH, "parti-prompts", "PartiPrompts, with category"),
        (GENEVAL_BENCH, "dpg-bench", "DPG-Bench's long prompts"),
        (DPG_BENCH, "scenes-val", "procedural scenes"),
    ] {
        let expected = if bench.tool == "dpg" { "dpg-bench" } else { bench.tool };
        let said = Desk::new(Bench { dataset, ..bench }, 4).refused();
        assert!(said.contains(&format!("of the dataset `{dataset}` (")) && said.contains(why), "{said}");
        assert!(said.contains(&format!("expected `{expected}`")), "{said}");
    }
}

#[test]
fn nothing_is_overwritten_and_a_run_without_summary_is_refused() {
    for bench in [GENEVAL_BENCH, DPG_BENCH] {
        let desk = Desk::new(bench, 4);
        let refused = |out: &Path| {
            export(&desk.run, exporter(desk.bench.tool).unwrap(), out, None).unwrap_err().to_string()
        };
        let inside = desk.run.root().join("new");
        assert!(refused(&inside).contains("is in the folder of the run") && !inside.exists());
        put(&desk.path("taken/note"), b"mine");
        assert!(refused(&desk.path("taken")).contains("taken: is there already and not empty"));
        assert!(refused(&desk.path("taken/note")).contains("note: is there already"));
        assert_eq!(fs::read_dir(desk.path("taken")).unwrap().count(), 1);
        fs::remove_file(desk.run.summary()).unwrap();
        assert!(refused(&desk.path("new")).contains("summary.json: is not there"));
    }
}

/// The lines of GenEval's results for the cells with these folders, where `correct` says so.
fn geneval_lines(folders: &[&str], correct: impl Fn(usize, u32, u32) -> bool) -> String {
    let mut text = String::new();
    for (at, folder) in folders.iter().enumerate() {
        // `os.listdir` gives any order.
        for number in [1, 0] {
            for sample in [2, 0, 3, 1] {
                let metadata: Value = serde_json::from_str(GENEVAL.lines().nth(number).unwrap()).unwrap();
                let line = json!({
                    "filename": format!("/data/{folder}/{number:05}/samples/{sample:04}.png"),
                    "tag": metadata["tag"], "prompt": metadata["prompt"],
                    "correct": correct(at, number as u32, sample), "reason": "", "metadata": metadata.to_string(),
                    "details": "{}",
                });
                text += &format!("{line}\n").replace('/', "\\/");
            }
        }
    }
    text
}

fn values_of<'s>(scores: &'s CellScores, name: &str) -> &'s BTreeMap<ItemKey, f64> {
    &scores.values.iter().find(|values| values.name == name).unwrap().per_item
}

#[test]
fn results_of_geneval_come_back_by_cell_task_and_image() {
    let desk = Desk::new(GENEVAL_BENCH, 4);
    let folders = [desk.folder_of("lant%5Bk%3D3%5D"), desk.folder_of("ar")];
    let folders: Vec<&str> = folders.iter().map(String::as_str).collect();
    let text = geneval_lines(&folders, |cell, number, sample| cell == 1 && number == 0 && sample > 0);
    let scores = desk.read("results.jsonl", &text, None).unwrap();
    let cells: Vec<&str> = scores.iter().map(|scores| scores.cell.as_str()).collect();
    assert_eq!(cells, ["ar", "lant[k=3]"]);
    let [ar, lantern] = &scores[..] else { panic!("{scores:?}") };
    let single = values_of(ar, "geneval-single-object");
    assert_eq!(single.values().copied().collect::<Vec<_>>(), [0.0, 1.0, 1.0, 1.0]);
    assert_eq!(values_of(ar, "geneval-counting").len(), 4);
    assert_eq!(values_of(lantern, "geneval-overall").values().sum::<f64>(), 0.0);
    let overall = &ar.values[0];
    assert_eq!((overall.name.as_str(), overall.per_item.len()), ("geneval-overall", 8));
    assert_eq!(overall.groups.as_ref().unwrap()["1"], "counting");
    let why = overall.why.as_deref().unwrap();
    assert!(why.contains("two_object, colors, position, color_attr"), "{why}");
    let names: Vec<&str> = ar.values.iter().map(|values| values.name.as_str()).collect();
    let known = ["geneval-single-object", "geneval-two-object", "geneval-counting", "geneval-colors"];
    assert_eq!(&names[1..5], known);
    assert_eq!(ar.files[0].blake3, Digest::of(text.as_bytes()));
    // Images that were scored in another folder are whose the user says.
    let moved = geneval_lines(&["images"], |_, _, _| true);
    assert_eq!(desk.read("moved.jsonl", &moved, Some("ar")).unwrap()[0].cell, "ar");
}

#[test]
fn lines_that_are_no_results_of_this_run_are_refused_with_their_place() {
    let desk = Desk::new(GENEVAL_BENCH, 4);
    let of_ar = desk.folder_of("ar");
    let text = geneval_lines(&[&of_ar], |_, _, _| true);
    let check = |text: &str, parts: &[&str]| desk.check_refused("results.jsonl", text, None, parts);
    let other_run = text.replace(&of_ar, "ar+0123456789ab");
    check(&other_run, &["line 1", "of another run, whose records begin with 0123456789ab"]);
    check(&text.replace("ar+", "eagle+"), &["line 1", "expected a cell of the run (ar, lant[k=3])"]);
    check(&text.replace(&of_ar, "images"), &["line 1", "--cell NAME", "`images`"]);
    desk.check_refused("results.jsonl", &text.replace(&of_ar, "images"), Some("eagle"), &["no cell `eagle`"]);
    desk.check_refused(
        "results.jsonl",
        &text,
        Some("lant[k=3]"),
        &["of cell `ar`, and --cell says `lant[k=3]`"],
    );
    let first = text.lines().next().unwrap();
    check(&format!("{text}{first}\n"), &["line 9", "ar/1/2 has a result on line 1 already"]);
    let all_but_first: String = text.lines().skip(1).map(|line| format!("{line}\n")).collect();
    check(&all_but_first, &["1 of 8 images of cell ar have no result, the first is ar/1/2"]);
    check(
        &text.replacen("counting", "colour", 1),
        &["line 1", "`tag`: expected one of single_object", "`colour`"],
    );
    check(
        &text.replacen("\"counting\"", "\"position\"", 3).replacen("\"position\"", "\"counting\"", 1),
        &["line 2", "`tag`"],
    );
    check(
        &text.replacen("two clocks", "two vases", 1),
        &["line 1", "`prompt`: ar/1/2 is `a photo of two clocks`"],
    );
    check(&text.replacen("0002.png", "0004.png", 1), &["line 1", "no image ar/1/4"]);
    check(
        &text.replacen("\\/samples\\/", "\\/..\\/", 1),
        &["line 1", "expected FOLDER/00000/samples/0000.png"],
    );
    check(&text.replacen("true", "1", 1), &["line 1", "boolean"]);
    check("", &["no result is in the file"]);
    check("[1]\n", &["line 1", "expected an object"]);
    desk.check_refused("results.csv", &text, None, &["expected a file of results: .jsonl", ".txt"]);
    // A file cannot take a terminal over, nor fill it.
    let hostile = text.replacen("two clocks", &format!("\\u001b[2J{}", "x".repeat(10_000)), 1);
    let why = desk.read("results.jsonl", &hostile, None).unwrap_err().to_string();
    assert!(!why.contains('\u{1b}') && why.len() < 1_500, "{why}");
}

/// DPG's results for a folder, with the total, and the details.
fn dpg_text(folder: &str) -> (String, String) {
    let results = format!(
        "/data/{folder}/sky.png, 1.0, 1.0, 0.0, 1.0, 0.75\n/data/{folder}/cups1.png, 0.5, 1.0, 0.0, 0.5, 0.5\nModel: {folder}\n\
         L1 category scores:\n\tentity: 50.0\nImage path: /data/{folder}\nSave results to: x.txt\nDPG-Bench score: 62.5\n"
    );
    let corners = ["(0, 0, 8, 8)", "(8, 0, 16, 8)", "(0, 8, 8, 16)", "(8, 8, 16, 16)"];
    let mut details = String::new();
    for (corner, answers) in corners.iter().zip([
        ["yes", "yes", "no"],
        ["yes", "yes", "yes"],
        ["no", "no", "yes"],
        ["yes", "yes", "no"],
    ]) {
        let [sky, cups, blue] = answers;
        details += &format!("/data/{folder}/sky.png, {corner}, Is it a sky?, {sky}\n");
        details += &format!("/data/{folder}/cups1.png, {corner}, Are there cups?, {cups}\n");
        details += &format!("/data/{folder}/cups1.png, {corner}, Are the cups, all, blue?, {blue}\n");
    }
    (results, details)
}

#[test]
fn results_of_dpg_come_back_by_image_and_category() {
    let desk = Desk::new(DPG_BENCH, 4);
    let (results, details) = dpg_text(&desk.folder_of("ar"));
    let alone = desk.read("r.txt", &results, None).unwrap();
    assert_eq!(
        values_of(&alone[0], "dpg-overall").values().copied().collect::<Vec<_>>()[..4],
        [0.5, 1.0, 0.0, 0.5]
    );
    let why = alone[0].values[1].why.as_deref().unwrap();
    assert!(why.contains("r_detail.txt"), "{why}");
    put(&desk.path("r_detail.txt"), details.as_bytes());
    let scores = desk.read("r.txt", &results, None).unwrap();
    let shares = |name: &str| values_of(&scores[0], name).values().copied().collect::<Vec<_>>();
    assert_eq!(shares("dpg-attribute"), [0.0, 1.0, 1.0, 0.0]);
    assert_eq!(shares("dpg-entity"), [1.0, 1.0, 0.0, 1.0]);
    assert_eq!(shares("dpg-global"), [1.0, 1.0, 0.0, 1.0]);
    let relation = scores[0].values.iter().find(|values| values.name == "dpg-relation").unwrap();
    assert!(relation.why.as_deref().unwrap().contains("no question about ar is of the category relation"));
    assert_eq!(scores[0].files.len(), 2);
}

#[test]
fn lines_that_are_no_results_of_dpg_are_refused_with_their_place() {
    let desk = Desk::new(DPG_BENCH, 4);
    let folder = desk.folder_of("ar");
    let (results, details) = dpg_text(&folder);
    let check = |text: &str, parts: &[&str]| desk.check_refused("r.txt", text, None, parts);
    check(&results.replace(&folder, "ar+0123456789ab"), &["line 1", "of another run"]);
    check(
        &results.replace("1.0, 1.0, 0.0, 1.0, 0.75", "1.0, 1.0"),
        &["line 1", "found 1 scores", "--pic-num 4"],
    );
    check(&results.replace("0.5, 0.5\nModel", "0.5, 0.6\nModel"), &["line 2", "the mean of its scores"]);
    check(
        &results.replace("62.5", "60.5"),
        &["line 8", "expected 62.5, which the rows above give", "rows were lost"],
    );
    check(&results.replace("cups1.png", "plates.png"), &["line 2", "no prompt `plates`"]);
    check(&results.replace("cups1.png", "sky.png"), &["line 2", "ar/sky/0 has a result on line 1 already"]);
    let first = results.lines().next().unwrap();
    check(first, &["4 of 8 images of cell ar have no result, the first is ar/cups1/0"]);
    check(&results.replace("sky.png", "sky.jpg"), &["line 1", "expected the path of a picture ITEM.png"]);
    check("", &["no result is in the file"]);
    put(&desk.path("r_detail.txt"), details.replacen("Is it a sky?", "Is it night?", 1).as_bytes());
    check(&results, &["r_detail.txt: line 1", "`Is it night?`"]);
    let twice = format!("{details}{}", details.lines().next().unwrap());
    put(&desk.path("r_detail.txt"), twice.as_bytes());
    check(&results, &["r_detail.txt: line 13", "new here"]);
    put(&desk.path("r_detail.txt"), b"cups\n");
    check(&results, &["r_detail.txt: line 1", "expected `ITEM.png, (left"]);
}
