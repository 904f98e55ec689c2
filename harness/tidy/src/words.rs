//! What no file may say: names that say nothing, unfinished code, paths of one machine, and calls that belong
//! to one place.

use crate::workspace::TextFile;

/// Names of files, folders and modules that promise nothing.
const EMPTY_NAMES: [&str; 7] = ["utils", "util", "helpers", "helper", "common", "manager", "misc"];

// The texts below are put together from halves so that this file does not contain them.

/// Texts that no Rust file contains, and what to do about each.
const UNFINISHED: [(&str, &str); 4] = [
    (concat!("to", "do!"), "write the code or leave the feature out"),
    (concat!("unimple", "mented!"), "write the code, or make the case impossible by type"),
    (concat!("#[ig", "nore"), "a test runs or does not exist; what needs a GPU or large weights is a spec"),
    (concat!("allow_", "partial"), "weights load strictly: every expected tensor present, none left over"),
];

/// Beginnings of paths that exist on one machine only.
const MACHINE_PATHS: [&str; 5] = [
    concat!("/ho", "me/"),
    concat!("/ro", "ot/"),
    concat!("/wo", "rk/"),
    concat!("/t", "mp/"),
    concat!("/Us", "ers/"),
];

/// Calls, the path prefixes where they may stand, and what to do elsewhere.
const PLACES: [(&str, &[&str], &str); 3] = [
    (
        concat!("manual_", "seed("),
        &["harness/train/"],
        "decoding draws from the counter-based `Uniforms`, never from the torch generator",
    ),
    (
        concat!("Instant::", "now("),
        &[
            "harness/decode/src/clock.rs",
            // Another process waits for its own device before it answers.
            "harness/external/",
            "harness/models/src/seam/clock.rs",
            "harness/train/",
            "harness/runner/",
            "harness/cli/",
        ],
        "time is read through `Clock`, which synchronises the device",
    ),
    (
        concat!("Ten", "sor::"),
        &["harness/weights/", "harness/models/", "harness/operators/", "harness/train/", "metrics/extract/"],
        "tensors appear in weights, models, extract and train only",
    ),
];

/// The folder whose code runs in a step.
const STEPS: &str = "harness/models/src/";

/// Spellings by which the host reads what a device computes, or waits for it. A comparison by `==` is not seen here; the
/// counter of operators sees it.
const HOST_READS: [&str; 29] = [
    "copy_data(",
    "copy_data_u8(",
    "data_ptr(",
    "double_value(",
    "int64_value(",
    ".item(",
    ".iter::<",
    "Vec::try_from(",
    "Vec::<f32>::try_from(",
    "Vec::<f64>::try_from(",
    "Vec::<i64>::try_from(",
    "Vec::<u8>::try_from(",
    "Vec::<bool>::try_from(",
    "f32::try_from(",
    "f64::try_from(",
    "i64::try_from(&",
    "bool::try_from(",
    "(Device::Cpu)",
    "(tch::Device::Cpu)",
    ".equal(",
    "allclose(",
    "nonzero",
    "argwhere(",
    "masked_select(",
    ".unique_",
    "bincount(",
    ".one_hot(",
    ".repeat_interleave(",
    "synchronize(",
];

/// Files and folders of [`STEPS`] that may read, and why.
const HOST_READERS: [(&str, &str); 10] = [
    ("seam/transfers.rs", "takes over in one copy what a step needs"),
    ("seam/clock.rs", "waits before it reads the time"),
    ("seam/token_tables.rs", "once for a model"),
    ("seam/feature_rows.rs", "diagnostics, in no step"),
    ("seam/likelihood.rs", "diagnostics, in no step"),
    ("heads/repeated.rs", "once for a head"),
    ("families/chameleon/heads.rs", "once for a head"),
    ("families/igpt/palette.rs", "once for a picture"),
    ("families/llamagen/t5/features.rs", "once for a caption"),
    ("picture/", "once for a picture"),
];

/// Phrases that need a second reading, and the plain words for each.
const PHRASES: [(&str, &str); 13] = [
    (concat!("is ", "told"), "is reported"),
    (concat!("are ", "told"), "are reported"),
    (concat!("held ", "against"), "compared with, checked against"),
    (concat!("hold it ", "against"), "compare it with"),
    (concat!("stand ", "beside"), "are shown next to, are in"),
    (concat!("stands ", "beside"), "is shown next to, is in"),
    (concat!("lies ", "there"), "is there, exists"),
    (concat!("lies ", "here"), "is here, exists"),
    (concat!("goes ", "on"), "continues"),
    (concat!("go on ", "with"), "continue with"),
    (concat!("by it", "self"), "automatically, alone"),
    (concat!("want of ", "room"), "disk full"),
    (concat!("what ", "became of"), "the result"),
];

