//! Value noise: random numbers on a coarse lattice with a random phase, interpolated bilinearly.

use super::SIDE;
use super::rng::Stream;

/// A field of numbers in `[-1, 1]` over the picture, `[SIDE * SIDE]` row-major.
#[derive(Debug)]
pub(super) struct Field(Vec<f32>);

impl Field {
    /// Draws a field whose lattice cells are `cell_height` by `cell_width` pixels.
    pub(super) fn draw(stream: &mut Stream, cell_height: f32, cell_width: f32) -> Self {
        let rows = Axis::draw(stream, cell_height);
        let columns = Axis::draw(stream, cell_width);
        let lattice: Vec<f32> =
            (0..rows.n_knots * columns.n_knots).map(|_| stream.between(-1.0, 1.0)).collect();
        let mut values = Vec::with_capacity(SIDE * SIDE);
        for y in 0..SIDE {
            let (top, down) = rows.at(y);
            for x in 0..SIDE {
                let (left, across) = columns.at(x);
                let corner = top * columns.n_knots + left;
                let above = lerp(lattice[corner], lattice[corner + 1], across);
                let corner = corner + columns.n_knots;
                let below = lerp(lattice[corner], lattice[corner + 1], across);
                values.push(lerp(above, below, down));
            }
        }
        Self(values)
    }

    pub(super) fn at(&self, x: usize, y: usize) -> f32 {
        self.0[y * SIDE + x]
    }
}

/// Linear interpolation from `a` (at 0) to `b` (at 1).
pub(super) fn lerp(a: f32, b: f32, t: f32) -> f32 {
    a + (b - a) * t
}

/// Channel-wise [`lerp`] of two RGB colours.
pub(super) fn blend(a: [f32; 3], b: [f32; 3], t: f32) -> [f32; 3] {
    [lerp(a[0], b[0], t), lerp(a[1], b[1], t), lerp(a[2], b[2], t)]
}

/// Lattice positions along one axis.
struct Axis {
    cell: f32,
    phase: f32,
    n_knots: usize,
}

impl Axis {
    fn draw(stream: &mut Stream, cell: f32) -> Self {
        // The phase adds less than one cell and interpolation reads one knot further.
        Self { cell, phase: stream.unit(), n_knots: (SIDE as f32 / cell) as usize + 3 }
    }

    /// The knot before a pixel and the way from it to the next, in `[0, 1)`.
    fn at(&self, pixel: usize) -> (usize, f32) {
        let position = pixel as f32 / self.cell + self.phase;
        let knot = position as usize;
        (knot, position - knot as f32)
    }
}
