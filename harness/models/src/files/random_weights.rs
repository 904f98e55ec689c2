//! Parameters from a seed, larger than a network would start with, so that distributions are far from uniform and
//! every norm and bias matters.

use specimen_decode::rng::{Purpose, Uniforms};
use specimen_weights::{Init, LoadError, ParamSource};
use tch::Tensor;

/// Parameters drawn from a seed; a normal or constant one is widened as the module says.
pub struct RandomWeights {
    uniforms: Uniforms,
    n_made: u32,
}

impl RandomWeights {
    /// Parameters in the order in which they are asked for; the names do not matter.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { uniforms: Uniforms::new(seed), n_made: 0 }
    }
}

impl ParamSource for RandomWeights {
    fn param(&mut self, _: &str, shape: &[i64], init: Init) -> Result<Tensor, LoadError> {
        let (centre, half_width) = match init {
            Init::Normal(std) => (0.0, 3.0_f64.sqrt() * std.max(0.3)),
            Init::Uniform(bound) => (0.0, bound),
            Init::Constant(value) => (value, 0.3),
        };
        self.n_made += 1;
        let n: i64 = shape.iter().product();
        let draw = |i| self.uniforms.uniform(Purpose::Init, self.n_made, i);
        let values: Vec<f32> =
            (0..n as u32).map(|i| (centre + half_width * (2.0 * draw(i) - 1.0)) as f32).collect();
        Ok(Tensor::from_slice(&values).view(shape))
    }
}