/// Complaints about phrases in messages and documents: lines of sources that are no comments, and Markdown. Measurements
/// are not changed afterwards.
pub fn check_phrases(file: &TextFile) -> Vec<String> {
    let is_message =
        |line: &str| file.is_rust() && file.path.contains("/src/") && !line.trim_start().starts_with("//");
    let is_document = file.path.ends_with(".md") && !file.path.starts_with("docs/measurements/");
    at_lines(file, |line| {
        let (phrase, plain) = PHRASES.iter().find(|(phrase, _)| line.contains(phrase))?;
        (is_document || is_message(line)).then(|| format!("`{phrase}`; write: {plain}"))
    })
}

/// Complaints about names in the path of `file`.
pub fn check_name(file: &TextFile) -> Option<String> {
    let stem = |part: &str| part.trim_end_matches(".rs").to_owned();
    let empty = file.path.split('/').map(stem).find(|part| EMPTY_NAMES.contains(&part.as_str()))?;
    Some(format!("{}: `{empty}` says nothing; name the file after what it holds", file.path))
}

/// Complaints about unfinished code in `file`, and about open ends without an issue number.
pub fn check_finished(file: &TextFile) -> Vec<String> {
    if !file.is_rust() {
        return Vec::new();
    }
    let unfinished = |line: &str| {
        let found = UNFINISHED.iter().find(|(text, _)| line.contains(text));
        let open = concat!("TO", "DO");
        let unnumbered = line.split(open).skip(1).any(|rest| !begins_with_issue(rest));
        match found {
            Some((text, remedy)) => Some(format!("`{text}`; {remedy}")),
            None => unnumbered.then(|| format!("`{open}` without an issue; write `{open}(#12)` or do it")),
        }
    };
    at_lines(file, unfinished)
}

/// Complaints about paths that exist on one machine only.
pub fn check_paths(file: &TextFile) -> Vec<String> {
    let machine = |line: &str| {
        let path =
            MACHINE_PATHS.iter().find(|path| line.match_indices(*path).any(|(at, _)| begins(line, at)))?;
        Some(format!(
            "`{path}` is a path of one machine; make it relative, an argument or a temporary folder"
        ))
    };
    at_lines(file, machine)
}

/// Complaints about calls outside the places where they belong. Tests, examples and benchmarks are free.
pub fn check_places(file: &TextFile) -> Vec<String> {
    if !file.is_rust() || !file.path.contains("/src/") {
        return Vec::new();
    }
    let misplaced = |line: &str| {
        let outside = |allowed: &[&str]| !allowed.iter().any(|prefix| file.path.starts_with(prefix));
        let (call, allowed, remedy) =
            PLACES.iter().find(|(call, allowed, _)| line.contains(call) && outside(allowed))?;
        Some(format!("`{call}` belongs to [{}]; {remedy}", allowed.join(", ")))
    };
    at_lines(file, misplaced)
}

/// Complaints about reads of the device in the code of steps: each makes the host wait. Comments and unit tests, which end a
/// file, are free.
pub fn check_host_reads(file: &TextFile) -> Vec<String> {
    let Some(path) = file.path.strip_prefix(STEPS) else { return Vec::new() };
    if HOST_READERS.iter().any(|(allowed, _)| path.starts_with(allowed)) {
        return Vec::new();
    }
    let steps = file.text.split("#[cfg(test)]").next().unwrap_or_default();
    at_lines(&TextFile { path: file.path.clone(), text: steps.to_owned() }, |line| {
        let found = HOST_READS.iter().find(|read| line.contains(*read))?;
        (!line.trim_start().starts_with("//")).then(|| {
            format!(
                "`{found}` makes the host wait for the device; `seam::transfers` takes what a step needs over in one \
                 copy. What is read once for a model or a picture is named in `HOST_READERS` of harness/tidy"
            )
        })
    })
}

fn at_lines(file: &TextFile, complain: impl Fn(&str) -> Option<String>) -> Vec<String> {
    let numbered = file.text.lines().enumerate();
    numbered
        .filter_map(|(idx, line)| Some(format!("{}:{}: {}", file.path, idx + 1, complain(line)?)))
        .collect()
}

