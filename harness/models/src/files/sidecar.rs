//! The `config.json` that the hub keeps beside weights: what of it a network cannot know by itself. Where files of
//! several networks share a folder, a network's own is named after its weights.

use std::path::Path;

use specimen_catalog::part::config_beside;
use specimen_foundation::bounded_read::read_side_text;
use specimen_weights::LoadError;

/// Largest size that a head can have.
const MAX_SIZE: u64 = 1 << 20;
/// Entries that are sizes: those of published heads, then those of the embedded model's.
const SIZES: [&str; 12] = [
    "hidden_size",
    "intermediate_size",
    "num_attention_heads",
    "num_key_value_heads",
    "num_hidden_layers",
    "head_dim",
    "vocab_size",
    "draft_vocab_size",
    "n_heads",
    "n_kv_heads",
    "d_head",
    "d_ffn",
];

/// Its entries; none where there is no such file.
#[derive(Clone)]
pub struct Sidecar(serde_json::Value);

impl Sidecar {
    /// Reads the file beside `weights` that has their name and ends in `.json`, or else the `config.json` of their
    /// folder, if there is one.
    pub fn beside(weights: &Path) -> Result<Self, LoadError> {
        let Some(path) = config_beside(weights) else { return Ok(Self(serde_json::Value::Null)) };
        let text = read_side_text(&path).map_err(|source| LoadError::Read { path: path.clone(), source })?;
        let value = serde_json::from_str(&text)
            .map_err(|e| LoadError::Config { path, reason: format!("not JSON: {e}") })?;
        Ok(Self(value))
    }

    /// One that has these entries.
    pub fn of(entries: serde_json::Value) -> Self {
        Self(entries)
    }

    /// All entries; null where there is no such file.
    pub fn entries(&self) -> &serde_json::Value {
        &self.0
    }

