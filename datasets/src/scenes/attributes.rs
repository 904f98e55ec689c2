//! What a scene shows: sky, ground, objects and their relation, and the labels made of them.
//!
//! The eight object colours are chosen to stay apart from each other, from every ground and from every
//! sky, also at night, where objects keep three quarters of their light and the ground under half.

use super::vocabulary::CaptionError;

/// Kinds of object: every shape in every colour.
pub const N_OBJECT_KINDS: usize = 32;
/// Kinds of ground.
pub const N_GROUNDS: usize = 6;
/// Kinds of sky.
pub const N_SKIES: usize = 4;
/// Kinds of relation, "none" included.
pub const N_RELATIONS: usize = 5;
/// Logits of an attribute classifier: objects, ground, sky, relation, in this order.
pub const N_LOGITS: usize = N_OBJECT_KINDS + N_GROUNDS + N_SKIES + N_RELATIONS;

/// What is above the horizon.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Sky {
    /// "under a blue sky": blue with white clouds.
    Blue,
    /// "at sunset": purple at the top to orange at the horizon.
    Sunset,
    /// "at night": dark with stars; dims the ground most.
    Night,
    /// "on a cloudy day": grey.
    Cloudy,
}

impl Sky {
    /// All skies, in label order.
    pub const ALL: [Self; N_SKIES] = [Self::Blue, Self::Sunset, Self::Night, Self::Cloudy];

    /// The caption's closing phrase.
    pub const fn phrase(self) -> &'static str {
        match self {
            Self::Blue => "under a blue sky",
            Self::Sunset => "at sunset",
            Self::Night => "at night",
            Self::Cloudy => "on a cloudy day",
        }
    }

    /// Light on the ground, 1.0 in full daylight.
    pub(super) const fn light(self) -> f32 {
        match self {
            Self::Blue => 1.0,
            Self::Sunset => 0.85,
            Self::Night => 0.45,
            Self::Cloudy => 0.9,
        }
    }
}

/// What is below the horizon.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Ground {
    /// "on grass".
    Grass,
    /// "on sand".
    Sand,
    /// "on water".
    Water,
    /// "on snow".
    Snow,
    /// "on gravel".
    Gravel,
    /// "by a brick wall".
    Brick,
}

impl Ground {
    /// All grounds, in label order.
    pub const ALL: [Self; N_GROUNDS] =
        [Self::Grass, Self::Sand, Self::Water, Self::Snow, Self::Gravel, Self::Brick];

    /// The caption's phrase for the ground.
    pub const fn phrase(self) -> &'static str {
        match self {
            Self::Grass => "on grass",
            Self::Sand => "on sand",
            Self::Water => "on water",
            Self::Snow => "on snow",
            Self::Gravel => "on gravel",
            Self::Brick => "by a brick wall",
        }
    }
}

/// Outline of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Shape {
    /// A disc.
    Circle,
    /// An upright square.
    Square,
    /// An equilateral triangle, point up.
    Triangle,
    /// A five-pointed star, point up.
    Star,
}

impl Shape {
    /// All shapes, in label order.
    pub const ALL: [Self; 4] = [Self::Circle, Self::Square, Self::Triangle, Self::Star];

    /// The caption's word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Circle => "circle",
            Self::Square => "square",
            Self::Triangle => "triangle",
            Self::Star => "star",
        }
    }
}

/// Colour of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Colour {
    /// RGB (225, 22, 32).
    Red,
    /// RGB (245, 115, 5).
    Orange,
    /// RGB (255, 232, 35).
    Yellow,
    /// RGB (20, 215, 60).
    Green,
    /// RGB (20, 228, 228).
    Cyan,
    /// RGB (25, 45, 235).
    Blue,
    /// RGB (135, 35, 205).
    Purple,
    /// RGB (255, 105, 190).
    Pink,
}

impl Colour {
    /// All colours, in label order.
    pub const ALL: [Self; 8] = [
        Self::Red,
        Self::Orange,
        Self::Yellow,
        Self::Green,
        Self::Cyan,
        Self::Blue,
        Self::Purple,
        Self::Pink,
    ];

    /// The caption's word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Red => "red",
            Self::Orange => "orange",
            Self::Yellow => "yellow",
            Self::Green => "green",
            Self::Cyan => "cyan",
            Self::Blue => "blue",
            Self::Purple => "purple",
            Self::Pink => "pink",
        }
    }

    /// RGB in daylight, before shading.
    pub const fn rgb(self) -> [u8; 3] {
        match self {
            Self::Red => [225, 22, 32],
            Self::Orange => [245, 115, 5],
            Self::Yellow => [255, 232, 35],
            Self::Green => [20, 215, 60],
            Self::Cyan => [20, 228, 228],
            Self::Blue => [25, 45, 235],
            Self::Purple => [135, 35, 205],
            Self::Pink => [255, 105, 190],
        }
    }
}

/// Size class of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Size {
    /// Radius 6 to 8 pixels; stars 8 to 9.5, since thinner points do not survive the 4-pixel patches.
    Small,
    /// Radius 11 to 13.5 pixels.
    Large,
}

impl Size {
    /// All sizes.
    pub const ALL: [Self; 2] = [Self::Small, Self::Large];

    /// The caption's word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Small => "small",
            Self::Large => "large",
        }
    }
}

/// Where the first of two objects is, seen from the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Relation {
    /// The first has the smaller x.
    LeftOf,
    /// The first has the larger x.
    RightOf,
    /// The first has the smaller y (rows count downwards).
    Above,
    /// The first has the larger y.
    Below,
}

impl Relation {
    /// All relations, in label order (labels count from 1, 0 is none).
    pub const ALL: [Self; 4] = [Self::LeftOf, Self::RightOf, Self::Above, Self::Below];

    /// The caption's phrase.
    pub const fn phrase(self) -> &'static str {
        match self {
            Self::LeftOf => "left of",
            Self::RightOf => "right of",
            Self::Above => "above",
            Self::Below => "below",
        }
    }
}

/// The attributes a caption names, which a picture of it should show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attributes {
    /// One to three objects in caption order.
    pub objects: Vec<(Shape, Colour)>,
    /// The ground.
    pub ground: Ground,
    /// The sky.
    pub sky: Sky,
    /// The relation, only with two objects.
    pub relation: Option<Relation>,
}

impl Attributes {
    /// The attributes as classifier targets.
    pub fn labels(&self) -> Labels {
        let mut objects = [false; N_OBJECT_KINDS];
        for &(shape, colour) in &self.objects {
            objects[shape as usize * Colour::ALL.len() + colour as usize] = true;
        }
        Labels {
            objects,
            ground: self.ground as usize,
            sky: self.sky as usize,
            relation: self.relation.map_or(0, |relation| relation as usize + 1),
        }
    }
}

impl std::str::FromStr for Attributes {
    type Err = CaptionError;

    fn from_str(caption: &str) -> Result<Self, CaptionError> {
        super::parse_caption(caption)
    }
}

/// Attributes as the targets of [`N_LOGITS`] classifier logits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Labels {
    /// Bit `shape * 8 + colour` is set for every object kind in the scene; logits 0 to 31.
    pub objects: [bool; N_OBJECT_KINDS],
    /// Index into [`Ground::ALL`]; logits 32 to 37.
    pub ground: usize,
    /// Index into [`Sky::ALL`]; logits 38 to 41.
    pub sky: usize,
    /// 0 for none, else 1 + index into [`Relation::ALL`]; logits 42 to 46.
    pub relation: usize,
}
