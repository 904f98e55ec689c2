//! Numbers with their nouns, as messages say them.

/// `1 picture`, `2 pictures`: a count with its noun, which takes an `s` for more than one.
pub fn counted(n: impl std::fmt::Display, noun: &str) -> String {
    let n = n.to_string();
    if n == "1" { format!("1 {noun}") } else { format!("{n} {noun}s") }
}

#[cfg(test)]
mod tests {
    use super::counted;

    #[test]
    fn one_thing_is_no_plural() {
        assert_eq!([0, 1, 2].map(|n| counted(n, "picture")), ["0 pictures", "1 picture", "2 pictures"]);
    }
}
