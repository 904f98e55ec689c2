//! COCO val2017: 5,000 images, 25,014 captions, and which caption each policy takes.

use crate::presence;
use specimen_datasets::Digest;
use specimen_datasets::catalog::{OpenOptions, open};
use specimen_datasets::coco::CocoCaptions;
use specimen_datasets::{CaptionPolicy, PromptSet};
use std::collections::BTreeMap;

const CAPTIONS: &str = "coco/captions_val2017.json.gz";

/// Opens `coco2017-val` with its digest checked, or reports the skip.
fn opened(test: &str, caption: CaptionPolicy) -> Option<PromptSet> {
    let root = presence::root_with(test, &[CAPTIONS])?;
    let options = OpenOptions { root: Some(root), caption: Some(caption), ..OpenOptions::default() };
    Some(open("coco2017-val", &options).unwrap())
}

/// The longest captions as LANTERN stores them, by the digest of that file.
#[test]
fn the_longest_captions_equal_lanterns_file_byte_for_byte() {
    let Some(set) = opened("the_longest_captions_equal_lanterns_file_byte_for_byte", CaptionPolicy::Longest)
    else {
        return;
    };
    assert_eq!(set.n_prompts(), 5_000);
    let texts: Vec<String> = set.prompts().iter().map(|prompt| python_json_string(&prompt.text)).collect();
    let file = format!("[\n    {}\n]", texts.join(",\n    "));
    assert_eq!(
        Digest::sha256_of(file.as_bytes()).as_str(),
        "99ec01cb63b51d8af4b02a378fe03170369f88fdb67f18e8eb1535ce75d33639"
    );
}

/// `text` as Python's `json.dumps` writes it: ASCII only, other code points as `\\uXXXX`.
fn python_json_string(text: &str) -> String {
    let json = serde_json::to_string(text).unwrap();
    let escape = |c: char| c.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")).collect();
    json.chars().map(|c| if c.is_ascii() { c.to_string() } else { escape(c) }).collect()
}

#[test]
fn all_captions_are_kept_with_their_blanks_and_line_breaks() {
    let Some(set) = opened("all_captions_are_kept_with_their_blanks_and_line_breaks", CaptionPolicy::All)
    else {
        return;
    };
    let count = |holds: fn(&str) -> bool| set.prompts().iter().filter(|p| holds(&p.text)).count();
    assert_eq!(set.n_prompts(), 25_014);
    assert_eq!(count(|text| text.trim() != text), 3_541);
    assert_eq!(count(|text| text.contains('\n')), 83);
    assert_eq!(count(|text| text.contains('"')), 55);
    assert_eq!(count(|text| !text.is_ascii()), 0);
}

/// The table was derived with Python from the same file: annotation ids of three policies an image.
#[test]
fn each_policy_takes_the_caption_of_the_published_selection_on_every_image() {
    let test = "each_policy_takes_the_caption_of_the_published_selection_on_every_image";
    let table = "coco/selections_val2017.tsv";
    let Some(root) = presence::root_with(test, &[CAPTIONS, table]) else { return };
    let file = CocoCaptions::read(&root.path().join(CAPTIONS)).unwrap();
    let selected = |policy| -> BTreeMap<u64, u64> {
        file.select(policy).unwrap().iter().map(|a| (a.image_id, a.id)).collect()
    };
    let [first, longest, sjd] =
        [CaptionPolicy::First, CaptionPolicy::Longest, CaptionPolicy::Sjd].map(selected);
    let order: Vec<u64> = file.select(CaptionPolicy::Longest).unwrap().iter().map(|a| a.image_id).collect();

    let text = std::fs::read_to_string(root.path().join(table)).unwrap();
    let rows: Vec<Vec<u64>> = text
        .lines()
        .skip(1)
        .map(|line| line.split('\t').map(|cell| cell.parse().unwrap()).collect())
        .collect();
    assert_eq!(rows.len(), 5_000);
    for row in &rows {
        let image_id = row[0];
        assert_eq!(order[row[1] as usize], image_id, "order of images at {}", row[1]);
        assert_eq!([first[&image_id], longest[&image_id], sjd[&image_id]], row[3..6], "image {image_id}");
    }
    let n_different =
        |a: &BTreeMap<u64, u64>, b: &BTreeMap<u64, u64>| a.iter().filter(|(k, v)| b[k] != **v).count();
    assert_eq!(n_different(&first, &longest), 3_981);
    assert_eq!(n_different(&sjd, &longest), 4_035);
    assert_eq!(n_different(&sjd, &first), 4_994);
    let stuck = *sjd.range(296_634..).next_back().unwrap().0;
    let captions = |image_id| file.annotations().iter().filter(move |a| a.image_id == image_id);
    assert_eq!(captions(stuck).nth(3).unwrap().id, sjd[&stuck]);
}

/// Files with one caption an image hold what the policy of their name takes, in the same order.
#[test]
fn one_caption_files_agree_with_the_policy_that_made_them() {
    for (name, policy) in [
        ("coco/captions_val2017_longest1.json", CaptionPolicy::Longest),
        ("coco/captions_val2017_first1.json", CaptionPolicy::First),
    ] {
        let test = "one_caption_files_agree_with_the_policy_that_made_them";
        let Some(root) = presence::root_with(test, &[CAPTIONS, name]) else { return };
        let options = OpenOptions { root: Some(root), caption: Some(policy), ..OpenOptions::default() };
        let derived = open(name, &options).unwrap();
        let whole = open("coco2017-val", &options).unwrap();
        assert_eq!(derived.prompts(), whole.prompts(), "{name}");
        assert_eq!(derived.digest(), whole.digest(), "{name}");
    }
}

#[test]
fn the_subset_files_lie_inside_each_other() {
    let test = "the_subset_files_lie_inside_each_other";
    let names = ["coco/captions_val2017_longest1_64.json", "coco/captions_val2017_longest1_512.json"];
    let Some(root) = presence::root_with(test, &names) else { return };
    let options = OpenOptions { root: Some(root), ..OpenOptions::default() };
    let [small, large] = names.map(|name| open(name, &options).unwrap());
    assert_eq!((small.n_prompts(), large.n_prompts()), (64, 512));
    assert!(small.prompts().iter().all(|p| large.get(&p.id) == Some(p)));
}
