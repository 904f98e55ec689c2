//! Texts from elsewhere, made safe for one line of a terminal, a table or a message.

/// A text as one line: every character that breaks a line or steers a terminal becomes a space.
#[must_use]
pub fn one_line(text: &str) -> String {
    text.chars().map(|c| if steers(c) { ' ' } else { c }).collect()
}

/// A field of a CSV file as one line, which no spreadsheet takes for a formula: what begins like one and is no number
/// gets an apostrophe before it.
#[must_use]
pub fn csv_field(text: &str) -> String {
    let line = one_line(text);
    let begins_like_one = line.trim_start().starts_with(['=', '+', '-', '@']);
    match begins_like_one && line.trim().parse::<f64>().is_err() {
        true => format!("'{line}"),
        false => line,
    }
}

/// The same with such characters as escapes: a name stays one that can be told from others.
#[must_use]
pub fn escaped(text: &str) -> String {
    text.chars().map(|c| if steers(c) { c.escape_unicode().to_string() } else { c.to_string() }).collect()
}

fn steers(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The lines of a message with `separator` between them, trimmed, without empty ones.
#[must_use]
pub fn joined_lines(text: &str, separator: &str) -> String {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join(separator)
}

/// `1 picture`, `2 pictures`: a count with its noun, which takes an `s` for more than one.
#[must_use]
pub fn counted(n: impl std::fmt::Display, noun: &str) -> String {
    let n = n.to_string();
    if n == "1" { format!("1 {noun}") } else { format!("{n} {noun}s") }
}

/// The first `most` of these names in a sentence: `a, b and 3 more`.
#[must_use]
pub fn first_named(names: &[String], most: usize) -> String {
    let (shown, left_out) = names.split_at(names.len().min(most));
    match left_out.len() {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_names_are_cut_short_and_counted() {
        let names: Vec<String> = (1..=4).map(|n| format!("run-{n}")).collect();
        assert_eq!(first_named(&names, 4), "run-1, run-2, run-3, run-4");
        assert_eq!(first_named(&names, 2), "run-1, run-2 and 2 more");
        assert_eq!(first_named(&[], 2), "");
    }

    #[test]
    fn nothing_steers_a_terminal_or_turns_a_line_around() {
        let text = "a\u{1b}[2Jb\r\nc\u{9b}d\u{202e}e\u{2028}f";
        assert_eq!(one_line(text), "a [2Jb  c d e f");
        assert_eq!(escaped(text), "a\\u{1b}[2Jb\\u{d}\\u{a}c\\u{9b}d\\u{202e}e\\u{2028}f");
    }

    #[test]
    fn formulas_are_defused_and_numbers_are_not() {
        for text in ["=1+1", "+cmd", "-cmd", "@sum", " =1+1", "\t=1", "-1+1"] {
            assert!(csv_field(text).starts_with('\''), "{text}");
        }
        for text in ["-0.5", "+3", "1e-3", "plain", "a=b", "", "— none"] {
            assert_eq!(csv_field(text), text);
        }
    }

    #[test]
    fn one_thing_is_no_plural() {
        assert_eq!([0, 1, 2].map(|n| counted(n, "picture")), ["0 pictures", "1 picture", "2 pictures"]);
    }

    #[test]
    fn lines_are_joined_without_their_margins() {
        assert_eq!(
            joined_lines("not TOML:\n  | a =\n\n  expected a value\n", " "),
            "not TOML: | a = expected a value"
        );
        assert_eq!(joined_lines("\n \n", "; "), "");
    }
}
