//! What the file of a protocol says of itself: the same of every kind of protocol, and in no digest.

use std::{io::ErrorKind, path::Path};

use schemars::JsonSchema;
use specimen_foundation::place::Places;
use specimen_foundation::{failure, names::known_names};

use crate::bounded;
use crate::error::MeasureError;

/// Bytes of a protocol's file, at most.
pub(crate) const MAX_PROTOCOL_BYTES: u64 = 1 << 20;

/// The schema of protocol files.
pub(crate) const SCHEMA: u32 = 1;

/// Name and prose of a protocol.
// Invariant: the name has no spaces and no `@`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    pub(crate) name: String,
    pub(crate) about: String,
    pub(crate) tool: Option<String>,
    pub(crate) alias: Option<String>,
    pub(crate) source: String,
    pub(crate) cite: Vec<String>,
}

impl Head {
    /// The same, unless `schema` is another than this program reads or the name is none; then why.
    pub(crate) fn checked(self, schema: u32) -> Result<Self, String> {
        if schema != SCHEMA {
            return Err(format!("schema {schema}, this program reads {SCHEMA}"));
        }
        if self.name.is_empty() || self.name.contains(|c: char| c.is_whitespace() || c == '@') {
            return Err(format!("the name `{}`; a name has no spaces and no `@`", self.name));
        }
        Ok(self)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it is, in prose.
    pub fn about(&self) -> &str {
        &self.about
    }

    /// The tool whose values it agrees with.
    pub fn tool(&self) -> Option<&str> {
        self.tool.as_deref()
    }

    /// The tool's name, by which the protocol is found too.
    pub fn alias(&self) -> Option<&str> {
        self.alias.as_deref()
    }

    /// Where its facts come from.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Keys of the works to cite, in the catalog of citations.
    pub fn cite(&self) -> &[String] {
        &self.cite
    }

    /// Whether `name` is its own or its tool's.
    pub(crate) fn is_called(&self, name: &str) -> bool {
        self.name == name || self.alias() == Some(name)
    }
}

/// An error of the protocol at `place`.
pub(crate) fn fault_at(place: &str) -> impl Fn(String) -> MeasureError {
    move |reason| crate::error::protocol(place, reason)
}

/// The text of the protocol's file at `path`; `names` are those that the program has of its own.
pub(crate) fn read_file<'n>(
    path: &str,
    names: impl IntoIterator<Item = &'n str>,
) -> Result<String, MeasureError> {
    bounded::read_text(path.as_ref(), MAX_PROTOCOL_BYTES).map_err(|error| match error {
        MeasureError::Io { source, .. } if source.kind() == ErrorKind::NotFound => {
            let name = Path::new(path).file_stem().unwrap_or_default().to_string_lossy();
            failure!(Missing: "{path}: cannot read: there is no such file; a name that ends in `.toml` is \
                the path of a file, protocols of this program are named without it: {}",
                known_names(&name, names))
            .into()
        }
        other => other,
    })
}

/// The file of a protocol, read as `W`.
pub(crate) fn read<W: serde::de::DeserializeOwned>(place: &str, text: &str) -> Result<W, MeasureError> {
    parse_toml(place, text).map_err(|(place, reason)| fault_at(&place)(reason))
}

/// The text of a file, read as `W`, or place and reason.
pub(crate) fn parse_toml<W: serde::de::DeserializeOwned>(
    place: &str,
    text: &str,
) -> Result<W, (String, String)> {
    toml::from_str(text).map_err(|error| {
        let (place, reason) = Places::file(place, text).said(error.span(), error.message());
        (place.to_string(), reason)
    })
}

/// The JSON Schema of a file of protocols that is read as `W`. A file says `schema` as a number.
pub(crate) fn schema_of<W: JsonSchema>(title: &str) -> serde_json::Value {
    let mut schema = schemars::schema_for!(W).to_value();
    schema["title"] = title.into();
    schema["properties"]["schema"] = serde_json::json!({ "const": SCHEMA });
    schema
}
