//! Tables of rotary positions as published networks have them; [`llama`](crate::llama::layer) has the layout and the
//! table of the tiny model.

use tch::{Kind, Tensor};

use crate::llama::layer::{Rotary, rotary_2d};

/// Positions in sequence, as `transformers` turns LLaMA's: frequency `j` of `d_head / 2` is `base^(-2 j / d_head)`.
/// Returns `[n_positions, d_head]` in f32.
pub fn rotary_1d(n_positions: i64, d_head: i64, base: f64) -> Rotary {
    let half = d_head / 2;
    let exponent = |j: i64| (2 * j) as f32 / d_head as f32;
    let frequencies: Vec<f32> = (0..half).map(|j| 1.0 / (base as f32).powf(exponent(j))).collect();
    let at = Tensor::arange(n_positions, (Kind::Float, tch::Device::Cpu));
    // The product is rounded to f32 as it is there, so that late positions turn by the same angle.
    let angles = at.outer(&Tensor::from_slice(&frequencies)).repeat([1, 2]);
    Rotary { cos: angles.cos(), sin: angles.sin() }
}

/// The table of LlamaGen: a raster image behind `n_prefix` slots whose cosines *and* sines are zero, so that their
/// queries and keys vanish. An image token gives every prefix slot the score 0, and is conditioned by values alone.
/// Rows as [`rotary_2d`], `[n_prefix + side * side, d_head]`.
pub fn rotary_behind_zeros(n_prefix: i64, side: i64, d_head: i64, base: f64) -> Rotary {
    let Rotary { cos, sin } = rotary_2d(n_prefix, side, d_head, base);
    for table in [&cos, &sin] {
        let _ = table.narrow(0, 0, n_prefix).zero_();
    }
    Rotary { cos, sin }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use super::*;

    fn row(table: &Tensor, at: i64) -> Vec<f32> {
        Vec::try_from(table.get(at)).unwrap()
    }

    #[test]
    fn the_prefix_has_neither_cosine_nor_sine() {
        let Rotary { cos, sin } = rotary_behind_zeros(2, 3, 8, 10_000.0);
        assert_eq!((row(&cos, 1), row(&sin, 1)), (vec![0.0; 8], vec![0.0; 8]));
        // Slot 2 + 5 is row 1, column 2; the frequencies are 1 and 1/100.
        let expected = [1.0_f32, 0.01, 2.0, 0.02];
        for (at, angle) in expected.iter().chain(&expected).enumerate() {
            assert!((row(&cos, 7)[at] - angle.cos()).abs() < 1e-6);
            assert!((row(&sin, 7)[at] - angle.sin()).abs() < 1e-6);
        }
    }

    #[test]
    fn positions_in_sequence_turn_by_the_powers_of_the_base() {
        let Rotary { cos, sin } = rotary_1d(5, 4, 10_000.0);
        for (at, angle) in [3.0_f32, 0.03, 3.0, 0.03].iter().enumerate() {
            assert!((row(&cos, 3)[at] - angle.cos()).abs() < 1e-6);
            assert!((row(&sin, 3)[at] - angle.sin()).abs() < 1e-6);
        }
    }
}
