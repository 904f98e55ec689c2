//! Pictures and captions are paired by id, in every format of captions, or refused with what is missing.

use std::{collections::BTreeMap, path::Path};

use specimen_measure::Measurement;
use specimen_measure::captions::{Captions, Choice};
use specimen_measure::error::MeasureError;
use specimen_measure::meter::{Meter, Settings};
use specimen_measure::metrics::PictureScore;
use specimen_measure::metrics::clip_score::ClipScoreRule;
use specimen_measure::metrics::clip_score::{self as of_files, clip_score_of_rows};
use specimen_measure::network::NetworkRule;
use specimen_measure::network::{Networks, Opened, TextNetwork};
use specimen_measure::protocol::Protocol;

use crate::stand_in::{StandIns, pictures};

const NAMES: [&str; 3] = ["000000000007.ppm", "sub/prompt_12.ppm", "x_3.ppm"];

/// The score and every picture's.
fn clip_score(
    meter: &mut Meter<'_>,
    images: &Path,
    captions: &Captions,
) -> Result<(Measurement, Vec<PictureScore>), MeasureError> {
    let mut outcome = of_files::clip_score(meter, images, captions)?;
    Ok((outcome.values.remove(0), outcome.pictures))
}

/// The same three captions in every format.
const FORMATS: [(&str, &str); 7] = [
    (
        "coco.json",
        r#"{"images": [], "annotations": [{"image_id": 12, "id": 5, "caption": "a dog"},
            {"image_id": 3, "id": 6, "caption": "two cats, asleep"}, {"image_id": 7, "id": 8, "caption": "\"red\""}]}"#,
    ),
    ("by_id.json", r#"{"prompt_12": "a dog", "3": "two cats, asleep", "000000000007": "\"red\""}"#),
    (
        "list.json",
        r#"[{"id": "12", "prompt": "a dog"}, {"id": 3, "prompt": "two cats, asleep"}, {"id": 7, "prompt": "\"red\""}]"#,
    ),
    (
        "lines.jsonl",
        "{\"file\": \"prompt_12.png\", \"text\": \"a dog\"}\n{\"id\": 3, \"caption\": \"two cats, asleep\"}\n\n\
         {\"image_id\": 7, \"caption\": \"\\\"red\\\"\"}\n",
    ),
    ("table.csv", "caption,image_id\na dog,12\n\"two cats, asleep\",3\n\"\"\"red\"\"\",7\n"),
    ("table.tsv", "id\tprompt\n12\ta dog\n3\ttwo cats, asleep\n7\t\"red\"\n"),
    ("bom.tsv", "\u{feff}id\tprompt\r\n12\ta dog\r\n3\ttwo cats, asleep\r\n7\t\"red\"\r\n"),
];

fn captions(root: &Path, name: &str, text: &str, choice: Choice) -> Result<Captions, String> {
    let path = root.join(name);
    std::fs::write(&path, text).unwrap();
    Captions::read(&path, choice).map_err(|error| error.to_string())
}

#[test]
fn every_format_gives_the_same_pairs_and_the_same_score() {
    let root = tempfile::tempdir().unwrap();
    let images = pictures(&root.path().join("images"), &NAMES);
    let networks = StandIns::default();
    let mut meter = Meter::new(Protocol::named("clipscore").unwrap(), &networks);
    let mut scores = Vec::new();
    for (name, text) in FORMATS {
        let captions = captions(root.path(), name, text, Choice::Only).unwrap();
        scores.push((name, clip_score(&mut meter, &images, &captions).unwrap()));
    }
    let (_, (measured, pictures)) = scores[0].clone();
    let pairs: Vec<(&str, &str, &str)> =
        pictures.iter().map(|p| (p.id.as_str(), p.file.as_str(), p.caption.as_str())).collect();
    assert_eq!(
        pairs,
        [("7", NAMES[0], "\"red\""), ("12", NAMES[1], "a dog"), ("3", NAMES[2], "two cats, asleep")]
    );
    let mean = pictures.iter().map(|p| 2.5 * p.score.max(0.0)).sum::<f64>() / 3.0;
    assert!((measured.value - mean).abs() < 1e-12);
    assert_eq!(measured.n, [Some(3)]);
    for scale in ["raw_cosine", "clipscore", "torchmetrics", "scaled_by_logit_scale"] {
        assert!(measured.details[scale].is_f64(), "{scale}");
    }
    let scaled = 1.5_f64.exp() * measured.details["raw_cosine"].as_f64().unwrap();
    assert!((measured.details["scaled_by_logit_scale"].as_f64().unwrap() - scaled).abs() < 1e-12);
    assert_eq!(measured.details["caption"], "only");
    assert_eq!(measured.details["text_extractor"], "letters-f32@0123456789ab");
    for (name, score) in &scores {
        assert_eq!(score, &scores[0].1, "{name}");
    }
}

