//! The rows of attempts and of metrics: one line or document each, with their keys and seeds.

pub(crate) mod diagnostic;
pub(crate) mod key;
pub(crate) mod machine;
pub(crate) mod metric;
pub(crate) mod record;
pub(crate) mod seed;
pub(crate) mod timing;
pub(crate) mod unknown;
