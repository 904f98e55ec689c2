//! Commands of earlier releases: for one release each answers with what to use in its place.

/// The name of a subcommand, and what to use.
const FORMER: [(&str, &str); 4] = [
    (
        "bench-device",
        "`specimen bench-device` is gone; `specimen costs --made --model A,B --out DIR` times several models and writes the page of all",
    ),
    (
        "check",
        "`specimen check` is gone; `specimen verify --deep RUN` checks a run that you were given, with `--replay N` images made again \
         too",
    ),
    (
        "export",
        "`specimen export` is gone; docs/python.md has the few lines of Python that take a run to Weights & Biases, MLflow or the \
         Hugging Face hub, and docs/benchmarks.md those that write the folders of GenEval and DPG-Bench",
    ),
    (
        "replay",
        "`specimen replay` is gone; `specimen verify RUN --replay N` makes images again, N chosen at random",
    ),
];

/// What to use in place of the former command in the arguments of the program, which could not be parsed.
pub(crate) fn replacement(arguments: &[&str]) -> Option<&'static str> {
    let command = arguments.iter().find(|argument| !argument.starts_with('-') && **argument != "help")?;
    FORMER.iter().find(|(former, _)| former == command).map(|(_, way)| *way)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_former_command_is_known_by_its_name_and_no_other_is_taken_for_it() {
        let of = |typed: &str| replacement(&typed.split(' ').collect::<Vec<_>>());
        for typed in ["-q export RUN --for mlflow --out a", "help export", "export --help"] {
            assert!(of(typed).is_some_and(|way| way.contains("docs/python.md")), "{typed}");
        }
        for other in ["import export", "-q", ""] {
            assert_eq!(of(other), None, "{other}");
        }
    }
}
