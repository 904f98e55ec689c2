//! Parameters from a seed, for models whose weights are not there: toys, and published sizes that are only timed.

use specimen_decode::rng::{Purpose, Uniforms};
use specimen_weights::{Init, LoadError, ParamSource};
use tch::Tensor;

/// Draws of a parameter of published size; larger ones repeat them, so that billions are made in seconds.
const N_DRAWN: u32 = 1 << 20;

/// Parameters drawn from a seed.
pub struct RandomWeights {
    uniforms: Uniforms,
    n_made: u32,
    /// Larger than a network would start with, so that distributions are far from uniform and every norm and bias
    /// matters. Without it, what a network starts with, which stays finite at any depth.
    is_wide: bool,
}

impl RandomWeights {
    /// Wide parameters, in the order in which they are asked for; the names do not matter.
    pub fn new(seed: u64) -> Self {
        Self { uniforms: Uniforms::new(seed), n_made: 0, is_wide: true }
    }

    /// Wide ones for a network at toy width; for published sizes what a network starts with.
    pub fn of(is_toy: bool, seed: u64) -> Self {
        Self { is_wide: is_toy, ..Self::new(seed) }
    }
}

impl ParamSource for RandomWeights {
    fn param(&mut self, _: &str, shape: &[i64], init: Init) -> Result<Tensor, LoadError> {
        let (centre, half_width) = match (init, self.is_wide) {
            (Init::Normal(std), true) => (0.0, 3.0_f64.sqrt() * std.max(0.3)),
            (Init::Normal(std), false) => (0.0, 3.0_f64.sqrt() * std),
            (Init::Uniform(bound), _) => (0.0, bound),
            (Init::Constant(value), true) => (value, 0.3),
            (Init::Constant(value), false) => (value, 0.0),
        };
        self.n_made += 1;
        let n: i64 = shape.iter().product();
        let draw = |i| self.uniforms.uniform(Purpose::Init, self.n_made, i);
        let n_drawn = if self.is_wide { n as u32 } else { N_DRAWN.min(u32::try_from(n).unwrap_or(N_DRAWN)) };
        let values: Vec<f32> =
            (0..n_drawn).map(|i| (centre + half_width * (2.0 * draw(i) - 1.0)) as f32).collect();
        let values = Tensor::from_slice(&values);
        let n_repeats = n.unsigned_abs().div_ceil(u64::from(n_drawn).max(1)).cast_signed();
        let values = if n_repeats > 1 { values.repeat([n_repeats]).narrow(0, 0, n) } else { values };
        Ok(values.view(shape))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use super::*;

    #[test]
    fn parameters_of_published_sizes_repeat_and_are_as_narrow_as_they_start() {
        let mut random = RandomWeights::of(false, 1);
        let large = random.param("", &[3, 1 << 19], Init::Normal(0.02)).unwrap();
        let flat = large.view([-1]);
        let (first, again) = (flat.narrow(0, 0, 1000), flat.narrow(0, i64::from(N_DRAWN), 1000));
        assert!(first.equal(&again) && large.std(true).double_value(&[]) - 0.02 < 1e-4);
        let norm = random.param("", &[8], Init::Constant(1.0)).unwrap();
        assert!(norm.equal(&Tensor::ones([8], (tch::Kind::Float, tch::Device::Cpu))));
    }
}
