//! Published files, found and fetched.

mod hub;
