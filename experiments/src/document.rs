//! A spec as written: a tree of values, each with the place where it was written, before anything is known
//! about what the keys mean. Overrides and axes act on this tree, so that a bad value is reported at the
//! argument or the line it came from.

use toml::de::{DeTable, DeValue};

use crate::{
    error::{Fault, SpecError},
    place::{Place, Places},
};

/// One value and where it was written.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) place: Place,
    pub(crate) value: Value,
}

/// A TOML value.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    Text(String),
    Integer(i64),
    Real(f64),
    Flag(bool),
    /// A date or time; no key of a spec takes one.
    Date(String),
    List(Vec<Node>),
    /// Entries in the order in which they are written.
    Table(Vec<Entry>),
}

/// A key of a table with its value.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) key: String,
    /// Where the key is written.
    pub(crate) place: Place,
    pub(crate) node: Node,
}

impl Node {
    /// The tree of a TOML document.
    pub(crate) fn parse(file: &str, text: &str) -> Result<Self, SpecError> {
        let places = Places::file(file, text);
        let table = DeTable::parse(text).map_err(|error| syntax(&places, &error))?;
        let entries = table_entries(table.into_inner(), &places)?;
        Ok(Self { place: places.at(0), value: Value::Table(entries) })
    }

    /// The tree of one TOML value that an argument holds.
    pub(crate) fn parse_value(argument: &str, text: &str) -> Result<Self, SpecError> {
        let places = Places::argument(argument);
        let value = DeValue::parse(text).map_err(|error| syntax(&places, &error))?;
        let offset = value.span().start;
        from_toml(value.into_inner(), offset, &places)
    }

    /// The value of `key`, if this is a table that has it.
    pub(crate) fn get(&self, key: &str) -> Option<&Node> {
        self.entries().iter().find(|entry| entry.key == key).map(|entry| &entry.node)
    }

    /// The entries of a table; none for anything else.
    pub(crate) fn entries(&self) -> &[Entry] {
        match &self.value {
            Value::Table(entries) => entries,
            _ => &[],
        }
    }

    /// The value of the key `name`, where it is text: how elements of a list are addressed.
    pub(crate) fn name(&self) -> Option<&str> {
        match &self.get("name")?.value {
            Value::Text(name) => Some(name),
            _ => None,
        }
    }

    /// Type and value in words, for messages: ``text "abc"``, `a table`.
    pub(crate) fn described(&self) -> String {
        match &self.value {
            Value::Text(text) => format!("the text {text:?}"),
            Value::Integer(number) => format!("the integer {number}"),
            Value::Real(number) => format!("the number {number:?}"),
            Value::Flag(flag) => format!("the flag {flag}"),
            Value::Date(date) => format!("the date {date}"),
            Value::List(items) => format!("a list of {}", items.len()),
            Value::Table(_) => "a table".to_owned(),
        }
    }

    /// Whether two values are the same, wherever they were written; 1 and 1.0 are.
    pub(crate) fn same_value(&self, other: &Node) -> bool {
        match (&self.value, &other.value) {
            (Value::Integer(a), Value::Real(b)) | (Value::Real(b), Value::Integer(a)) => *a as f64 == *b,
            _ => self.to_json() == other.to_json(),
        }
    }

    /// The value without places. A number that JSON cannot hold (NaN, infinity) becomes null, which no
    /// configuration accepts as a number.
    pub(crate) fn to_json(&self) -> serde_json::Value {
        match &self.value {
            Value::Text(text) | Value::Date(text) => text.as_str().into(),
            Value::Integer(number) => (*number).into(),
            Value::Real(number) => (*number).into(),
            Value::Flag(flag) => (*flag).into(),
            Value::List(items) => items.iter().map(Self::to_json).collect(),
            Value::Table(entries) => {
                entries.iter().map(|entry| (entry.key.clone(), entry.node.to_json())).collect()
            }
        }
    }
}

fn table_entries(table: DeTable<'_>, places: &Places<'_>) -> Result<Vec<Entry>, SpecError> {
    let mut entries = Vec::with_capacity(table.len());
    for (key, value) in table {
        let (key_offset, value_offset) = (key.span().start, value.span().start);
        let node = from_toml(value.into_inner(), value_offset, places)?;
        entries.push((
            key_offset,
            Entry { key: key.into_inner().into_owned(), place: places.at(key_offset), node },
        ));
    }
    // The reader sorts keys by name; axes and messages follow the order of the text.
    entries.sort_by_key(|(offset, _)| *offset);
    Ok(entries.into_iter().map(|(_, entry)| entry).collect())
}

fn from_toml(value: DeValue<'_>, offset: usize, places: &Places<'_>) -> Result<Node, SpecError> {
    let too_large = |text: String| {
        Fault::new(format!("the number {text} does not fit into 64 bits")).at(places.at(offset))
    };
    let value = match value {
        DeValue::String(text) => Value::Text(text.into_owned()),
        DeValue::Integer(number) => Value::Integer(
            i64::from_str_radix(number.as_str(), number.radix())
                .map_err(|_| too_large(number.to_string()))?,
        ),
        DeValue::Float(number) => {
            let number: f64 = number.as_str().parse().map_err(|_| too_large(number.to_string()))?;
            // -0.0 becomes 0.0, so that one number has one name and one digest.
            Value::Real(number + 0.0)
        }
        DeValue::Boolean(flag) => Value::Flag(flag),
        DeValue::Datetime(date) => Value::Date(date.to_string()),
        DeValue::Array(items) => {
            let nodes = items.into_iter().map(|item| {
                let offset = item.span().start;
                from_toml(item.into_inner(), offset, places)
            });
            Value::List(nodes.collect::<Result<_, _>>()?)
        }
        DeValue::Table(table) => Value::Table(table_entries(table, places)?),
    };
    Ok(Node { place: places.at(offset), value })
}

fn syntax(places: &Places<'_>, error: &toml::de::Error) -> SpecError {
    let (place, reason) = places.said(error.span(), error.message());
    Fault::new(format!("not TOML: {reason}")).at(place)
}
