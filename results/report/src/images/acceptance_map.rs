//! Where each token of an image came from, read off the steps that made it; and the grid of tokens that an image
//! is made of.

/// Where a token came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The first token, drawn from the prefill.
    Prefill,
    /// A draft token that a verification accepted.
    Accepted,
    /// The correction or bonus token of a verification, drawn from the target's forward.
    Target,
    /// A draft token that was committed without verification.
    Skipped,
}

impl Origin {
    /// Its letter in the page's data.
    pub(crate) fn letter(self) -> char {
        match self {
            Origin::Prefill => 'p',
            Origin::Accepted => 'a',
            Origin::Target => 't',
            Origin::Skipped => 's',
        }
    }
}

/// The origin of each of `n_tokens` tokens, `[n_tokens]`. Steps are rows of a trace: drafted, accepted, emitted,
/// target forwards, draft forwards; what the last step emits past the end of the image is left out. `None` when
/// the steps do not fill the image.
pub(crate) fn origins(n_tokens: usize, steps: &[[u32; 5]]) -> Option<Vec<Origin>> {
    let mut found = Vec::with_capacity(n_tokens);
    found.push(Origin::Prefill);
    for [_, accepted, emitted, target_forwards, _] in steps {
        for at in 0..*emitted {
            found.push(match (*target_forwards, at < *accepted) {
                (0, _) => Origin::Skipped,
                (_, true) => Origin::Accepted,
                (_, false) => Origin::Target,
            });
        }
    }
    (found.len() >= n_tokens && n_tokens > 0).then(|| {
        found.truncate(n_tokens);
        found
    })
}

/// Columns and rows of the tokens of a picture of so many pixels, where they fill a grid with square cells; `None`
/// where they do not.
pub(crate) fn grid_of(n_tokens: usize, (width, height): (u32, u32)) -> Option<(usize, usize)> {
    if n_tokens == 0 || width == 0 || height == 0 {
        return None;
    }
    let n_columns = (n_tokens as f64 * f64::from(width) / f64::from(height)).sqrt().round() as usize;
    let n_rows = n_tokens.checked_div(n_columns)?;
    let is_square = n_columns as f64 * f64::from(height) == n_rows as f64 * f64::from(width);
    (n_columns * n_rows == n_tokens && is_square).then_some((n_columns, n_rows))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // A failed unwrap is a failed test.
    use super::*;

    fn letters(n_tokens: usize, steps: &[[u32; 5]]) -> Option<String> {
        origins(n_tokens, steps).map(|found| found.into_iter().map(Origin::letter).collect())
    }

    #[test]
    fn tokens_are_traced_to_their_step_and_the_overshoot_is_left_out() {
        let steps = [[13, 2, 3, 1, 5], [13, 0, 1, 1, 5], [3, 3, 3, 0, 3], [13, 4, 5, 1, 5]];
        assert_eq!(letters(13, &steps).unwrap(), "paattsssaaaat");
        assert_eq!(letters(10, &steps).unwrap(), "paattsssaa");
    }

    #[test]
    fn a_trace_that_does_not_fill_the_image_gives_no_map() {
        assert_eq!(letters(9, &[[3, 2, 3, 1, 3]]), None);
        assert_eq!(letters(0, &[]), None);
        assert_eq!(letters(1, &[]).unwrap(), "p");
    }

    #[test]
    fn a_grid_has_square_cells_and_holds_every_token() {
        assert_eq!(grid_of(256, (64, 64)), Some((16, 16)));
        assert_eq!(grid_of(576, (384, 384)), Some((24, 24)));
        assert_eq!(grid_of(128, (64, 32)), Some((16, 8)));
        assert_eq!(grid_of(255, (64, 64)), None);
        assert_eq!(grid_of(2352, (768, 768)), None);
        assert_eq!(grid_of(0, (64, 64)), None);
        assert_eq!(grid_of(4, (0, 64)), None);
    }
}
