//! Characters as Python's `str` and `re` sort them.

use unicode_general_category::{GeneralCategory as Category, get_general_category};

/// Whether `c` is white space for `str.split`, `str.strip` and `\s`: Unicode's white space and the four separators of
/// ASCII.
pub fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c)
}

/// Whether `c` belongs to a word for `\w` and `\b`: a letter, a number or `_`. A combining mark does not.
pub fn is_word(c: char) -> bool {
    c == '_' || is_letter(c) || is_number(c)
}

/// Whether `c` is in one of the categories of letters (`L`).
pub fn is_letter(c: char) -> bool {
    matches!(
        get_general_category(c),
        Category::UppercaseLetter
            | Category::LowercaseLetter
            | Category::TitlecaseLetter
            | Category::ModifierLetter
            | Category::OtherLetter
    )
}

/// Whether `c` is in one of the categories of numbers (`N`).
pub fn is_number(c: char) -> bool {
    matches!(
        get_general_category(c),
        Category::DecimalNumber | Category::LetterNumber | Category::OtherNumber
    )
}
