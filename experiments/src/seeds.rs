//! The seed of one image. It depends on the run's seed, the model, the dataset, the prompt and the sample,
//! and not on the method, the shard or the order: methods are compared prompt by prompt on one seed.

/// Separates these digests from all others; the number changes when the fields do.
const DOMAIN: &[u8] = b"specimen item seed 1";

/// What an item's seed depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeedKey<'a> {
    /// The run's seed.
    pub run_seed: u64,
    /// Name of the model; its dtype and device do not count.
    pub model: &'a str,
    /// Name of the prompt set.
    pub dataset: &'a str,
    /// Id of the prompt.
    pub prompt_id: &'a str,
    /// Which image of the prompt, from 0.
    pub sample: u32,
}

impl SeedKey<'_> {
    /// The first 8 bytes, little-endian, of the blake3 of all fields, each preceded by its length as 8
    /// little-endian bytes, so that no two different keys have the same bytes. Numbers are little-endian.
    pub fn seed(&self) -> u64 {
        let mut hasher = blake3::Hasher::new();
        let fields = [
            DOMAIN,
            &self.run_seed.to_le_bytes(),
            self.model.as_bytes(),
            self.dataset.as_bytes(),
            self.prompt_id.as_bytes(),
            &self.sample.to_le_bytes(),
        ];
        for field in fields {
            hasher.update(&(field.len() as u64).to_le_bytes());
            hasher.update(field);
        }
        let digest = hasher.finalize();
        let first: [u8; 8] = digest.as_bytes()[..8].try_into().expect("a digest has 32 bytes");
        u64::from_le_bytes(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: SeedKey<'static> =
        SeedKey { run_seed: 42, model: "tiny", dataset: "scenes-val", prompt_id: "7", sample: 0 };

    #[test]
    fn each_field_counts_and_their_borders_do_too() {
        let keys = [
            KEY,
            SeedKey { run_seed: 43, ..KEY },
            SeedKey { model: "tin", dataset: "yscenes-val", ..KEY },
            SeedKey { model: "igpt-mnist", ..KEY },
            SeedKey { dataset: "scenes-train", ..KEY },
            SeedKey { dataset: "scenes-val7", prompt_id: "", ..KEY },
            SeedKey { prompt_id: "8", ..KEY },
            SeedKey { sample: 1, ..KEY },
        ];
        let mut seeds = keys.map(|key| key.seed());
        seeds.sort_unstable();
        assert!(seeds.windows(2).all(|pair| pair[0] != pair[1]), "{seeds:x?}");
    }

    #[test]
    fn the_seed_of_a_known_item_never_changes() {
        // Computed with the reference implementation of blake3 from the documented bytes.
        assert_eq!(KEY.seed(), 0x98db_da78_f5a1_ea9e);
    }
}
