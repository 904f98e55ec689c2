//! Untrusted texts, made safe for a spreadsheet.

use specimen_foundation::text::one_line;

/// A field of a CSV file as one line, which no spreadsheet takes for a formula: what begins like one and is no number
/// gets an apostrophe before it.
pub fn csv_field(text: &str) -> String {
    let line = one_line(text);
    let begins_like_one = line.trim_start().starts_with(['=', '+', '-', '@']);
    match begins_like_one && line.trim().parse::<f64>().is_err() {
        true => format!("'{line}"),
        false => line,
    }
}

/// The parts that are not empty, with spaces between.
pub(crate) fn joined(parts: &[&str]) -> String {
    parts.iter().copied().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_are_defused_and_numbers_are_not() {
        for text in ["=1+1", "+cmd", "-cmd", "@sum", " =1+1", "\t=1", "-1+1"] {
            assert!(csv_field(text).starts_with('\''), "{text}");
        }
        for text in ["-0.5", "+3", "1e-3", "plain", "a=b", "", "— none"] {
            assert_eq!(csv_field(text), text);
        }
    }
}
