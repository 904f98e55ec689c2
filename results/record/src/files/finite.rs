//! Looks for a float that JSON cannot hold. JSON writers turn NaN and infinity into null without a word;
//! everything this crate writes passes through here first.

use std::fmt;

use serde::ser::{self, Serialize};

/// A NaN or infinite float, and the path of fields that leads to it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{field}` is {value}, which JSON cannot hold; leave it out and say why")]
pub struct NotFinite {
    /// Fields from the outside in, with list positions (`cells[3].nfe`).
    pub field: String,
    /// "NaN", "inf" or "-inf".
    pub value: String,
}

/// Checks every float inside a value.
pub fn check_finite<T: Serialize + ?Sized>(value: &T) -> Result<(), NotFinite> {
    value.serialize(Walk { place: Place::Root }).map_err(|found| NotFinite {
        field: if found.path.is_empty() { "value".to_owned() } else { found.path },
        value: found.value,
    })
}

/// A serialiser that writes nothing.
struct Walk<'a> {
    place: Place<'a>,
}

/// Where a value is. Spelled out only for an error: every row passes through here.
#[derive(Clone, Copy)]
enum Place<'a> {
    Root,
    Field(&'a Place<'a>, &'a str),
    At(&'a Place<'a>, usize),
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Root => Ok(()),
            Place::Field(Place::Root, name) => f.write_str(name),
            Place::Field(outside, name) => write!(f, "{outside}.{name}"),
            Place::At(outside, n) => write!(f, "{outside}[{n}]"),
        }
    }
}

#[derive(Debug)]
struct Found {
    path: String,
    value: String,
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}", self.value, self.path)
    }
}

impl std::error::Error for Found {}

impl ser::Error for Found {
    fn custom<T: fmt::Display>(message: T) -> Found {
        Found { path: String::new(), value: message.to_string() }
    }
}

impl Walk<'_> {
    fn float(self, value: f64) -> Result<(), Found> {
        if value.is_finite() {
            Ok(())
        } else {
            Err(Found { path: self.place.to_string(), value: value.to_string() })
        }
    }
}

/// Inside a list or map.
struct Inside<'a> {
    place: Place<'a>,
    /// Of an enum; a step of its own.
    variant: Option<&'static str>,
    n_seen: usize,
    map_key: String,
}

impl<'a> Inside<'a> {
    fn new(place: Place<'a>, variant: Option<&'static str>) -> Inside<'a> {
        Inside { place, variant, n_seen: 0, map_key: String::new() }
    }

    fn field<T: Serialize + ?Sized>(&self, name: &str, value: &T) -> Result<(), Found> {
        let outside = self.variant.map_or(self.place, |variant| Place::Field(&self.place, variant));
        value.serialize(Walk { place: Place::Field(&outside, name) })
    }

    fn next<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Found> {
        let outside = self.variant.map_or(self.place, |variant| Place::Field(&self.place, variant));
        let place = Place::At(&outside, self.n_seen);
        self.n_seen += 1;
        value.serialize(Walk { place })
    }
}

macro_rules! harmless {
    ($($name:ident: $type:ty),*) => {
        $(fn $name(self, _: $type) -> Result<(), Found> { Ok(()) })*
    };
}

impl<'a> ser::Serializer for Walk<'a> {
    type Ok = ();
    type Error = Found;
    type SerializeSeq = Inside<'a>;
    type SerializeTuple = Inside<'a>;
    type SerializeTupleStruct = Inside<'a>;
    type SerializeTupleVariant = Inside<'a>;
    type SerializeMap = Inside<'a>;
    type SerializeStruct = Inside<'a>;
    type SerializeStructVariant = Inside<'a>;

