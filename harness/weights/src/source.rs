//! Where a network gets its parameters from.

use tch::Tensor;

use crate::LoadError;

/// How a parameter starts when it is trained from nothing. A checkpoint ignores it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Init {
    /// Normal with this standard deviation.
    Normal(f64),
    /// Uniform in `[-bound, bound]`.
    Uniform(f64),
    /// Every entry this value.
    Constant(f64),
}

/// Hands out parameters by name.
pub trait ParamSource {
    /// The parameter `name` of shape `shape`.
    fn param(&mut self, name: &str, shape: &[i64], init: Init) -> Result<Tensor, LoadError>;
}

/// A source seen through a name prefix, as `layers.3.`.
pub struct Scoped<'a> {
    source: &'a mut dyn ParamSource,
    prefix: String,
}

impl<'a> Scoped<'a> {
    /// Prepends `prefix` (with its final dot, or empty) to every name asked of `source`.
    pub fn new(source: &'a mut dyn ParamSource, prefix: impl Into<String>) -> Self {
        Self { source, prefix: prefix.into() }
    }
}

impl ParamSource for Scoped<'_> {
    fn param(&mut self, name: &str, shape: &[i64], init: Init) -> Result<Tensor, LoadError> {
        self.source.param(&format!("{}{name}", self.prefix), shape, init)
    }
}
