//! Which claims of the papers a run of a spec could decide, before anything is made. What the values will be is not known:
//! a claim that could be decided may still end without a verdict, where its interval spans both sides.

use specimen_catalog::metric;
use specimen_experiments::measures;
use specimen_experiments::spec::{Cell, MetricSpec, Spec};
use specimen_stats::fewest::FEWEST_OBSERVATIONS;

use super::paper::{Claim, Paper, PaperTable, Test};

/// A claim that a spec tests, and whether a run of it could decide it.
#[derive(Clone, Debug, PartialEq)]
pub struct Prospect {
    /// The paper's name on the command line, and the table's.
    pub table: String,
    /// The claim's id.
    pub claim: String,
    /// In words.
    pub text: String,
    /// What could come of it.
    pub outlook: Outlook,
}

/// What could come of a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outlook {
    /// A verdict.
    Decidable,
    /// None: it is about an absolute magnitude, and the model is none of the paper's.
    NotComparable,
    /// None, by another spec; this one is too small for it or has other cells.
    Elsewhere {
        /// File name of that spec.
        spec: String,
    },
    /// None.
    Undecidable {
        /// What the spec lacks.
        why: String,
    },
}

/// The claims of all papers that the committed spec `file` (its file name below `experiments/specs/paper`) tests, for `spec`,
/// which is that spec with any overrides, over `n_prompts` prompts.
pub fn prospects(file: &str, spec: &Spec, n_prompts: usize) -> anyhow::Result<Vec<Prospect>> {
    let mut found = Vec::new();
    for paper in Paper::all()? {
        for claim in &paper.claims {
            let Some(outlook) = outlook(&paper, claim, file, (spec, n_prompts))? else { continue };
            let (table, id) = (format!("{}:{}", paper.id, claim.table), claim.id.clone());
            found.push(Prospect { table, claim: id, text: claim.text.clone(), outlook });
        }
    }
    Ok(found)
}

/// The outlook of a claim; `None` where the spec does not test it.
fn outlook(
    paper: &Paper,
    claim: &Claim,
    file: &str,
    (spec, n_prompts): (&Spec, usize),
) -> anyhow::Result<Option<Outlook>> {
    let table: &PaperTable = paper.table(&claim.table)?;
    let is_its_own = claim.specs.values().any(|own| own == file);
    let model = table.specs.iter().find(|(_, files)| files.iter().any(|name| name == file));
    let Some(model) = model.map(|(model, _)| model.clone()).or(is_its_own.then(String::new)) else {
        return Ok(None);
    };
    Ok(Some(match claim.specs.get(&model) {
        Some(own) if !is_its_own => Outlook::Elsewhere { spec: own.clone() },
        _ => match lacking(paper, claim, spec, n_prompts) {
            Some(why) => Outlook::Undecidable { why },
            None if is_absolute(paper, claim, spec) => Outlook::NotComparable,
            None => Outlook::Decidable,
        },
    }))
}

/// Whether the claim is about an absolute magnitude and no cell has a model of the paper.
fn is_absolute(paper: &Paper, claim: &Claim, spec: &Spec) -> bool {
    matches!(claim.test, Test::Between { .. })
        && spec.cells.iter().all(|cell| !paper.models.contains_key(&cell.model.name))
}

/// What `spec` over `n_prompts` prompts lacks to decide a claim.
fn lacking(paper: &Paper, claim: &Claim, spec: &Spec, n_prompts: usize) -> Option<String> {
    let named = |name: &str| spec.cells.iter().find(|cell| cell.name == name);
    let of_role = |name: &str| {
        let mut names = paper.roles.get(name).into_iter().flatten();
        names.find(|name| named(name).is_some()).cloned().unwrap_or_else(|| name.to_owned())
    };
    let condition = claim.test.clone().with_cells(of_role);
    let mut cells = Vec::new();
    for name in condition.cells() {
        match named(name) {
            Some(cell) => cells.push(cell),
            None => return Some(format!("the spec has no cell `{name}`")),
        }
    }
    if n_prompts < FEWEST_OBSERVATIONS {
        return Some(format!(
            "it has {n_prompts} prompts, and fewer than {FEWEST_OBSERVATIONS} decide no claim"
        ));
    }
    let whys = claim.measure.iter().map(|measure| unmeasured(measure, &cells, spec, n_prompts));
    let whys: Option<Vec<String>> = whys.collect();
    // One measure that all cells have is enough.
    whys.map(|whys| whys.join("; "))
}