#[test]
fn a_mismatch_lists_what_is_missing_on_each_side() {
    let root = tempfile::tempdir().unwrap();
    let images = pictures(&root.path().join("images"), &NAMES);
    let text = "id\tprompt\n12\ta dog\n44\ta cat\n45\ta cow\n";
    let captions = captions(root.path(), "c.tsv", text, Choice::Only).unwrap();
    let networks = StandIns::default();
    let mut meter = Meter::new(Protocol::named("clipscore").unwrap(), &networks);
    let message = clip_score(&mut meter, &images, &captions).unwrap_err().to_string();
    assert!(message.contains("2 pictures without a caption (7, 3)"), "{message}");
    assert!(message.contains("2 captions without a picture (44, 45)"), "{message}");
    assert!(message.contains("images and ") && message.contains("c.tsv: pictures"), "{message}");
    assert_eq!(networks.passes(), 0);
}

#[test]
fn what_has_no_counterpart_is_left_out_and_counted_where_one_goes_on() {
    let root = tempfile::tempdir().unwrap();
    let images = pictures(&root.path().join("images"), &NAMES);
    let whole =
        captions(root.path(), "c.tsv", "id\tprompt\n12\ta dog\n7\ta cat\n3\ta cow\n", Choice::Only).unwrap();
    let part =
        captions(root.path(), "d.tsv", "id\tprompt\n44\ta bee\n12\ta dog\n3\ta cow\n", Choice::Only).unwrap();
    let networks = StandIns::default();
    let settings = Settings { cache: None, keep_going: true, interval: false, batch: 4 };
    let mut meter = Meter::with(Protocol::named("clipscore").unwrap(), &networks, settings);
    let (_, all) = clip_score(&mut meter, &images, &whole).unwrap();
    assert!(meter.left_out().is_empty());
    let (measured, some) = clip_score(&mut meter, &images, &part).unwrap();
    // The pictures that are left have the scores they had.
    let expected: Vec<_> = all.into_iter().filter(|picture| picture.id != "7").collect();
    assert_eq!((some, measured.n), (expected, vec![Some(2)]));
    let left: Vec<(String, String)> = meter.left_out().into_iter().map(|one| (one.file, one.why)).collect();
    assert_eq!(left.len(), 2);
    assert!(left[0].0 == NAMES[0] && left[0].1.contains("no caption of id 7"), "{left:?}");
    assert!(left[1].0 == "44" && left[1].1.contains("has no picture"), "{left:?}");
    // Nothing left is an error all the same.
    let none = captions(root.path(), "e.tsv", "id\tprompt\n44\ta bee\n", Choice::Only).unwrap();
    assert!(
        clip_score(&mut meter, &images, &none)
            .unwrap_err()
            .to_string()
            .contains("3 pictures without a caption")
    );
}

#[test]
fn captions_that_the_network_does_not_see_as_they_were_meant_are_counted() {
    let root = tempfile::tempdir().unwrap();
    let images = pictures(&root.path().join("images"), &NAMES);
    let text = format!("id\tprompt\n12\t{}\n7\tdonâ€™t\n3\ta cow\n", "very ".repeat(20));
    let captions = captions(root.path(), "c.tsv", &text, Choice::Only).unwrap();
    let networks = StandIns::default();
    let mut meter = Meter::new(Protocol::named("clipscore").unwrap(), &networks);
    let (measured, _) = clip_score(&mut meter, &images, &captions).unwrap();
    assert_eq!(measured.details["captions_cut"], 1);
    assert_eq!(measured.details["captions_wrongly_decoded"], 1);
    assert!(measured.notes.iter().any(|note| note.contains("1 of 3 captions") && note.contains("`donâ€™t`")));
}

#[test]
fn two_pictures_of_one_id_are_refused_by_name() {
    let root = tempfile::tempdir().unwrap();
    let images = pictures(&root.path().join("images"), &["a/1.ppm", "b/01.ppm"]);
    let captions = captions(root.path(), "c.tsv", "id\tprompt\n1\ta dog\n", Choice::Only).unwrap();
    let networks = StandIns::default();
    let mut meter = Meter::new(Protocol::named("clipscore").unwrap(), &networks);
    let message = clip_score(&mut meter, &images, &captions).unwrap_err().to_string();
    assert!(message.contains("images: a/1.ppm and b/01.ppm both have the id `1`"), "{message}");
}

