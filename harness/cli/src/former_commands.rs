//! Commands of earlier releases: for one release each answers with what to use in its place.

/// What was typed, the subcommand first, and what to use.
const FORMER: &[(&str, &str)] =
    &[("export wandb", IN_PYTHON), ("export mlflow", IN_PYTHON), ("export hf-eval", IN_PYTHON)];

const IN_PYTHON: &str = "`specimen export` no longer writes for Weights & Biases, MLflow and the Hugging Face hub; use the few lines of Python for \
                         each in docs/python.md, \"Take a run to another tool\"";

/// What to use in place of the former command in the arguments of the program, which could not be parsed.
pub(crate) fn replacement(arguments: &[&str]) -> Option<&'static str> {
    let command = arguments.iter().position(|argument| !argument.starts_with('-'))?;
    let is_typed = |former: &str| {
        let mut words = former.split(' ');
        words.next() == Some(arguments[command]) && words.all(|word| arguments[command..].contains(&word))
    };
    FORMER.iter().find(|(former, _)| is_typed(former)).map(|(_, way)| *way)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_former_command_is_known_by_its_words_and_no_other_is_taken_for_it() {
        let of = |typed: &str| replacement(&typed.split(' ').collect::<Vec<_>>());
        assert_eq!(of("-q export RUN --for mlflow --out a"), Some(IN_PYTHON));
        for other in ["export RUN --for comet", "report wandb export", "-q", ""] {
            assert_eq!(of(other), None, "{other}");
        }
    }
}
