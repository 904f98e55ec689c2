//! Methods by name for a single image: the cells of `quickstart`.

use specimen_experiments::bundled::bundled;
use specimen_foundation::names::nearest;

use crate::exit::CliError;

/// The keys of a method in a cell.
const KEYS: [&str; 3] = ["drafter", "accept", "schedule"];

/// The spec whose cells have the names.
const SPEC: &str = "quickstart";

/// What `method` says of a cell, as a spec writes it behind the cell's name: of a name or an inline table of a drafter the
/// drafter, of a table that begins with a key of a method its contents. Empty: plain decoding.
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
    let spec = bundled(SPEC).expect("the quickstart is in the program");
    spec.cell(method).ok_or_else(|| {
        let names = spec.cell_names();
        let near = nearest(method, names.iter().map(String::as_str));
        let near = near.first().map_or_else(String::new, |name| format!(", did you mean `{name}`?"));
        let names = names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        CliError::Usage(format!(
            "--method: unknown method `{method}`{near}; expected one of {names}, a drafter such as \
             '{{ proposer = \"eagle1\", shape = \"chain\", depth = 3 }}', or a table of `drafter`, `accept` and `schedule` as \
             in a spec; a cell of another spec is taken by `--spec SPEC --cell CELL`"
        ))
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_cells_of_quickstart() {
        assert_eq!(cell_of("ar").unwrap(), "");
        let chain = cell_of("sd-chain3").unwrap();
        assert!(chain.starts_with(", drafter = {") && chain.contains("depth = 3"), "{chain}");
        let relaxed = cell_of("cascade").unwrap();
        assert!(relaxed.contains(", accept = [{") && relaxed.contains("tau_pos = 0.85"), "{relaxed}");
    }

    #[test]
    fn an_unknown_name_is_answered_with_all_names() {
        let message = cell_of("eagle-static13").unwrap_err().to_string();
        assert!(
            message.contains("did you mean `eagle1-static13`?") && message.contains("proposer"),
            "{message}"
        );
        assert!(message.contains("--spec SPEC --cell CELL"), "{message}");
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
