//! Texts as words of a shell.

/// A word that means just these characters, in quotes.
pub(crate) fn shell_quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// The same, in quotes only where the shell would read something else: for commands that a person reads.
pub(crate) fn shell_word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=,:@+%".contains(c);
    match !text.is_empty() && text.chars().all(is_plain) {
        true => text.to_owned(),
        false => shell_quoted(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_shell_reads_otherwise_is_in_quotes() {
        for (text, word) in [
            ("a/b-1.toml", "a/b-1.toml"),
            ("x y", "'x y'"),
            ("", "''"),
            ("it's", r"'it'\''s'"),
            ("cell=[1]", "'cell=[1]'"),
        ] {
            assert_eq!(shell_word(text), word);
        }
    }
}
