//! The type of a network's numbers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the arithmetic of a network is done in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Dtype {
    /// 32 bits. The reference tools of all metrics use it.
    F32,
    /// bfloat16: 16 bits with 8 of mantissa.
    Bf16,
    /// IEEE half precision: 16 bits with 11 of mantissa.
    F16,
}

impl Dtype {
    /// All types with their names in specs and protocols.
    pub const ALL: [(&'static str, Self); 3] = [("f32", Self::F32), ("bf16", Self::Bf16), ("f16", Self::F16)];

    /// Its name in specs, protocols and identities of features.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::Bf16 => "bf16",
            Self::F16 => "f16",
        }
    }

    /// Bytes of one number.
    #[must_use]
    pub fn n_bytes(self) -> u64 {
        match self {
            Self::F32 => 4,
            Self::Bf16 | Self::F16 => 2,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_is_written_and_read_by_its_name() {
        for (name, dtype) in Dtype::ALL {
            assert_eq!(dtype.name(), name);
            assert_eq!(serde_json::to_string(&dtype).ok(), Some(format!("\"{name}\"")));
            assert_eq!(serde_json::from_str::<Dtype>(&format!("\"{name}\"")).ok(), Some(dtype));
        }
    }
}
