//! What may differ between runs whose numbers are put into one table.

use serde::Serialize;

/// A difference between runs that a table of both refuses unless the user allows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mix {
    /// The machine, its threads, the device or the kind of number differ: times say nothing of one another.
    Device,
    /// Cells of one name are other methods, models, datasets or sampling.
    Identity,
    /// A metric was computed by another protocol.
    Protocol,
    /// Images were drawn from other random sources: they differ by chance too.
    Seed,
}

impl Mix {
    /// All kinds.
    pub const ALL: [Mix; 4] = [Mix::Device, Mix::Identity, Mix::Protocol, Mix::Seed];

    /// Its name on a command line.
    pub fn name(self) -> &'static str {
        match self {
            Mix::Device => "device",
            Mix::Identity => "identity",
            Mix::Protocol => "protocol",
            Mix::Seed => "seed",
        }
    }

    /// The kind of this name.
    pub fn named(name: &str) -> Option<Mix> {
        Mix::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_written_and_found_by_its_name() {
        for kind in Mix::ALL {
            assert_eq!(Mix::named(kind.name()), Some(kind));
            assert_eq!(serde_json::to_value(kind).ok(), Some(kind.name().into()));
        }
        assert_eq!(Mix::named("devise"), None);
    }
}
