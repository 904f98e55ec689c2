//! The caption grammar, written and read.
//!
//! ```text
//! caption  = objects ground sky
//! objects  = sized | sized relation sized | plain "," plain "and" plain
//! sized    = "a" size colour shape             plain = ("a" | "an") colour shape
//! relation = "left of" | "right of" | "above" | "below"
//! ground   = "on" ("grass" | "sand" | "water" | "snow" | "gravel") | "by a brick wall"
//! sky      = "under a blue sky" | "at sunset" | "at night" | "on a cloudy day"
//! ```

use super::attributes::{Attributes, Colour, Ground, Relation, Shape, Size, Sky};
use super::scene::{Object, Scene};
use super::vocabulary::{CaptionError, known_words};

/// The caption of a scene.
pub(super) fn of_scene(scene: &Scene) -> String {
    let objects = match (scene.objects.as_slice(), scene.relation) {
        ([first, second], Some(relation)) => {
            format!("{} {} {}", sized(first), relation.phrase(), sized(second))
        }
        ([first, second, third], None) => {
            format!("{} , {} and {}", plain(first), plain(second), plain(third))
        }
        ([only], None) => sized(only),
        _ => unreachable!("a scene has one object, two with a relation, or three"),
    };
    format!("{objects} {} {}", scene.ground.phrase(), scene.sky.phrase())
}

/// Reads the attributes back from a caption that follows the grammar.
///
/// Case and spaces around commas do not matter, sizes may be left out or added anywhere and "a" may stand for "an".
pub fn parse_caption(caption: &str) -> Result<Attributes, CaptionError> {
    let mut reader = Reader { words: known_words(caption)?, position: 0 };
    let mut objects = vec![reader.object()?];
    let mut relation = None;
    if let Some(found) = reader.one_of(Relation::ALL, Relation::phrase) {
        relation = Some(found);
        objects.push(reader.object()?);
    } else if reader.phrase(",") {
        objects.push(reader.object()?);
        reader.require("and", "\"and\"")?;
        objects.push(reader.object()?);
    }
    let ground = reader.one_of(Ground::ALL, Ground::phrase);
    let ground = ground.ok_or_else(|| reader.error("a ground such as \"on grass\""))?;
    let sky = reader.one_of(Sky::ALL, Sky::phrase);
    let sky = sky.ok_or_else(|| reader.error("a sky such as \"at night\""))?;
    if reader.position < reader.words.len() {
        return Err(reader.error("the end"));
    }
    Ok(Attributes { objects, ground, sky, relation })
}

fn sized(object: &Object) -> String {
    format!("a {} {} {}", object.size.word(), object.colour.word(), object.shape.word())
}

fn plain(object: &Object) -> String {
    let article = if object.colour == Colour::Orange { "an" } else { "a" };
    format!("{article} {} {}", object.colour.word(), object.shape.word())
}

/// A caption being read from the front.
struct Reader {
    words: Vec<&'static str>,
    position: usize,
}

impl Reader {
    fn object(&mut self) -> Result<(Shape, Colour), CaptionError> {
        if !self.phrase("a") {
            self.require("an", "\"a\" or \"an\"")?;
        }
        // The size is not among the attributes.
        let _ = self.one_of(Size::ALL, Size::word);
        let colour = self.one_of(Colour::ALL, Colour::word).ok_or_else(|| self.error("a colour"))?;
        let shape = self.one_of(Shape::ALL, Shape::word).ok_or_else(|| self.error("a shape"))?;
        Ok((shape, colour))
    }

    /// Consumes the words of the first option that comes next.
    fn one_of<T: Copy, const N: usize>(
        &mut self,
        options: [T; N],
        words: fn(T) -> &'static str,
    ) -> Option<T> {
        options.into_iter().find(|option| self.phrase(words(*option)))
    }

    /// Consumes `phrase` if it comes next.
    fn phrase(&mut self, phrase: &str) -> bool {
        let n_words = phrase.split(' ').count();
        let matches = self.words[self.position..].iter().take(n_words).copied().eq(phrase.split(' '));
        if matches {
            self.position += n_words;
        }
        matches
    }

    fn require(&mut self, phrase: &str, expected: &'static str) -> Result<(), CaptionError> {
        if self.phrase(phrase) { Ok(()) } else { Err(self.error(expected)) }
    }

    fn error(&self, expected: &'static str) -> CaptionError {
        let found = self.words.get(self.position).map_or("the end".to_owned(), |word| format!("`{word}`"));
        CaptionError::Grammar { position: self.position, expected, found }
    }
}
