//! Methods by name for a single image; their settings are those of the cells of `quickstart`.

use crate::exit::CliError;

/// A method that can be named.
pub(crate) struct NamedMethod {
    pub(crate) name: &'static str,
    /// Its drafter as a spec writes it; `None` for plain decoding.
    pub(crate) drafter: Option<&'static str>,
}

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

/// The drafter that `method` means: a name, or an inline TOML table as it stands. `None`: plain decoding.
///
/// # Errors
/// A name that is none.
pub(crate) fn drafter_of(method: &str) -> Result<Option<&str>, CliError> {
    if method.trim_start().starts_with('{') {
        return Ok(Some(method));
    }
    match METHODS.iter().find(|known| known.name == method) {
        Some(known) => Ok(known.drafter),
        None => {
            let names = METHODS.map(|known| format!("`{}`", known.name)).join(", ");
            let example = METHODS[1].drafter.expect("the second method drafts");
            Err(CliError::Usage(format!(
                "--method: unknown method `{method}`, expected one of {names}, or a drafter such as '{example}'"
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
            let Ok(drafter) = drafter_of(&cell.name) else { continue };
            let mut named = text.clone();
            if let Some(drafter) = drafter {
                named.set(&format!("cell.{}.drafter={drafter}", cell.name)).unwrap();
            }
            let found = named.resolve().unwrap().cells.into_iter().find(|c| c.name == cell.name).unwrap();
            assert_eq!(found.method, cell.method, "{}", cell.name);
            n_compared += 1;
        }
        assert_eq!(n_compared, METHODS.len() - 1, "all but the 7-node tree are cells of quickstart");
    }

    #[test]
    fn an_unknown_name_is_answered_with_all_names() {
        let message = drafter_of("eagle-static13").unwrap_err().to_string();
        assert!(message.contains("`eagle1-static13`") && message.contains("proposer"), "{message}");
    }
}