    harmless!(serialize_bool: bool, serialize_char: char, serialize_str: &str, serialize_bytes: &[u8],
        serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64,
        serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64,
        serialize_unit_struct: &'static str);

    fn serialize_f32(self, value: f32) -> Result<(), Found> {
        self.float(f64::from(value))
    }

    fn serialize_f64(self, value: f64) -> Result<(), Found> {
        self.float(value)
    }

    fn serialize_none(self) -> Result<(), Found> {
        Ok(())
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Found> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), Found> {
        Ok(())
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, _: &'static str) -> Result<(), Found> {
        Ok(())
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), Found> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), Found> {
        value.serialize(Walk { place: Place::Field(&self.place, variant) })
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Inside<'a>, Found> {
        Ok(Inside::new(self.place, None))
    }

    fn serialize_tuple(self, _: usize) -> Result<Inside<'a>, Found> {
        Ok(Inside::new(self.place, None))
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Inside<'a>, Found> {
        Ok(Inside::new(self.place, None))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Inside<'a>, Found> {
        Ok(Inside::new(self.place, Some(variant)))
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Inside<'a>, Found> {
        Ok(Inside::new(self.place, None))
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Inside<'a>, Found> {
        Ok(Inside::new(self.place, None))
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Inside<'a>, Found> {
        Ok(Inside::new(self.place, Some(variant)))
    }
}

/// Implements a compound of unnamed values.
macro_rules! list {
    ($($trait:ident :: $method:ident),*) => {
        $(impl ser::$trait for Inside<'_> {
            type Ok = ();
            type Error = Found;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Found> {
                self.next(value)
            }

            fn end(self) -> Result<(), Found> {
                Ok(())
            }
        })*
    };
}

/// Implements a compound of named values.
macro_rules! fields {
    ($($trait:ident),*) => {
        $(impl ser::$trait for Inside<'_> {
            type Ok = ();
            type Error = Found;

            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                key: &'static str,
                value: &T,
            ) -> Result<(), Found> {
                self.field(key, value)
            }

            fn end(self) -> Result<(), Found> {
                Ok(())
            }
        })*
    };
}

list!(
    SerializeSeq::serialize_element,
    SerializeTuple::serialize_element,
    SerializeTupleStruct::serialize_field,
    SerializeTupleVariant::serialize_field
);
fields!(SerializeStruct, SerializeStructVariant);

impl ser::SerializeMap for Inside<'_> {
    type Ok = ();
    type Error = Found;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Found> {
        self.map_key = serde_json::to_value(key)
            .ok()
            .and_then(|name| name.as_str().map(str::to_owned))
            .unwrap_or_else(|| "?".to_owned());
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Found> {
        self.field(&self.map_key, value)
    }

    fn end(self) -> Result<(), Found> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // A failed unwrap is a failed test.
    use std::collections::BTreeMap;

    use super::*;

    #[derive(serde::Serialize)]
    enum Shape {
        Point,
        Circle(f64),
        Box { sides: [f32; 2] },
        Pair(u8, f64),
    }

    fn field_of<T: Serialize>(value: T) -> String {
        check_finite(&value).unwrap_err().field
    }

    #[test]
    fn the_path_to_a_float_that_json_cannot_hold_is_named() {
        assert_eq!(field_of(f64::NAN), "value");
        assert_eq!(field_of(Some([0.0, f64::INFINITY])), "[1]");
        assert_eq!(field_of(BTreeMap::from([("a", vec![1.0]), ("b", vec![2.0, -f64::INFINITY])])), "b[1]");
        assert_eq!(field_of(Shape::Circle(f64::NAN)), "Circle");
        assert_eq!(field_of(Shape::Box { sides: [1.0, f32::NAN] }), "Box.sides[1]");
        assert_eq!(field_of((1, Shape::Pair(1, f64::NAN))), "[1].Pair[1]");
        assert_eq!(check_finite(&-f64::INFINITY).unwrap_err().value, "-inf");
    }

    #[test]
    fn ordinary_values_pass() {
        assert!(check_finite(&(1.5, "NaN", [Shape::Point, Shape::Circle(f64::MAX)], None::<f64>)).is_ok());
    }
}
