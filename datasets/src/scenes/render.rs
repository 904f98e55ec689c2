//! From a composed scene to pixels: sky, ground, objects, sensor noise, in this order.

use super::noise::{Field, blend};
use super::rng::{Purpose, Stream};
use super::scene::{Object, Scene};
use super::shape::signed_distance;
use super::{GRID, PATCH, SIDE, ground, sky};

/// Objects never get darker than this, so that colours stay apart at night.
const OBJECT_LIGHT_FLOOR: f32 = 0.75;
/// Standard deviation of the sensor noise, in levels of 255.
const SENSOR_NOISE: f32 = 2.0;
/// Light at an object's edge, as a share of its inside.
const RIM_LIGHT: f32 = 0.5;
/// Patches covered by a larger share than this count as object.
const MASK_SHARE: f32 = 0.05;

/// RGB levels before rounding, `[SIDE * SIDE]` row-major.
#[derive(Debug)]
pub(super) struct Canvas(Vec<[f32; 3]>);

impl Canvas {
    pub(super) fn get(&self, x: usize, y: usize) -> [f32; 3] {
        self.0[y * SIDE + x]
    }

    pub(super) fn set(&mut self, x: usize, y: usize, colour: [f32; 3]) {
        self.0[y * SIDE + x] = colour;
    }
}

/// The picture as `[SIDE * SIDE * 3]` RGB bytes.
pub(super) fn pixels(scene: &Scene) -> Vec<u8> {
    let stream = |purpose| Stream::new(scene.seed, scene.index, purpose);
    let light = scene.sky.light();
    let mut canvas = Canvas(vec![[0.0; 3]; SIDE * SIDE]);
    sky::paint(&mut canvas, scene.sky, scene.horizon, &mut stream(Purpose::Sky));
    ground::paint(&mut canvas, scene.ground, scene.horizon, light, &mut stream(Purpose::Ground));
    for (position, object) in scene.objects.iter().enumerate() {
        let light = light.max(OBJECT_LIGHT_FLOOR);
        paint_object(&mut canvas, object, light, &mut stream(Purpose::Object(position)));
    }
    expose(&canvas, &mut stream(Purpose::Pixels))
}

/// True where objects together cover more than [`MASK_SHARE`] of a patch.
pub(super) fn object_mask(scene: &Scene) -> [bool; GRID * GRID] {
    let mut bare = vec![1.0; SIDE * SIDE];
    for object in &scene.objects {
        for_each_covered(object, |x, y, coverage, _| bare[y * SIDE + x] *= 1.0 - coverage);
    }
    let mut covered = [0.0; GRID * GRID];
    for (pixel, bare) in bare.iter().enumerate() {
        covered[pixel / SIDE / PATCH * GRID + pixel % SIDE / PATCH] += 1.0 - bare;
    }
    covered.map(|sum| sum > MASK_SHARE * (PATCH * PATCH) as f32)
}

fn paint_object(canvas: &mut Canvas, object: &Object, light: f32, stream: &mut Stream) {
    let grain = Field::draw(stream, 3.0, 3.0);
    let base = object.colour.rgb().map(f32::from);
    for_each_covered(object, |x, y, coverage, depth| {
        // Lit from the top left: 1.08 in the middle, 0.3 more or less at one radius along the diagonal.
        let (right, down) = (x as f32 + 0.5 - object.x, y as f32 + 0.5 - object.y);
        let slope = ((right + down) / (object.radius * std::f32::consts::SQRT_2)).clamp(-1.0, 1.0);
        let rim = RIM_LIGHT + (1.0 - RIM_LIGHT) * (depth / 1.5).clamp(0.0, 1.0);
        let shade = light * rim * (1.08 - 0.3 * slope);
        let lit = base.map(|level| (level * shade + 7.0 * grain.at(x, y)).clamp(0.0, 255.0));
        canvas.set(x, y, blend(canvas.get(x, y), lit, coverage));
    });
}

/// Calls `visit(x, y, coverage, depth)` for every pixel an object touches: its anti-aliased coverage in
/// `(0, 1]` and how deep inside the outline its centre is, in pixels.
fn for_each_covered(object: &Object, mut visit: impl FnMut(usize, usize, f32, f32)) {
    // No shape reaches further than 1.1 radii, and anti-aliasing adds half a pixel.
    let reach = 1.1 * object.radius + 1.0;
    let span = |centre: f32| (centre - reach).max(0.0) as usize..((centre + reach) as usize + 1).min(SIDE);
    for y in span(object.y) {
        for x in span(object.x) {
            let right = (x as f32 + 0.5 - object.x) / object.radius;
            let down = (y as f32 + 0.5 - object.y) / object.radius;
            let depth = -signed_distance(object.shape, right, down) * object.radius;
            let coverage = (depth + 0.5).clamp(0.0, 1.0);
            if coverage > 0.0 {
                visit(x, y, coverage, depth);
            }
        }
    }
}

/// Adds sensor noise and rounds to bytes.
fn expose(canvas: &Canvas, stream: &mut Stream) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(SIDE * SIDE * 3);
    for pair in canvas.0.as_flattened().chunks_exact(2) {
        for (level, noise) in pair.iter().zip(stream.normal_pair()) {
            // The cast saturates to 0..=255; adding a half rounds to the nearest.
            bytes.push((level + SENSOR_NOISE * noise + 0.5) as u8);
        }
    }
    bytes
}
