//! Methods by name for a single image; their settings are those of the cells of `quickstart`.

use crate::exit::CliError;

/// A method that can be named.
pub(crate) struct NamedMethod {
    pub(crate) name: &'static str,
    /// Its drafter as a spec writes it; `None` for plain decoding.
    pub(crate) drafter: Option<&'static str>,
}

/// The keys of a method in a cell.
const KEYS: [&str; 3] = ["drafter", "accept", "schedule"];

pub(crate) const METHODS: [NamedMethod; 6] = [
    NamedMethod { name: "ar", drafter: None },
    NamedMethod {
        name: "sd-chain3",
        drafter: Some(r#"{ proposer = "eagle1", shape = "chain", depth = 3 }"#),
    },
    NamedMethod {
        name: "eagle1-static7",
        drafter: Some(r#"{ proposer = "eagle1", shape = "static", tree = "tiny_7" }"#),
    },
    NamedMethod {
        name: "eagle1-static13",
        drafter: Some(r#"{ proposer = "eagle1", shape = "static", tree = "tiny_13" }"#),
    },
    NamedMethod {
        name: "eagle1-static25",
        drafter: Some(r#"{ proposer = "eagle1", shape = "static", tree = "tiny_25" }"#),
    },
    NamedMethod {
        name: "eagle2-dynamic",
        drafter: Some(
            r#"{ proposer = "eagle1", shape = "dynamic", top_k = 6, depth = 4, total_token = 26 }"#,
        ),
    },
];

/// What `method` says of a cell, as a spec writes it behind the cell's name: of a name or an inline table of a drafter the
/// drafter, of a table that begins with a key of a method its contents. Empty: plain decoding.
///
/// # Errors
/// A name that is none.
pub(crate) fn cell_of(method: &str) -> Result<String, CliError> {
    if let Some(inner) = method.trim().strip_prefix('{') {
        let first = inner.split('=').next().unwrap_or_default().trim();
        let is_method = KEYS.iter().any(|key| first == *key || first.starts_with(&format!("{key}.")));
        // What is neither is read as a drafter, whose grammar says what is wrong with it.
        return Ok(match inner.trim_end().strip_suffix('}').filter(|_| is_method) {
            Some(keys) => format!(", {keys}"),
            None => format!(", drafter = {method}"),
        });
    }
    match METHODS.iter().find(|known| known.name == method) {
        Some(known) => Ok(known.drafter.map(|drafter| format!(", drafter = {drafter}")).unwrap_or_default()),
        None => {
            let names = METHODS.map(|known| format!("`{}`", known.name)).join(", ");
            let example = METHODS[1].drafter.expect("the second method drafts");
            Err(CliError::Usage(format!(
                "--method: unknown method `{method}`, expected one of {names}, a drafter such as '{example}', or a table of \
                 `drafter`, `accept` and `schedule` as in a spec"
            )))
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use std::path::Path;

    use specimen_experiments::parse::SpecText;

    use super::*;

    #[test]
    fn names_mean_what_the_cells_of_quickstart_mean() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
        let text = SpecText::read(&root.join("experiments/specs/quickstart.toml")).unwrap();
        let mut n_compared = 0;
        for cell in text.resolve().unwrap().cells {
            let Ok(said) = cell_of(&cell.name) else { continue };
            let mut named = text.clone();
            if let Some((key, value)) = said.strip_prefix(", ").and_then(|said| said.split_once(" = ")) {
                named.set(&format!("cell.{}.{key}={value}", cell.name)).unwrap();
            }
            let found = named.resolve().unwrap().cells.into_iter().find(|c| c.name == cell.name).unwrap();
            assert_eq!(found.method, cell.method, "{}", cell.name);
            n_compared += 1;
        }
        assert_eq!(n_compared, METHODS.len() - 1, "all but the 7-node tree are cells of quickstart");
    }

    #[test]
    fn an_unknown_name_is_answered_with_all_names() {
        let message = cell_of("eagle-static13").unwrap_err().to_string();
        assert!(message.contains("`eagle1-static13`") && message.contains("proposer"), "{message}");
    }

    #[test]
    fn a_table_is_a_method_by_its_first_key_or_a_drafter() {
        let drafter = r#"{ proposer = "eagle1", shape = "chain", depth = 2 }"#;
        assert_eq!(cell_of(drafter).unwrap(), format!(", drafter = {drafter}"));
        let keys = format!("drafter = {drafter}, accept = [{{ kind = \"gsd\", group = 3 }}]");
        assert_eq!(cell_of(&format!("{{{keys}}}")).unwrap(), format!(", {keys}"));
        assert_eq!(cell_of("{ drafter.proposer = \"none\" }").unwrap(), ",  drafter.proposer = \"none\" ");
    }
}