/// Networks of which that for texts is absent.
struct NoTexts(StandIns);

impl Networks for NoTexts {
    fn images(&self, rule: &NetworkRule, layers: &[&str]) -> Result<Opened, MeasureError> {
        self.0.images(rule, layers)
    }

    fn texts(&self, rule: &NetworkRule, _: &ClipScoreRule) -> Result<Box<dyn TextNetwork>, MeasureError> {
        Err(specimen_measure::error::no_networks(rule.name.clone()))
    }
}

#[test]
fn what_is_absent_for_texts_is_told_before_the_pictures_are_gone_through() {
    let root = tempfile::tempdir().unwrap();
    let images = pictures(&root.path().join("images"), &["1.ppm"]);
    let captions = captions(root.path(), "c.tsv", "id\tprompt\n1\ta dog\n", Choice::Only).unwrap();
    let networks = NoTexts(StandIns::default());
    let mut meter = Meter::new(Protocol::named("clipscore").unwrap(), &networks);
    assert!(clip_score(&mut meter, &images, &captions).is_err());
    assert_eq!((networks.0.passes(), meter.n_forward()), (0, 0));
}

#[test]
fn features_with_captions_are_told_what_they_are() {
    let root = tempfile::tempdir().unwrap();
    let captions = captions(root.path(), "c.tsv", "id\tprompt\n1\ta dog\n", Choice::Only).unwrap();
    let networks = StandIns::default();
    let mut meter = Meter::new(Protocol::named("clipscore").unwrap(), &networks);
    let message = clip_score(&mut meter, &crate::golden::path("a.npy"), &captions).unwrap_err().to_string();
    assert!(message.contains("a.npy: holds features, clip-score with captions needs pictures"), "{message}");
}

#[test]
fn an_id_with_a_fraction_of_zero_is_the_whole_number() {
    let root = tempfile::tempdir().unwrap();
    for (name, text) in
        [("a.jsonl", "{\"id\": 12.0, \"caption\": \"a dog\"}\n"), ("a.csv", "id,caption\n12.0,a dog\n")]
    {
        assert_eq!(captions(root.path(), name, text, Choice::Only).unwrap().by_id()["12"], "a dog", "{name}");
    }
    let message = captions(root.path(), "b.jsonl", "{\"id\": 12.5, \"caption\": \"a\"}", Choice::Only);
    assert!(message.unwrap_err().contains("line 1: expected an id under"));
}

/// The captions that LANTERN's and SJD's rules take, worked out by another program from the official file.
#[test]
fn the_official_captions_are_chosen_as_the_papers_choose_them() {
    let test = "the_official_captions_are_chosen_as_the_papers_choose_them";
    let Some(official) = specimen_testdata::find(test, "coco/captions_val2017.json.gz") else {
        return;
    };
    let Some(table) = specimen_testdata::find(test, "coco/selections_val2017.tsv") else { return };
    let mut text = String::new();
    let file = std::fs::File::open(&official).unwrap();
    std::io::Read::read_to_string(&mut flate2::read::GzDecoder::new(file), &mut text).unwrap();
    let coco: serde_json::Value = serde_json::from_str(&text).unwrap();
    let annotations = coco["annotations"].as_array().unwrap().iter();
    let caption: BTreeMap<u64, &str> =
        annotations.map(|one| (one["id"].as_u64().unwrap(), one["caption"].as_str().unwrap())).collect();
    let [first, longest, sjd] = [Choice::First, Choice::Longest, Choice::Sjd]
        .map(|choice| Captions::read(&official, choice).unwrap());
    let mut n = 0;
    for row in std::fs::read_to_string(table).unwrap().lines().skip(1) {
        let fields: Vec<&str> = row.split('\t').collect();
        for (captions, annotation) in [(&first, fields[3]), (&longest, fields[4]), (&sjd, fields[5])] {
            assert_eq!(captions.by_id()[fields[0]], caption[&annotation.parse().unwrap()], "{row}");
        }
        n += 1;
    }
    assert_eq!((n, sjd.by_id().len()), (5000, 5000));
}

