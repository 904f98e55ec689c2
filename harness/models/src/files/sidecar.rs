//! The `config.json` that the hub keeps beside weights: what of it a network cannot know by itself. Where files of
//! several networks share a folder, a network's own is named after its weights.

use std::path::Path;

use specimen_catalog::part::config_beside;
use specimen_foundation::bounded_read::read_side_text;
use specimen_weights::LoadError;

/// Its entries; none where there is no such file.
pub struct Sidecar(serde_json::Value);

impl Sidecar {
    /// Reads the file beside `weights` that has their name and ends in `.json`, or else the `config.json` of their
    /// folder, if there is one.
    ///
    /// # Errors
    /// A file that cannot be read, or is not JSON.
    pub fn beside(weights: &Path) -> Result<Self, LoadError> {
        let Some(path) = config_beside(weights) else { return Ok(Self(serde_json::Value::Null)) };
        let text = read_side_text(&path).map_err(|source| LoadError::Read { path: path.clone(), source })?;
        let value = serde_json::from_str(&text)
            .map_err(|e| LoadError::Config { path, reason: format!("not JSON: {e}") })?;
        Ok(Self(value))
    }

    /// One that has these entries.
    #[must_use]
    pub fn of(entries: serde_json::Value) -> Self {
        Self(entries)
    }

    /// All entries; null where there is no such file.
    #[must_use]
    pub fn entries(&self) -> &serde_json::Value {
        &self.0
    }

    /// The number under `key`.
    #[must_use]
    pub fn number(&self, key: &str) -> Option<f64> {
        self.0.get(key)?.as_f64()
    }

    /// The flag under `key`.
    #[must_use]
    pub fn flag(&self, key: &str) -> Option<bool> {
        self.0.get(key)?.as_bool()
    }

    /// The three numbers of layers under `key`.
    #[must_use]
    pub fn places(&self, key: &str) -> Option<[usize; 3]> {
        let numbers = self.0.get(key)?.as_array()?.iter();
        let places: Option<Vec<usize>> = numbers.map(|n| n.as_u64()?.try_into().ok()).collect();
        places?.try_into().ok()
    }

    /// The text under `key`.
    #[must_use]
    pub fn text(&self, key: &str) -> Option<&str> {
        self.0.get(key)?.as_str()
    }
}