/// Whether `rest` begins with an issue in brackets, such as `(#12)`.
fn begins_with_issue(rest: &str) -> bool {
    let digits = rest.strip_prefix("(#").and_then(|rest| rest.split_once(')')).map(|(digits, _)| digits);
    digits.is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Whether a path begins at byte `at` of `line` instead of going on there.
fn begins(line: &str, at: usize) -> bool {
    let before = line[..at].chars().next_back();
    before.is_none_or(|c| !(c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '}' | ']' | '*')))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> TextFile {
        TextFile { path: path.to_owned(), text: text.to_owned() }
    }

    #[test]
    fn names_that_say_nothing_are_found_in_files_and_folders() {
        assert!(check_name(&file("a/src/utils.rs", "")).is_some());
        assert!(check_name(&file("a/src/common/mod.rs", "")).is_some());
        assert_eq!(check_name(&file("a/src/uncommon.rs", "")), None);
    }

    #[test]
    fn every_unfinished_text_is_found_with_its_line() {
        for (text, _) in UNFINISHED {
            let found = check_finished(&file("x.rs", &format!("fn f() {{\n    {text}\n}}")));
            assert!(found[0].starts_with("x.rs:2: "), "{found:?}");
        }
        assert_eq!(check_finished(&file("x.md", UNFINISHED[0].0)), Vec::<String>::new());
    }

    #[test]
    fn an_open_end_needs_an_issue_number() {
        let open = concat!("// TO", "DO");
        assert_eq!(check_finished(&file("x.rs", &format!("{open}(#12): later"))), Vec::<String>::new());
        for rest in ["", ": later", "(me)", "(#)", "(#x1)"] {
            assert_eq!(check_finished(&file("x.rs", &format!("{open}{rest}"))).len(), 1, "{rest}");
        }
    }

    #[test]
    fn a_phrase_is_found_in_messages_and_documents_and_not_in_comments() {
        for (phrase, _) in PHRASES {
            let found = |path: &str, line: &str| check_phrases(&file(path, line)).len();
            assert_eq!(found("a/src/x.rs", &format!("\"it {phrase} it\"")), 1, "{phrase}");
            assert_eq!(found("docs/x.md", phrase), 1, "{phrase}");
            assert_eq!(found("a/src/x.rs", &format!("    // {phrase}")), 0, "{phrase}");
            assert_eq!(found("docs/measurements/x.md", phrase), 0, "{phrase}");
        }
    }

    #[test]
    fn a_path_of_one_machine_is_found_and_a_relative_one_is_not() {
        for path in MACHINE_PATHS {
            assert_eq!(check_paths(&file("x.md", &format!("see `{path}x`"))).len(), 1, "{path}");
            assert_eq!(
                check_paths(&file("x.md", &format!("see `a{path}x`"))),
                Vec::<String>::new(),
                "{path}"
            );
        }
    }

    #[test]
    fn every_spelling_of_a_host_read_is_found_in_the_code_of_steps_only() {
        let path = |path: &str| format!("{STEPS}{path}");
        for read in HOST_READS {
            let line = format!("fn f() {{\n    let y = x{read});\n}}");
            let found = check_host_reads(&file(&path("seam/generation.rs"), &line));
            assert!(found.len() == 1 && found[0].contains("generation.rs:2: "), "{read}: {found:?}");
            for (allowed, _) in HOST_READERS {
                assert_eq!(check_host_reads(&file(&path(allowed), &line)), Vec::<String>::new());
            }
            assert_eq!(check_host_reads(&file("metrics/extract/src/open.rs", &line)), Vec::<String>::new());
            let of_test = format!("// x{read})\n#[cfg(test)]\nmod tests {{\n{line}\n}}");
            assert_eq!(check_host_reads(&file(&path("llama/layer.rs"), &of_test)), Vec::<String>::new());
        }
    }

    #[test]
    fn a_call_is_found_outside_its_place_only() {
        for (call, allowed, _) in PLACES {
            assert_eq!(check_places(&file("results/record/src/x.rs", call)).len(), 1, "{call}");
            assert_eq!(check_places(&file(&format!("{}/src/x.rs", allowed[0]), call)), Vec::<String>::new());
            assert_eq!(check_places(&file("results/record/tests/x.rs", call)), Vec::<String>::new());
        }
    }
}
