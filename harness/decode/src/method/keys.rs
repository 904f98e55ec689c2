//! The keys of a table of a spec, as the type that reads it declares them, so that no list repeats them.

use std::fmt;

use serde::{
    Deserialize,
    de::{Deserializer, Error, Visitor},
    forward_to_deserialize_any,
};

/// The keys of a struct whose reading serde derives; none of another type.
pub(crate) fn of<'de, T: Deserialize<'de>>() -> &'static [&'static str] {
    T::deserialize(Ask).err().map_or(&[], |Keys(keys)| keys)
}

/// `first`, then the keys of all lists in their order, each once.
pub(crate) fn merged(first: &'static str, lists: &[&[&'static str]]) -> Vec<&'static str> {
    let mut merged = vec![first];
    for &key in lists.iter().copied().flatten() {
        if !merged.contains(&key) {
            merged.push(key);
        }
    }
    merged
}

/// Answers with the keys a struct asks for, in place of their values.
struct Ask;

/// The keys that were asked for.
#[derive(Debug)]
struct Keys(&'static [&'static str]);

impl<'de> Deserializer<'de> for Ask {
    type Error = Keys;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Keys> {
        Err(Keys(&[]))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        keys: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Keys> {
        Err(Keys(keys))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit
        unit_struct newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

impl fmt::Display for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.join(", "))
    }
}

impl std::error::Error for Keys {}

impl Error for Keys {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self(&[])
    }
}
