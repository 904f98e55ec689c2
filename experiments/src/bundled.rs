//! The specs of this repository, inside the program: they can be listed, copied and run where no checkout is.

/// One spec of `experiments/specs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BundledSpec {
    /// Its path below `experiments/specs` without the ending: `quickstart`, `paper/cascade_table1_tiny`.
    pub name: &'static str,
    /// Its text, TOML.
    pub text: &'static str,
}

/// All of them, in the order of their names.
pub const BUNDLED: &[BundledSpec] = &include!(concat!(env!("OUT_DIR"), "/specs.rs"));

/// The spec of a name, which may be shortened to its last part (`cascade_table1_tiny`): no two specs share one.
#[must_use]
pub fn bundled(name: &str) -> Option<&'static BundledSpec> {
    BUNDLED.iter().find(|spec| spec.name == name || last_part(spec.name) == name)
}

/// The name without its folder.
pub(crate) fn last_part(name: &str) -> &str {
    name.rsplit_once('/').map_or(name, |(_, last)| last)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::parse::SpecText;

    #[test]
    fn every_file_is_in_the_program_and_resolves() {
        for spec in BUNDLED {
            let path = format!("{}/specs/{}.toml", env!("CARGO_MANIFEST_DIR"), spec.name);
            assert_eq!(spec.text, std::fs::read_to_string(&path).unwrap(), "{path}");
            SpecText::parse(&path, spec.text).unwrap().resolve().unwrap();
        }
        assert!(BUNDLED.len() >= 40, "{}", BUNDLED.len());
    }

    #[test]
    fn a_spec_is_found_by_its_name_or_the_last_part_of_it() {
        assert_eq!(bundled("quickstart").unwrap().name, "quickstart");
        assert_eq!(bundled("paper/cascade_table1_tiny"), bundled("cascade_table1_tiny"));
        assert!(bundled("cascade_table1_tiny").is_some());
        assert_eq!(bundled("cascade"), None);
        let last: BTreeSet<&str> = BUNDLED.iter().map(|spec| last_part(spec.name)).collect();
        assert_eq!(last.len(), BUNDLED.len(), "two specs share the last part of their names");
    }
}
