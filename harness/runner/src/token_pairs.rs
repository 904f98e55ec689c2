//! Metrics of the tokens of two images of one prompt and seed: how many are equal, where the first difference is, and how
//! close the draw was there.
//!
//! With coupled seeds a lossless method gives the baseline's tokens as far as its forwards give the same logits. Forwards of
//! other shapes round otherwise, in bf16 above all: a difference of rounding has a small gap.

use specimen_catalog::Metric;
use specimen_decode::{dist::TokenId, generation::Generation, noise::lead, rng::Uniforms};
use specimen_experiments::spec::Cell;
use specimen_measure::pairs::mean_of_groups;
use specimen_models::seam::likelihood::{image_tokens, last_distribution};
use specimen_record::{MetricFile, Record};

use crate::{error::RunError, images::load::Models, pair_scores::Partners};

/// The metric of tokens that opens the model.
pub(crate) const DIFFERENCE_GAP: &str = "difference-gap";

/// Fills in a metric of tokens.
pub(crate) fn fill(
    file: &mut MetricFile,
    metric: &'static Metric,
    (cell, partners): (&Cell, &Partners<'_>),
    models: &mut Models,
) -> Result<(), RunError> {
    if let Some(without) = partners.records.iter().flatten().find(|record| record.tokens.is_empty()) {
        let why = "its tokens are not known: another program made it and returned none";
        file.why = Some(format!("{}: {why}", without.key));
        return Ok(());
    }
    let of_pairs = |value: fn(&[&Record; 2]) -> f64| partners.records.iter().map(value).map(Some).collect();
    let values: Vec<Option<f64>> = match metric.name.as_str() {
        "token-match" => of_pairs(share_of_equal),
        "first-difference" => {
            let n_whole = partners.records.iter().filter(|pair| first_difference(pair).is_none()).count();
            file.extra.insert("n_without_difference".to_owned(), n_whole as f64);
            of_pairs(|pair| first_difference(pair).unwrap_or(pair[0].tokens.len()) as f64)
        }
        _ => match why_no_gap(cell) {
            Some(why) => {
                file.why = Some(why.to_owned());
                return Ok(());
            }
            None => match gaps(cell, partners, models)? {
                Ok(gaps) => gaps,
                Err(why) => {
                    file.why = Some(why);
                    return Ok(());
                }
            },
        },
    };
    let known: Vec<(usize, f64)> =
        values.iter().enumerate().filter_map(|(pair, value)| Some((pair, (*value)?))).collect();
    file.n = known.len() as u64;
    if known.is_empty() {
        file.why = Some(format!("no token of {} images differs from the baseline's", values.len()));
        return Ok(());
    }
    let numbers: Vec<f64> = known.iter().map(|(_, value)| *value).collect();
    if let Some((pair, _)) = known.iter().find(|(_, value)| !value.is_finite()) {
        let key = &partners.records[*pair][0].key;
        file.why =
            Some(format!("{key}: the token where the images part has probability 0 in a forward of its own"));
        return Ok(());
    }
    let prompts = partners.prompts();
    let prompts: Vec<&str> = known.iter().map(|(pair, _)| prompts[*pair]).collect();
    let (mean, ci95) = mean_of_groups(&metric.name, &numbers, Some(&prompts))?;
    (file.value, file.ci95) = (Some(mean), ci95);
    if metric.name == DIFFERENCE_GAP {
        file.extra.insert("max".to_owned(), numbers.iter().copied().fold(0.0, f64::max));
    }
    file.per_item =
        Some(known.iter().map(|(pair, value)| (partners.records[*pair][0].key.clone(), *value)).collect());
    Ok(())
}

/// Positions at which two images have the same token, over the positions of the longer one.
fn share_of_equal([ours, theirs]: &[&Record; 2]) -> f64 {
    let n_equal = ours.tokens.iter().zip(&theirs.tokens).filter(|(ours, theirs)| ours == theirs).count();
    n_equal as f64 / ours.tokens.len().max(theirs.tokens.len()) as f64
}

/// The first position at which the tokens differ.
fn first_difference([ours, theirs]: &[&Record; 2]) -> Option<usize> {
    ours.tokens.iter().zip(&theirs.tokens).position(|(ours, theirs)| ours != theirs)
}

/// Why a difference of this cell is no matter of rounding.
fn why_no_gap(cell: &Cell) -> Option<&'static str> {
    if cell.is_of_another_program() {
        return Some("another program made its images, and how it draws from a seed is not known");
    }
    if !cell.sampling.coupled {
        return Some("its tokens are not drawn by coupled seeds, so they differ by chance");
    }
    (!cell.method.is_lossless())
        .then_some("its method is relaxed, so its tokens differ by what its rule grants")
}

/// How far the baseline's token is ahead of the cell's, or behind it, where the images part: the difference of log-probability
/// plus noise in nats, by a forward of the tokens before it. `None` for images that are equal. A text says which tokens are
/// none of the model.
fn gaps(
    cell: &Cell,
    partners: &Partners<'_>,
    models: &mut Models,
) -> Result<Result<Vec<Option<f64>>, String>, RunError> {
    let mut found = Vec::with_capacity(partners.records.len());
    for (pair, text) in partners.records.iter().zip(&partners.texts) {
        let Some(position) = first_difference(pair) else {
            found.push(None);
            continue;
        };
        let generation = models.get(&cell.model)?.open(text, &cell.sampling, 1)?;
        for record in pair {
            if let Err(wrong) = image_tokens(&generation, &record.tokens) {
                return Ok(Err(format!("{}: no image tokens of `{}`: {wrong}", record.key, cell.model.name)));
            }
        }
        let n_left = Generation::n_tokens(&generation) - position;
        let tokens: Vec<TokenId> = pair[1].tokens[..=position].iter().map(|&token| TokenId(token)).collect();
        let distribution = last_distribution(&generation, &tokens);
        let parted = [pair[1], pair[0]].map(|record| TokenId(record.tokens[position]));
        let uniforms = Uniforms::new(pair[0].seed.0).coupled(true);
        found.push(Some(lead(&distribution, &uniforms, n_left, parted).abs()));
    }
    Ok(Ok(found))
}
