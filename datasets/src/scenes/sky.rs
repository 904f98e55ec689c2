//! The four skies, painted from the top row down to the horizon.

use super::SIDE;
use super::attributes::Sky;
use super::noise::{Field, blend};
use super::render::Canvas;
use super::rng::Stream;

/// Share of the night sky's pixels that are stars.
const STAR_SHARE: f32 = 0.015;

/// Paints the whole canvas with the sky; the ground goes over it afterwards.
pub(super) fn paint(canvas: &mut Canvas, sky: Sky, horizon: f32, stream: &mut Stream) {
    match sky {
        Sky::Blue => blue(canvas, horizon, stream),
        Sky::Sunset => sunset(canvas, horizon, stream),
        Sky::Night => night(canvas, horizon, stream),
        Sky::Cloudy => cloudy(canvas, horizon, stream),
    }
}

fn blue(canvas: &mut Canvas, horizon: f32, stream: &mut Stream) {
    let clouds = Field::draw(stream, 7.0, 14.0);
    fill(canvas, horizon, |x, y, height| {
        let clear = blend([82.0, 142.0, 226.0], [166.0, 206.0, 246.0], height);
        let cover = ((clouds.at(x, y) - 0.15) * 4.0).clamp(0.0, 1.0);
        blend(clear, [246.0, 248.0, 252.0], 0.9 * cover)
    });
}

fn sunset(canvas: &mut Canvas, horizon: f32, stream: &mut Stream) {
    let bands = Field::draw(stream, 5.0, 16.0);
    fill(canvas, horizon, |x, y, height| {
        let shade = 18.0 * bands.at(x, y);
        blend([84.0, 48.0, 112.0], [250.0, 158.0, 84.0], height).map(|level| level + shade)
    });
}

fn night(canvas: &mut Canvas, horizon: f32, stream: &mut Stream) {
    fill(canvas, horizon, |_, _, height| {
        let dark = blend([8.0, 10.0, 30.0], [26.0, 30.0, 66.0], height);
        let star = stream.unit() < STAR_SHARE;
        let glow = stream.between(0.55, 1.0);
        if star { [255.0 * glow, 252.0 * glow, 230.0 * glow] } else { dark }
    });
}

fn cloudy(canvas: &mut Canvas, horizon: f32, stream: &mut Stream) {
    let banks = Field::draw(stream, 6.0, 12.0);
    let wisps = Field::draw(stream, 3.0, 6.0);
    fill(canvas, horizon, |x, y, height| {
        let shade = 26.0 * banks.at(x, y) + 11.0 * wisps.at(x, y);
        blend([136.0, 142.0, 152.0], [172.0, 176.0, 184.0], height).map(|level| level + shade)
    });
}

/// Sets every pixel to `colour(x, y, height)`; `height` runs from 0 at the top to 1 at the horizon.
fn fill(canvas: &mut Canvas, horizon: f32, mut colour: impl FnMut(usize, usize, f32) -> [f32; 3]) {
    for y in 0..SIDE {
        let height = (y as f32 / horizon).min(1.0);
        for x in 0..SIDE {
            canvas.set(x, y, colour(x, y, height));
        }
    }
}
