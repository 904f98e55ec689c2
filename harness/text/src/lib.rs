//! Captions as the reference tools clean them before a tokenizer sees them: what ftfy 6.3 repairs, what Python's
//! `html.unescape` reads, and which characters Python's `re` and `str` take for white space and letters of words.
//!
//! Read in this order: [`ftfy`] (all repairs of one text), [`mojibake`] (text that was decoded in a wrong encoding),
//! [`html`], [`python`], [`unicode_14`].
//! The rules are those that ftfy documents (Robyn Speer, <https://ftfy.readthedocs.io>, Apache-2.0); its characters and
//! code pages are in the tables of this crate, and values that it computed are in the tests.
//!
//! ```
//! use specimen_text::ftfy::fix_text;
//!
//! assert_eq!(fix_text("I donâ€™t like schÃ¶n"), "I don't like schön");
//! ```

pub mod ftfy;

pub mod mojibake;

pub mod html;
pub mod python;
pub mod unicode_14;
