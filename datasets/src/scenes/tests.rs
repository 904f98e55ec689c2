//! Laws of the scenes data set.
