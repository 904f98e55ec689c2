//! The prompts of CASCADE's figures, as its appendices D and E print them (arXiv 2605.07230v1, published under CC BY
//! 4.0). Their ids are the number of the figure and the place in it; those whose features are compared come first.

use crate::prompt::{Prompt, PromptId};
use crate::prompt_set::PromptSet;

/// The name in specs.
pub(crate) const NAME: &str = "cascade-figures";

/// Id and prompt, a line each.
const LINES: &str = include_str!("cascade_figures.tsv");

/// The prompts, in the order of the file.
pub(crate) fn prompts() -> PromptSet {
    let prompt = |line: &str| {
        let (id, text) = line.split_once('\t').expect("a test reads the file");
        Prompt::new(PromptId::new(id).expect("a test reads the file"), text)
    };
    PromptSet::new(NAME, LINES.lines().map(prompt).collect()).expect("a test reads the file")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_figure_has_its_prompts() {
        let set = prompts();
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