    /// Refuses entries that no head can have: sizes, epsilons and factors that are none, and other kinds of values than are
    /// read. An entry that is null says nothing.
    pub fn check(&self) -> Result<(), String> {
        for (key, value) in self.0.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null()) {
            let is_below = |most: f64| value.as_f64().is_some_and(|x| x > 0.0 && x < most);
            let (is_one, expected) = match key.as_str() {
                key if SIZES.contains(&key) => (
                    value.as_u64().is_some_and(|n| (1..=MAX_SIZE).contains(&n)),
                    format!("a whole number from 1 to {MAX_SIZE}"),
                ),
                "rms_norm_eps" | "norm_eps" => (is_below(1.0), "a number between 0 and 1".to_owned()),
                "embed_upscale" | "rope_theta" => {
                    (is_below(1e12), "a number above 0 and below 1e12".to_owned())
                }
                "bias" => (value.is_boolean(), "true or false".to_owned()),
                "taps" => (self.places(key).is_some(), "the numbers of three layers".to_owned()),
                "prefix_pads" => (value.is_string(), "a text".to_owned()),
                _ => continue,
            };
            if !is_one {
                return Err(format!("`{key}` is {value}, expected {expected}"));
            }
        }
        let size = |key: &str| self.0.get(key).and_then(serde_json::Value::as_u64);
        for (heads, shared, width) in
            [("num_attention_heads", "num_key_value_heads", "head_dim"), ("n_heads", "n_kv_heads", "d_head")]
        {
            if let (Some(n), Some(n_shared)) = (size(heads), size(shared))
                && n % n_shared != 0
            {
                return Err(format!(
                    "`{shared}` is {n_shared}, expected a divisor of `{heads}`, which is {n}"
                ));
            }
            if let Some(odd) = size(width).filter(|width| width % 2 == 1) {
                return Err(format!("`{width}` is {odd}, expected an even number"));
            }
        }
        Ok(())
    }

    /// Refuses entries that are not those of `built`, the configuration of what was built for a model: its sizes are those of
    /// the tensors.
    pub fn check_against(&self, built: &serde_json::Value) -> Result<(), String> {
        let implied = |key: &str| match key {
            "num_key_value_heads" => built.get("num_attention_heads").cloned(),
            "head_dim" => {
                let of = |key: &str| built.get(key)?.as_u64();
                Some(of("hidden_size")?.checked_div(of("num_attention_heads")?)?.into())
            }
            _ => None,
        };
        // The configuration of a target that shares the folder has other layers.
        let compared = SIZES.iter().filter(|key| **key != "num_hidden_layers").chain(&["bias", "rope_theta"]);
        for key in compared {
            let said = self.0.get(*key).filter(|value| !value.is_null());
            let (Some(said), Some(expected)) = (said, built.get(*key).cloned().or_else(|| implied(key)))
            else {
                continue;
            };
            // 10000 and 10000.0 are one number.
            if *said != expected && (said.as_f64() != expected.as_f64() || !said.is_number()) {
                return Err(format!("`{key}` is {said}, its tensors and the model have {expected}"));
            }
        }
        Ok(())
    }

    /// The number under `key`.
    pub fn number(&self, key: &str) -> Option<f64> {
        self.0.get(key)?.as_f64()
    }

    /// The flag under `key`.
    pub fn flag(&self, key: &str) -> Option<bool> {
        self.0.get(key)?.as_bool()
    }

    /// The three numbers of layers under `key`.
    pub fn places(&self, key: &str) -> Option<[usize; 3]> {
        let numbers = self.0.get(key)?.as_array()?.iter();
        let places: Option<Vec<usize>> = numbers.map(|n| n.as_u64()?.try_into().ok()).collect();
        places?.try_into().ok()
    }

    /// The text under `key`.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.0.get(key)?.as_str()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn entries_that_no_head_can_have_are_refused_by_name_and_others_are_not() {
        for (key, values) in [
            ("d_ffn", vec![json!(0), json!(-1), json!(1.5), json!(1_u64 << 40), json!("64"), json!([1])]),
            ("hidden_size", vec![json!(0), json!(-4096), json!(true)]),
            ("norm_eps", vec![json!(0.0), json!(-1e-5), json!(1), json!("1e-5")]),
            ("rms_norm_eps", vec![json!(0), json!(3.0), json!({})]),
            ("embed_upscale", vec![json!(0), json!(-1), json!(1e300)]),
            ("bias", vec![json!(1), json!("true")]),
            ("taps", vec![json!([0, 1]), json!([0, 1, -2]), json!(3), json!(["0", "1", "2"])]),
            ("prefix_pads", vec![json!(1)]),
            ("head_dim", vec![json!(0), json!(5)]),
        ] {
            for value in values {
                let said = Sidecar::of(json!({ key: value })).check();
                let is_named = said
                    .as_ref()
                    .is_err_and(|why| why.starts_with(&format!("`{key}` is {value}, expected ")));
                assert!(is_named, "{said:?}");
            }
        }
        assert!(Sidecar::of(json!({ "n_heads": 4, "n_kv_heads": 3 })).check().is_err());
        let sound = json!({ "n_heads": 4, "n_kv_heads": 2, "d_head": 32, "head_dim": null, "norm_eps": 1e-5, "taps": [0, 1, 2],
            "other": -1 });
        assert_eq!(Sidecar::of(sound).check(), Ok(()));
    }

    #[test]
    fn what_is_implied_is_compared_too_and_numbers_by_their_value() {
        let built =
            json!({ "hidden_size": 64, "num_attention_heads": 4, "rope_theta": 10000.0, "bias": true });
        let check = |said: serde_json::Value| Sidecar::of(said).check_against(&built);
        for said in [
            json!({ "hidden_size": 32 }),
            json!({ "num_key_value_heads": 2 }),
            json!({ "head_dim": 32 }),
            json!({ "rope_theta": 5e5 }),
            json!({ "bias": false }),
        ] {
            assert!(check(said.clone()).is_err(), "{said}");
        }
        let same = json!({ "num_key_value_heads": 4, "head_dim": 16, "rope_theta": 10000, "hidden_size": null, "d_ffn": 7 });
        assert_eq!(check(same), Ok(()));
    }
}
