//! The names and shapes that a network asks a checkpoint for, found by asking.

use specimen_weights::{Init, LoadError, ParamSource};
use tch::{Device, Kind, Tensor};

/// One tensor of a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expected {
    /// Its name in the file.
    pub name: String,
    /// Its shape, outermost axis first.
    pub shape: Vec<i64>,
}

/// A source that writes down what it is asked for and hands out zeros that take no memory.
#[derive(Default)]
struct Recorder(Vec<Expected>);

impl ParamSource for Recorder {
    fn param(&mut self, name: &str, shape: &[i64], _: Init) -> Result<Tensor, LoadError> {
        self.0.push(Expected { name: name.to_owned(), shape: shape.to_vec() });
        let axes = vec![1_i64; shape.len()];
        Ok(Tensor::zeros(axes, (Kind::Half, Device::Cpu)).expand(shape, false))
    }
}

/// What `read` asks for, in its order.
pub fn inventory<T>(
    read: impl FnOnce(&mut dyn ParamSource) -> Result<T, LoadError>,
) -> Result<Vec<Expected>, LoadError> {
    let _guard = tch::no_grad_guard();
    let mut recorder = Recorder::default();
    read(&mut recorder)?;
    Ok(recorder.0)
}

/// The inventory of a network of `n_layers` from that of the same network with one: every name that begins with `0.`
/// behind `stem` is repeated, layer by layer. A large network is not built to be listed.
pub fn with_layers(one: Vec<Expected>, stem: &str, n_layers: i64) -> Vec<Expected> {
    let zeroth = format!("{stem}0.");
    let is_layer = |entry: &Expected| entry.name.starts_with(&zeroth);
    let Some(first) = one.iter().position(is_layer) else { return one };
    let layer: Vec<&Expected> = one.iter().filter(|entry| is_layer(entry)).collect();
    let mut all = one[..first].to_vec();
    for at in 0..n_layers {
        let renamed = |entry: &&Expected| Expected {
            name: entry.name.replacen(&zeroth, &format!("{stem}{at}."), 1),
            shape: entry.shape.clone(),
        };
        all.extend(layer.iter().map(renamed));
    }
    all.extend(one[first..].iter().filter(|entry| !is_layer(entry)).cloned());
    all
}
