//! Parameters in the kind and on the device in which a network runs, whatever they are stored as.

use specimen_weights::{Init, LoadError, ParamSource};
use tch::{Device, Kind, Tensor};

/// A source whose parameters are cast and moved.
pub struct Placed<'a> {
    source: &'a mut dyn ParamSource,
    kind: Kind,
    device: Device,
}

impl<'a> Placed<'a> {
    /// What `source` has, in `kind` on `device`.
    pub fn new(source: &'a mut dyn ParamSource, kind: Kind, device: Device) -> Self {
        Self { source, kind, device }
    }
}

impl ParamSource for Placed<'_> {
    fn param(&mut self, name: &str, shape: &[i64], init: Init) -> Result<Tensor, LoadError> {
        Ok(self.source.param(name, shape, init)?.to_device(self.device).to_kind(self.kind))
    }
}
