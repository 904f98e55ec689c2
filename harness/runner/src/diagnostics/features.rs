//! Cosines of the target's features of each image: between its rows, and between positions of all of it.

use specimen_decode::dist::TokenId;
use specimen_models::seam::{
    feature_rows::{feature_pairs, feature_rows},
    loaded_model::LoadedModel,
};
use specimen_record::{DiagnosticFile, FeaturePairs, FeatureRows, Record};

use crate::{error::RunError, score::CellImages};

/// The most positions of an image whose pairs are compared: 4,096 cosines, about 25 kB an image.
const MOST_POSITIONS: usize = 64;

/// Between image rows, and within the last one.
pub(crate) fn rows(
    file: &mut DiagnosticFile,
    images: &CellImages<'_>,
    model: &LoadedModel,
) -> Result<(), RunError> {
    for (record, prompt) in images.records.iter().zip(&images.prompts) {
        let generation = model.open(prompt, &images.cell.sampling, 1)?;
        let found = match feature_rows(&generation, &tokens_of(record)) {
            Ok(found) => found,
            Err(n) => {
                file.why =
                    Some(format!("{n} tokens form no square, so it is not known which stand in one row"));
                return Ok(());
            }
        };
        let n = small(found.n);
        file.feature_rows.push(FeatureRows {
            key: record.key.clone(),
            n_rows: n,
            n_cols: n,
            neighbours: Some(rounded(found.neighbours)),
            between: found.between.into_iter().map(rounded).collect(),
            last_row: found.last_row.into_iter().map(rounded).collect(),
        });
    }
    Ok(())
}

/// Between positions that are evenly spread over the whole image.
pub(crate) fn pairs(
    file: &mut DiagnosticFile,
    images: &CellImages<'_>,
    model: &LoadedModel,
) -> Result<(), RunError> {
    for (record, prompt) in images.records.iter().zip(&images.prompts) {
        let generation = model.open(prompt, &images.cell.sampling, 1)?;
        let tokens = tokens_of(record);
        let positions = spread(tokens.len(), MOST_POSITIONS);
        let cosines = feature_pairs(&generation, &tokens, &positions);
        file.feature_pairs.push(FeaturePairs {
            key: record.key.clone(),
            n_tokens: small(tokens.len()),
            positions: positions.into_iter().map(small).collect(),
            cosines: cosines.into_iter().map(rounded).collect(),
        });
    }
    Ok(())
}

fn tokens_of(record: &Record) -> Vec<TokenId> {
    record.tokens.iter().map(|&token| TokenId(token)).collect()
}

/// At most `most` of `0..n`, in order: the first of as many equal stretches.
fn spread(n: usize, most: usize) -> Vec<usize> {
    let n_taken = n.min(most);
    (0..n_taken).map(|at| at * n / n_taken).collect()
}

fn small(n: usize) -> u32 {
    u32::try_from(n).expect("an image has fewer tokens than that")
}

/// Four decimals: more is not seen, and takes space.
fn rounded(cosine: f64) -> f64 {
    (cosine * 1e4).round() / 1e4
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cosines_keep_four_decimals() {
        assert_eq!([0.123_449, 0.999_96, -0.000_04].map(rounded), [0.1234, 1.0, -0.0]);
    }

    #[test]
    fn positions_are_spread_over_the_image() {
        assert_eq!(spread(3, 64), [0, 1, 2]);
        assert_eq!(spread(10, 4), [0, 2, 5, 7]);
        assert!(spread(0, 4).is_empty());
        let all = spread(2356, 128);
        assert!(all.len() == 128 && all.windows(2).all(|pair| (18..=19).contains(&(pair[1] - pair[0]))));
    }
}
