//! Published files: found, fetched, converted.

mod convert;
mod hub;
