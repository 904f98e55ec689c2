//! Captions as the reference tools clean them before a tokenizer sees them: what ftfy 6.3 repairs, what Python's
//! `html.unescape` reads, and which characters Python's `re` and `str` take for white space and letters of words.
//!
//! Read in this order: [`ftfy`] (all repairs of one text), [`html`], [`python`], [`unicode_14`].
//! The rules are those that ftfy documents (Robyn Speer, <https://ftfy.readthedocs.io>, Apache-2.0); values that it
//! computed are in the tests.
//!
//! ```
//! use specimen_datasets::text::ftfy::{fix_text, is_wrongly_decoded};
//!
//! assert_eq!(fix_text("I don’t like ﬁsh &amp; chips"), "I don't like fish & chips");
//! assert!(is_wrongly_decoded("I donâ€™t"));
//! ```

pub mod ftfy;

pub mod html;
pub mod python;
pub mod unicode_14;
