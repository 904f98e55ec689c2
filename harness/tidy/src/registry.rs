//! Registries are complete: what has a file of its own can be chosen by name in a spec.

use crate::workspace::TextFile;

/// A folder of same-shaped things, and where each of them must be named.
#[derive(Clone, Copy, Debug)]
pub struct Registry {
    /// Folder whose files or folders are the things, with a `/` at its end.
    pub folder: &'static str,
    /// Beginnings of the paths of the files that name them.
    pub named_in: &'static [&'static str],
    /// What one of them is called in a complaint.
    pub thing: &'static str,
    /// Whether a thing is a folder instead of a file.
    pub is_folder: bool,
}

/// The registries of this workspace.
pub const REGISTRIES: [Registry; 2] = [
    Registry {
        folder: "harness/decode/src/methods/",
        named_in: &[
            "harness/decode/src/method.rs",
            "harness/decode/src/method/",
            "harness/decode/src/methods/mod.rs",
        ],
        thing: "method",
        is_folder: false,
    },
    Registry {
        folder: "harness/models/src/families/",
        named_in: &["harness/models/src/catalog.rs", "harness/models/src/catalog/"],
        thing: "model",
        is_folder: true,
    },
];

/// Complaints about things in `registry` that no registry line names as a path (`name::`).
pub fn check(registry: &Registry, files: &[TextFile]) -> Vec<String> {
    let lines: String = files
        .iter()
        .filter(|file| registry.named_in.iter().any(|prefix| file.path.starts_with(prefix)))
        .map(|file| file.text.as_str())
        .collect();
    let complaint = |name: String| {
        format!(
            "{}{name}: no line of {} names `{name}::`; register the {} or remove it",
            registry.folder, registry.named_in[0], registry.thing
        )
    };
    things(registry, files)
        .into_iter()
        .filter(|name| !lines.contains(&format!("{name}::")))
        .map(complaint)
        .collect()
}

/// The folder of the metrics that specs know, one file each, and the beginnings of the paths of what computes them.
const METRICS: (&str, [&str; 2]) =
    ("harness/catalog/metrics/", ["metrics/measure/src/metrics/", "harness/runner/src/"]);

/// Complaints about metrics that specs know and nothing computes, neither this program nor another tool.
pub fn check_metrics(files: &[TextFile]) -> Vec<String> {
    let (folder, computed_in) = METRICS;
    let computes = |file: &&TextFile| computed_in.iter().any(|prefix| file.path.starts_with(prefix));
    let sources: Vec<&TextFile> = files.iter().filter(computes).collect();
    let own = files.iter().filter(|file| !file.text.contains("\ntool "));
    let names = own.filter_map(|file| file.path.strip_prefix(folder)?.strip_suffix(".toml"));
    let uncomputed =
        names.filter(|name| !sources.iter().any(|file| file.text.contains(&format!("\"{name}\""))));
    let [measure, runner] = computed_in;
    uncomputed
        .map(|name| {
            format!(
                "{folder}{name}.toml: nothing in {measure} or {runner} computes it; compute it or remove it"
            )
        })
        .collect()
}

/// Where the types of errors are listed whose kind decides the exit code.
const FAILURES: &str = "harness/cli/src/exit.rs";

/// Complaints about error types that state a kind of failure and are not in the list of those that are asked for one.
pub fn check_failures(files: &[TextFile]) -> Vec<String> {
    let text_of = |file: &TextFile| file.text.split("mod tests {").next().unwrap_or_default().to_owned();
    let listed = files.iter().find(|file| file.path == FAILURES).map(text_of).unwrap_or_default();
    let mut complaints = Vec::new();
    for file in files.iter().filter(|file| file.is_rust() && file.path.contains("/src/")) {
        for rest in text_of(file).split("\nimpl Failure for ").skip(1) {
            let name = rest.split(' ').next().unwrap_or_default();
            if !listed.contains(&format!("kind_as::<{name}>")) {
                complaints.push(format!(
                    "{}: `{name}` is not in the list of {FAILURES}, so its failures count as bugs; add it there",
                    file.path
                ));
            }
        }
    }
    complaints
}

/// Names of the things in `registry`, sorted.
pub fn things(registry: &Registry, files: &[TextFile]) -> Vec<String> {
    let mut names: Vec<String> = files
        .iter()
        .filter(|file| {
            file.is_rust() && !registry.named_in.iter().any(|prefix| file.path.starts_with(prefix))
        })
        .filter_map(|file| file.path.strip_prefix(registry.folder))
        .filter_map(|rest| match rest.split_once('/') {
            Some((folder, _)) => Some(folder),
            None if registry.is_folder => None,
            None => rest.strip_suffix(".rs"),
        })
        .filter(|name| *name != "mod")
        .map(str::to_owned)
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> TextFile {
        TextFile { path: path.to_owned(), text: text.to_owned() }
    }

    #[test]
    fn a_method_without_a_registry_line_is_named() {
        let files = [
            file("harness/decode/src/method.rs", "use crate::methods::sd::Lossless;"),
            file("harness/decode/src/methods/mod.rs", ""),
            file("harness/decode/src/methods/sd.rs", ""),
            file("harness/decode/src/methods/new.rs", ""),
        ];
        let found = check(&REGISTRIES[0], &files);
        assert_eq!(found.len(), 1);
        assert!(found[0].contains("names `new::`"), "{found:?}");
    }

    #[test]
    fn a_metric_that_nothing_computes_is_named() {
        let files = |source: &str| {
            [file("harness/catalog/metrics/fd.toml", ""), file("harness/runner/src/score.rs", source)]
        };
        assert_eq!(check_metrics(&files("\"fd\" => fd(),")), Vec::<String>::new());
        assert_eq!(check_metrics(&files("\"fd-lenet\" => fd(),")).len(), 1);
    }

    #[test]
    fn an_error_type_that_is_not_asked_for_its_kind_is_named() {
        let of = |listed: &str| {
            check_failures(&[
                file(FAILURES, &format!("const TYPES: &[KindOf] = &[\n    {listed}\n];")),
                file("results/record/src/error.rs", "\nimpl Failure for RecordError {\n"),
            ])
        };
        assert_eq!(of("kind_as::<RecordError>,"), Vec::<String>::new());
        assert!(of("kind_as::<CliError>,")[0].starts_with("results/record/src/error.rs: `RecordError`"));
    }

    #[test]
    fn a_model_is_a_folder() {
        let files = [
            file("harness/models/src/catalog.rs", ""),
            file("harness/models/src/families/text_tokenizer.rs", ""),
            file("harness/models/src/families/tiny/mod.rs", ""),
        ];
        assert_eq!(things(&REGISTRIES[1], &files), ["tiny"]);
        assert_eq!(check(&REGISTRIES[1], &files).len(), 1);
    }
}
