//! One scene: its composition, drawn from `(seed, index)`, and what can be derived from it.
//!
//! One, two or three objects with probability 0.4, 0.45 and 0.15; skies, grounds, relations and
//! (shape, colour) pairs are uniform, and the pairs of one scene are distinct.

use super::attributes::{
    Attributes, Colour, Ground, Labels, N_GROUNDS, N_OBJECT_KINDS, N_SKIES, Relation, Shape, Size, Sky,
};
use super::rng::{Purpose, Stream};
use super::{GRID, caption, render};

/// One object of a scene; lengths in pixels, origin at the top left.
#[derive(Clone, Debug, PartialEq)]
pub struct Object {
    /// Its outline.
    pub shape: Shape,
    /// Its colour.
    pub colour: Colour,
    /// Its size class.
    pub size: Size,
    /// Centre, from the left edge.
    pub x: f32,
    /// Centre, from the top edge.
    pub y: f32,
    /// Radius: of the circle itself; the other shapes reach 0.86 to 1.1 radii from the centre.
    pub radius: f32,
}

/// A composed scene; [`Scene::render`] paints it.
#[derive(Clone, Debug, PartialEq)]
pub struct Scene {
    /// Seed of the data set.
    pub seed: u64,
    /// Number of the scene within the data set.
    pub index: u64,
    /// What is above the horizon.
    pub sky: Sky,
    /// What is below the horizon.
    pub ground: Ground,
    /// Height of the horizon in pixels from the top, 22 to 40.
    pub horizon: f32,
    /// How the first of two objects lies to the second; none for one or three.
    pub relation: Option<Relation>,
    /// One to three objects in caption order, three from left to right; later ones cover earlier ones.
    pub objects: Vec<Object>,
}

impl Scene {
    /// The scene with this number in the data set of this seed.
    pub fn new(seed: u64, index: u64) -> Self {
        let stream = &mut Stream::new(seed, index, Purpose::Layout);
        let sky = Sky::ALL[stream.below(N_SKIES)];
        let ground = Ground::ALL[stream.below(N_GROUNDS)];
        let horizon = stream.between(22.0, 40.0);
        let n_objects = match stream.unit() {
            draw if draw < 0.4 => 1,
            draw if draw < 0.85 => 2,
            _ => 3,
        };
        let relation = (n_objects == 2).then(|| Relation::ALL[stream.below(Relation::ALL.len())]);
        let kinds = draw_kinds(stream, n_objects);
        let places = draw_places(stream, n_objects, relation);
        let objects = kinds
            .into_iter()
            .zip(places)
            .map(|((shape, colour), (x, y))| {
                let large = stream.below(2) == 1 && n_objects < 3;
                let size = if large { Size::Large } else { Size::Small };
                let radius = draw_radius(stream, shape, size);
                Object { shape, colour, size, x, y, radius }
            })
            .collect();
        Self { seed, index, sky, ground, horizon, relation, objects }
    }

    /// The scene's number in decimal.
    pub fn id(&self) -> String {
        self.index.to_string()
    }

    /// The caption, at most 19 words of [`WORDS`](super::WORDS), lower-case, with spaces around commas.
    pub fn caption(&self) -> String {
        caption::of_scene(self)
    }

    /// The picture as `[SIDE * SIDE * 3]` RGB bytes, row-major.
    pub fn render(&self) -> Vec<u8> {
        render::pixels(self)
    }

    /// What the scene shows.
    pub fn attributes(&self) -> Attributes {
        Attributes {
            objects: self.objects.iter().map(|object| (object.shape, object.colour)).collect(),
            ground: self.ground,
            sky: self.sky,
            relation: self.relation,
        }
    }

    /// What the scene shows, as classifier targets.
    pub fn labels(&self) -> Labels {
        self.attributes().labels()
    }

    /// True for every patch of which objects cover more than 5%, `[GRID * GRID]` row-major.
    pub fn object_mask(&self) -> [bool; GRID * GRID] {
        render::object_mask(self)
    }
}

/// Distinct (shape, colour) pairs, drawn without replacement.
fn draw_kinds(stream: &mut Stream, n_objects: usize) -> Vec<(Shape, Colour)> {
    let mut rest: Vec<usize> = (0..N_OBJECT_KINDS).collect();
    (0..n_objects)
        .map(|_| rest.swap_remove(stream.below(rest.len())))
        .map(|kind| (Shape::ALL[kind / Colour::ALL.len()], Colour::ALL[kind % Colour::ALL.len()]))
        .collect()
}

/// Centres `(x, y)`. Along a relation's axis the two objects lie at 13 to 19 and 45 to 51 pixels, at least
/// 26 apart; across it they are at most 24 apart, so that only the named relation holds clearly.
fn draw_places(stream: &mut Stream, n_objects: usize, relation: Option<Relation>) -> Vec<(f32, f32)> {
    let Some(relation) = relation else {
        return match n_objects {
            1 => vec![(stream.between(16.0, 48.0), stream.between(18.0, 48.0))],
            _ => [10.0, 32.0, 54.0].map(|x| (x, stream.between(20.0, 44.0))).to_vec(),
        };
    };
    let mut pair = [(13.0, 19.0), (45.0, 51.0)]
        .map(|(low, high)| (stream.between(low, high), stream.between(20.0, 44.0)));
    if matches!(relation, Relation::RightOf | Relation::Below) {
        pair.reverse();
    }
    match relation {
        Relation::LeftOf | Relation::RightOf => pair.to_vec(),
        Relation::Above | Relation::Below => pair.map(|(along, across)| (across, along)).to_vec(),
    }
}

fn draw_radius(stream: &mut Stream, shape: Shape, size: Size) -> f32 {
    match (size, shape) {
        (Size::Small, Shape::Star) => stream.between(8.0, 9.5),
        (Size::Small, _) => stream.between(6.0, 8.0),
        (Size::Large, _) => stream.between(11.0, 13.5),
    }
}