/// Why a cell of `cells` gets no value of `measure`; `None` where all get one.
fn unmeasured(measure: &str, cells: &[&Cell], spec: &Spec, n_prompts: usize) -> Option<String> {
    if measure == "speedup" {
        let untimed = cells.iter().find(|cell| spec.baseline_of(cell).is_none());
        return untimed
            .map(|cell| format!("cell `{}` has no speedup: no baseline is timed with it", cell.name));
    }
    if measures::measure(measure).is_some() || metric(measure.split(':').next()?).is_none() {
        return None;
    }
    let gives = |asked: &&MetricSpec| {
        let is_it = |value: &String| {
            value == measure || value.split_once(':').is_some_and(|(name, _)| name == measure)
        };
        asked.name == measure || asked.values().iter().any(is_it)
    };
    let Some(asked) = spec.metrics.iter().find(gives) else {
        return Some(format!("the spec has no metric `{measure}`"));
    };
    let least = asked.fewest_images()?;
    let n_images = n_prompts * spec.dataset.samples as usize;
    (n_images < least)
        .then(|| format!("`{measure}` has no value below {least} images, and a cell has {n_images}"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use super::*;
    use crate::verdicts::reproduce::paper::{resolved, spec_named};

    fn of(file: &str, set: &[&str]) -> Vec<Prospect> {
        let mut text = spec_named(file).unwrap();
        for argument in set {
            text.set(argument).unwrap();
        }
        let spec = text.resolve().unwrap();
        let n_prompts = spec.dataset.limit.unwrap();
        prospects(file, &spec, n_prompts).unwrap()
    }

    fn outlook_of(found: &[Prospect], claim: &str) -> Outlook {
        found.iter().find(|prospect| prospect.claim == claim).unwrap().outlook.clone()
    }

    #[test]
    fn a_table_at_full_size_can_decide_what_it_claims() {
        let found = of("cascade_table1_llamagen_coco.toml", &[]);
        for claim in ["fastest", "accepts-most", "lantern-worst-quality"] {
            assert_eq!(outlook_of(&found, claim), Outlook::Decidable, "{claim}");
        }
    }

    #[test]
    fn too_few_prompts_and_too_few_images_are_told_apart() {
        let found = of("cascade_table1_llamagen_coco.toml", &["dataset.limit=5"]);
        let Outlook::Undecidable { why } = outlook_of(&found, "fastest") else { panic!("{found:?}") };
        assert_eq!(why, "it has 5 prompts, and fewer than 6 decide no claim");
        let found = of("cascade_table1_llamagen_coco.toml", &["dataset.limit=100"]);
        assert_eq!(outlook_of(&found, "fastest"), Outlook::Decidable);
        let Outlook::Undecidable { why } = outlook_of(&found, "lantern-worst-quality") else {
            panic!("{found:?}")
        };
        assert_eq!(
            why,
            "`fid` has no value below 5000 images, and a cell has 100; the spec has no metric `fd-scenes`"
        );
    }

    #[test]
    fn a_cell_without_its_baseline_has_no_speedup() {
        let file = "cascade_table1_llamagen_coco.toml";
        let mut spec = resolved(file).unwrap();
        spec.cells.retain(|cell| cell.name != "ar");
        let found = prospects(file, &spec, 5000).unwrap();
        let Outlook::Undecidable { why } = outlook_of(&found, "fastest") else { panic!("{found:?}") };
        assert!(why.contains("`cascade` has no speedup"), "{why}");
        spec.cells.retain(|cell| cell.name != "lantern");
        let found = prospects(file, &spec, 5000).unwrap();
        let Outlook::Undecidable { why } = outlook_of(&found, "fastest") else { panic!("{found:?}") };
        assert_eq!(why, "the spec has no cell `lantern`");
    }

    #[test]
    fn a_claim_with_a_spec_of_its_own_is_left_to_it() {
        let found = of("cascade_table1_tiny.toml", &[]);
        let elsewhere = Outlook::Elsewhere { spec: "cascade_quality_tiny.toml".to_owned() };
        assert_eq!(outlook_of(&found, "lantern-worst-quality"), elsewhere);
        let found = of("cascade_quality_tiny.toml", &[]);
        assert_eq!(outlook_of(&found, "lantern-worst-quality"), Outlook::Decidable);
    }

    #[test]
    fn a_spec_of_no_table_has_no_claims() {
        assert!(of("vvs_fig9_lumina_coco.toml", &[]).is_empty());
    }
}
