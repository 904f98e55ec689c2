//! The prompts of CASCADE's figures, as its appendices D and E print them (arXiv 2605.07230v1, published under CC BY
//! 4.0). Their ids are the number of the figure and the place in it; those whose features are compared come first.

use crate::error::{DatasetError, Place, Result};
use crate::prompt::{Prompt, PromptId};
use crate::prompt_set::PromptSet;
use std::path::Path;

/// The name in specs.
pub(crate) const NAME: &str = "cascade-figures";

/// Id and prompt, a line each.
const LINES: &str = include_str!("cascade_figures.tsv");

/// The prompts, in the order of the file.
pub(crate) fn prompts() -> Result<PromptSet> {
    let bad = |line: &str| {
        let place = Place::Item("line".into());
        DatasetError::malformed(Path::new(NAME), place, "an id, a tab and a prompt", format!("{line:?}"))
    };
    let prompt = |line: &str| {
        let (id, text) = line.split_once('\t').ok_or_else(|| bad(line))?;
        Ok(Prompt::new(PromptId::new(id).map_err(|_| bad(line))?, text))
    };
    PromptSet::new(NAME, LINES.lines().map(prompt).collect::<Result<_>>()?)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use super::*;

    #[test]
    fn every_figure_has_its_prompts() {
        let set = prompts().unwrap();
        let n_of = |figure: &str| {
            let of = |prompt: &&Prompt| prompt.id.as_str().rsplit_once('-').is_some_and(|(f, _)| f == figure);
            set.prompts().iter().filter(of).count()
        };
        let figures = ["fig1", "fig3", "fig9", "fig11", "fig12", "fig13", "fig14"];
        assert_eq!(figures.map(n_of), [14, 2, 1, 4, 4, 1, 5]);
        assert_eq!(set.n_prompts(), 31);
        assert_eq!(set.prompts()[3].text, "A grey dog with a black collar sits outside in the sun");
    }
}