#[test]
fn of_several_captions_one_is_chosen_or_they_are_refused() {
    let root = tempfile::tempdir().unwrap();
    let text = "id\tcaption\n1\tshort\n1\ta longer one\n1\ta longer two\n";
    let read = |choice| captions(root.path(), "c.tsv", text, choice);
    assert!(read(Choice::Only).unwrap_err().contains("row 2: expected one caption"));
    assert_eq!(read(Choice::First).unwrap().by_id()["1"], "short");
    assert_eq!(read(Choice::Longest).unwrap().by_id()["1"], "a longer one");
    // The longest of 7 is its second, so the second of 9 and of 10 is taken, in this order.
    let text = "id\tcaption\n10\tten\n10\tanother\n7\tone\n7\ta long one\n9\tthe first\n9\tsecond\n";
    let sjd = captions(root.path(), "d.tsv", text, Choice::Sjd).unwrap();
    assert_eq!(sjd.by_id().values().collect::<Vec<_>>(), ["another", "a long one", "second"]);
    let text = "id\tcaption\n1\tone\n1\ta long one\n2\talone\n";
    let message = captions(root.path(), "e.tsv", text, Choice::Sjd).unwrap_err();
    assert!(message.contains("id `2`: expected more than 1 captions"), "{message}");
}

#[test]
fn records_that_are_none_are_named_with_their_place() {
    let root = tempfile::tempdir().unwrap();
    for (name, text, part) in [
        ("a.json", "{\"annotations\": [{\"image_id\": 1}]}", "annotation 0: expected a caption under"),
        ("a.json", "{\"annotations\": 3}", "annotations: expected a list, found a number"),
        ("a.json", "{\"1\": [\"a\"]}", "key `1`: expected a caption, found a list"),
        ("a.json", "[1]", "item 0: expected an object"),
        ("a.json", "{", "file: expected JSON"),
        ("a.jsonl", "{\"id\": 1, \"caption\": \"a\"}\n{\"caption\": \"b\"}", "line 2: expected an id under"),
        ("a.jsonl", "nonsense", "line 1: expected a JSON object"),
        ("a.csv", "id,words\n1,a\n", "header: expected a column caption"),
        ("a.csv", "id,caption\n1\n", "table: expected rows like the header"),
        ("a.tsv", "id\tcaption\n1\t \n", "row 1: expected a caption, found blanks"),
        ("a.tsv", "id\tcaption\n", "file: expected captions, found none"),
        ("a.txt", "a dog", "file name: expected .json"),
        ("a.npz", "\u{fffd}", "file name: expected .json"),
        ("a.json", "7", "expected an object or a list"),
        ("a.json", "{\"12\": \"a\", \"12\": \"b\"}", "key `12`: expected one caption for each id"),
        ("a.json", "{\"12\": \"a\", \"0012\": \"b\"}", "key `0012`: expected one caption for each id"),
    ] {
        let message = captions(root.path(), name, text, Choice::Only).unwrap_err();
        assert!(message.contains(part) && message.contains(name), "{message}");
    }
}

#[test]
fn a_blank_caption_stops_nothing_where_what_is_broken_is_left_out() {
    let root = tempfile::tempdir().unwrap();
    let images = pictures(&root.path().join("images"), &NAMES);
    let text = "id\tcaption\n12\ta dog\n7\t \n3\ta cow\n";
    let captions = captions(root.path(), "c.tsv", text, Choice::Only).unwrap();
    let networks = StandIns::default();
    let mut meter = Meter::new(Protocol::named("clipscore").unwrap(), &networks);
    let message = clip_score(&mut meter, &images, &captions).unwrap_err().to_string();
    assert!(message.contains("c.tsv: row 2: expected a caption, found blanks"), "{message}");
    let settings = Settings { cache: None, keep_going: true, interval: false, batch: 4 };
    let mut meter = Meter::with(Protocol::named("clipscore").unwrap(), &networks, settings);
    let (measured, _) = clip_score(&mut meter, &images, &captions).unwrap();
    assert_eq!(measured.n[0], Some(2));
}

#[test]
fn embeddings_that_were_made_before_are_paired_row_by_row() {
    let golden = crate::golden::path;
    let networks = StandIns::default();
    let settings = Settings { cache: None, keep_going: false, interval: true, batch: 4 };
    let mut meter = Meter::with(Protocol::named("clipscore").unwrap(), &networks, settings);
    let same = clip_score_of_rows(&mut meter, &golden("a.npy"), &golden("a.npy")).unwrap();
    assert!((same.value - 2.5).abs() < 1e-12 && same.ci95.is_some());
    let message = clip_score_of_rows(&mut meter, &golden("a.npy"), &golden("b.npy")).unwrap_err().to_string();
    assert!(message.contains("a.npy and ") && message.contains("b.npy: "), "{message}");
    assert!(message.contains("expected 300, found 256"), "{message}");
}
