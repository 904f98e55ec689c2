//! The id of a picture, by which it is paired with its caption: the last run of digits of its file's name, without
//! leading zeros (`000000012280.jpg`, `prompt_12.png`); a name without digits is its own id. A whole number that a table
//! shows with a fraction of zero (`12.0`) is that number.

use std::fmt;

/// Names that a message lists before it only counts.
const N_LISTED: usize = 10;

/// The id in `name`, which may be a path or a number; of a path, folders and extension do not count.
pub fn image_id(name: &str) -> String {
    let file = name.rsplit(['/', '\\']).next().unwrap_or(name);
    let file = match file.split_once('.') {
        Some((whole, zeros)) if is_number(whole) && is_number(zeros) && zeros.bytes().all(|b| b == b'0') => {
            whole
        }
        _ => file,
    };
    let stem = match file.rsplit_once('.') {
        Some((stem, extension)) if !stem.is_empty() && !is_number(extension) => stem,
        _ => file,
    };
    let digits_end = stem.trim_end_matches(|c: char| !c.is_ascii_digit());
    let digits = &digits_end[digits_end.trim_end_matches(|c: char| c.is_ascii_digit()).len()..];
    match digits.trim_start_matches('0') {
        "" if digits.is_empty() => stem.to_owned(),
        "" => "0".to_owned(),
        number => number.to_owned(),
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Names for a message: the first few, and how many more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed(pub Vec<String>);

impl fmt::Display for Listed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(names) = self;
        if names.is_empty() {
            return f.write_str("none");
        }
        f.write_str(&names[..names.len().min(N_LISTED)].join(", "))?;
        if names.len() > N_LISTED { write!(f, " and {} more", names.len() - N_LISTED) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_digits_of_the_name_are_the_id() {
        let cases = [
            ("000000012280.jpg", "12280"),
            ("prompt_12.png", "12"),
            ("run3/000_a.jpeg", "0"),
            ("a/b/cat.png", "cat"),
            ("v2.1_0007-final.webp", "7"),
            ("12280", "12280"),
            ("12.0", "12"),
            ("012.00", "12"),
            ("12.5", "5"),
            (".5", "5"),
            ("", ""),
        ];
        for (name, id) in cases {
            assert_eq!(image_id(name), id, "{name}");
        }
    }

    #[test]
    fn long_lists_are_cut_and_counted() {
        let names = |n: usize| Listed((0..n).map(|i| i.to_string()).collect());
        assert_eq!(names(0).to_string(), "none");
        assert_eq!(names(2).to_string(), "0, 1");
        assert!(names(12).to_string().ends_with("9 and 2 more"));
    }
}
