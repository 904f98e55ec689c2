//! The six grounds, painted from the horizon down and dimmed by the light of the sky.

use super::attributes::Ground;
use super::noise::{Field, blend, lerp};
use super::render::Canvas;
use super::rng::Stream;
use super::{GRID, PATCH, SIDE};

const GRASS: [f32; 3] = [84.0, 122.0, 46.0];
const SAND: [f32; 3] = [214.0, 188.0, 138.0];
const WATER: [f32; 3] = [30.0, 100.0, 134.0];
const SNOW: [f32; 3] = [232.0, 238.0, 246.0];
const GRAVEL: [f32; 3] = [128.0, 124.0, 120.0];
const BRICK: [f32; 3] = [140.0, 72.0, 58.0];
const MORTAR: [f32; 3] = [190.0, 184.0, 174.0];

const BRICK_HEIGHT: usize = 8;
const BRICK_WIDTH: usize = 16;

/// Paints the ground over the rows below `horizon`; `light` is 1.0 in full daylight.
pub(super) fn paint(canvas: &mut Canvas, ground: Ground, horizon: f32, light: f32, stream: &mut Stream) {
    match ground {
        Ground::Grass => grass(canvas, horizon, light, stream),
        Ground::Sand => sand(canvas, horizon, light, stream),
        Ground::Water => water(canvas, horizon, light, stream),
        Ground::Snow => snow(canvas, horizon, light, stream),
        Ground::Gravel => gravel(canvas, horizon, light, stream),
        Ground::Brick => brick(canvas, horizon, light, stream),
    }
}

fn grass(canvas: &mut Canvas, horizon: f32, light: f32, stream: &mut Stream) {
    let blades = Field::draw(stream, 4.0, 2.0);
    let patches = Field::draw(stream, 10.0, 10.0);
    fill(canvas, horizon, light, |x, y| {
        let shade = 26.0 * blades.at(x, y) + 12.0 * patches.at(x, y);
        [GRASS[0] + 0.8 * shade, GRASS[1] + shade, GRASS[2] + 0.6 * shade]
    });
}

fn sand(canvas: &mut Canvas, horizon: f32, light: f32, stream: &mut Stream) {
    let grains = Field::draw(stream, 2.5, 2.5);
    let bends = Field::draw(stream, 12.0, 16.0);
    let phase = stream.unit();
    fill(canvas, horizon, light, |x, y| {
        let ripple = wave(y as f32 / 7.0 + x as f32 / 40.0 + 0.35 * bends.at(x, y) + phase);
        shaded(SAND, 13.0 * grains.at(x, y) + 9.0 * ripple)
    });
}

fn water(canvas: &mut Canvas, horizon: f32, light: f32, stream: &mut Stream) {
    let ripples = Field::draw(stream, 2.0, 7.0);
    let swell = Field::draw(stream, 6.0, 16.0);
    fill(canvas, horizon, light, |x, y| shaded(WATER, 24.0 * ripples.at(x, y) + 14.0 * swell.at(x, y)))
}

fn snow(canvas: &mut Canvas, horizon: f32, light: f32, stream: &mut Stream) {
    let drifts = Field::draw(stream, 8.0, 12.0);
    let crust = Field::draw(stream, 3.0, 3.0);
    fill(canvas, horizon, light, |x, y| shaded(SNOW, 9.0 * drifts.at(x, y) + 5.0 * crust.at(x, y)))
}

/// Each stone is one patch, so the tokens of gravel are exchangeable.
fn gravel(canvas: &mut Canvas, horizon: f32, light: f32, stream: &mut Stream) {
    let stones: Vec<f32> = (0..GRID * GRID).map(|_| stream.between(-37.0, 37.0)).collect();
    let grit = Field::draw(stream, 2.0, 2.0);
    fill(canvas, horizon, light, |x, y| {
        shaded(GRAVEL, stones[y / PATCH * GRID + x / PATCH] + 10.0 * grit.at(x, y))
    });
}

fn brick(canvas: &mut Canvas, horizon: f32, light: f32, stream: &mut Stream) {
    const N_BRICKS: usize = SIDE / BRICK_WIDTH + 1;
    let shades: Vec<f32> = (0..SIDE / BRICK_HEIGHT * N_BRICKS).map(|_| stream.between(-25.0, 25.0)).collect();
    fill(canvas, horizon, light, |x, y| {
        let row = y / BRICK_HEIGHT;
        let along = x + row % 2 * (BRICK_WIDTH / 2);
        let joint = y % BRICK_HEIGHT == BRICK_HEIGHT - 1 || along % BRICK_WIDTH == BRICK_WIDTH - 1;
        let shade = shades[row * N_BRICKS + along / BRICK_WIDTH];
        if joint { MORTAR } else { shaded(BRICK, shade) }
    });
}

/// Sets the pixels below the horizon to `light * colour(x, y)`; the horizon's own row is mixed.
fn fill(canvas: &mut Canvas, horizon: f32, light: f32, colour: impl Fn(usize, usize) -> [f32; 3]) {
    for y in horizon as usize..SIDE {
        let share = (y as f32 + 1.0 - horizon).min(1.0);
        for x in 0..SIDE {
            let lit = colour(x, y).map(|level| light * level);
            canvas.set(x, y, blend(canvas.get(x, y), lit, share));
        }
    }
}

fn shaded(base: [f32; 3], shade: f32) -> [f32; 3] {
    base.map(|level| level + shade)
}

/// A sine-like wave of period 1 built from parabolas, so that no libm result enters a pixel.
fn wave(turns: f32) -> f32 {
    // `turns` is at least -0.35, so truncation after adding 1 is the floor.
    let shifted = turns + 1.0;
    let place = shifted - shifted as usize as f32;
    let (sign, half) = if place < 0.5 { (1.0, 2.0 * place) } else { (-1.0, 2.0 * place - 1.0) };
    lerp(0.0, 4.0 * sign, half * (1.0 - half))
}
