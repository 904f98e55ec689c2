//! What the sequence of an image looks like besides its codes: tokens at fixed places, and the way from
//! tokens to a map of codes.
//!
//! A forced token is no choice of the target: it is accepted with probability 1, and counted apart.

use specimen_decode::{dist::TokenId, frontier::PictureRows};

/// The structural tokens of an image of Lumina-mGPT by their place behind the codes; that of a row end is also Emu3's, whose
/// three closing ones follow.
const ROW_END: usize = 0;
const IMAGE_END: usize = 1;
const IMAGE_BEGIN: usize = 2;
const HEIGHT: usize = 3;
/// Tokens that close an image of Emu3.
const N_CLOSING: usize = 3;

/// The sequence of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grammar {
    /// Codes alone, row by row (Anole).
    Plain,
    /// Begin, height and width, every row closed by a row end, and an image end (Lumina-mGPT).
    Framed,
    /// Every row closed by a row end, and three closing tokens: the ends of a frame, of the image and of the sequence
    /// (Emu3).
    Closed,
}

/// A grammar over a map of codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageForm {
    /// How it is written down.
    pub grammar: Grammar,
    /// Rows of codes.
    pub rows: usize,
    /// Codes of a row.
    pub columns: usize,
    /// Size of the codebook.
    pub n_codes: usize,
}

impl ImageForm {
    /// Tokens of the sequence.
    pub fn n_tokens(&self) -> usize {
        let PictureRows { n_before, len, n } = self.picture_rows();
        n_before + n * len + self.n_behind()
    }

    /// Tokens behind the last row.
    fn n_behind(&self) -> usize {
        match self.grammar {
            Grammar::Plain => 0,
            Grammar::Framed => 1,
            Grammar::Closed => N_CLOSING,
        }
    }

    /// Where its rows lie among the tokens.
    pub fn picture_rows(&self) -> PictureRows {
        match self.grammar {
            Grammar::Plain => PictureRows { n_before: 0, len: self.columns, n: self.rows },
            Grammar::Framed => PictureRows { n_before: 3, len: self.columns + 1, n: self.rows },
            Grammar::Closed => PictureRows { n_before: 0, len: self.columns + 1, n: self.rows },
        }
    }

    /// Kinds of structural tokens, which follow the codes in the vocabulary: of Lumina-mGPT row end, image end, image begin,
    /// height, and width where it is another; of Emu3 the ends of a row, of a frame, of the image and of the sequence.
    pub fn n_structural(&self) -> usize {
        match self.grammar {
            Grammar::Plain => 0,
            Grammar::Framed => self.width() + 1,
            Grammar::Closed => 1 + N_CLOSING,
        }
    }

    fn width(&self) -> usize {
        if self.rows == self.columns { HEIGHT } else { HEIGHT + 1 }
    }

    /// The token at every position that holds no code.
    pub fn forced(&self) -> Vec<Option<TokenId>> {
        (0..self.n_tokens())
            .map(|position| self.structural(position).map(|at| TokenId((self.n_codes + at) as u32)))
            .collect()
    }

    /// Kind of the structural token at `position`, if there stands one.
    fn structural(&self, position: usize) -> Option<usize> {
        let PictureRows { n_before, len, n } = self.picture_rows();
        let Some(body) = position.checked_sub(n_before) else {
            return Some([IMAGE_BEGIN, HEIGHT, self.width()][position]);
        };
        match body.checked_sub(n * len) {
            // The kinds of what closes an image follow that of a row end.
            Some(behind) => Some(IMAGE_END + behind),
            None => (body % len == self.columns).then_some(ROW_END),
        }
    }

    /// The codes of `tokens`, row by row. A structural token where a code belongs counts as code 0: the target never
    /// draws one there, so only a relaxed rule can have put it there, which the trace counts as out of support.
    ///
    /// # Panics
    /// If `tokens` are no whole image.
    pub fn codes(&self, tokens: &[TokenId]) -> Vec<i64> {
        assert_eq!(tokens.len(), self.n_tokens(), "an image is whole");
        let free = tokens.iter().enumerate().filter(|&(position, _)| self.structural(position).is_none());
        free.map(|(_, token)| if token.idx() < self.n_codes { i64::from(token.0) } else { 0 }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LUMINA_768: ImageForm =
        ImageForm { grammar: Grammar::Framed, rows: 48, columns: 48, n_codes: 8192 };

    const EMU3_720: ImageForm =
        ImageForm { grammar: Grammar::Closed, rows: 90, columns: 90, n_codes: 32_768 };

    #[test]
    fn published_sequences_have_their_published_lengths() {
        let lumina_512 = ImageForm { rows: 32, columns: 32, ..LUMINA_768 };
        let anole = ImageForm { grammar: Grammar::Plain, ..lumina_512 };
        let all = [LUMINA_768, lumina_512, anole, EMU3_720];
        assert_eq!(all.map(|form| form.n_tokens()), [2356, 1060, 1024, 8193]);
        let n_forced = |form: ImageForm| form.forced().iter().flatten().count();
        assert_eq!(all.map(n_forced), [52, 36, 0, 93]);
    }

    #[test]
    fn rows_end_where_their_row_ends_stand() {
        for form in [LUMINA_768, ImageForm { rows: 3, columns: 5, ..LUMINA_768 }, EMU3_720] {
            let PictureRows { n_before, len, n } = form.picture_rows();
            for row in 1..=n {
                assert_eq!(form.structural(n_before + row * len - 1), Some(ROW_END));
            }
            assert_eq!(form.structural(n_before + n * len), Some(IMAGE_END));
        }
    }

    #[test]
    fn lumina_closes_every_49th_token_behind_the_header() {
        // As Lumina-mGPT writes images: behind the header the k-th token, from 1, is a row end if 49 divides k, and the image
        // end if k is 49 * 48 + 1.
        let forced = LUMINA_768.forced();
        let token = |at: usize| Some(TokenId((8192 + at) as u32));
        assert_eq!(forced[..3], [token(IMAGE_BEGIN), token(HEIGHT), token(HEIGHT)]);
        for (position, &found) in forced.iter().enumerate().skip(3) {
            let k = position - 2;
            let expected = match k {
                2353 => token(IMAGE_END),
                _ if k % 49 == 0 => token(ROW_END),
                _ => None,
            };
            assert_eq!(found, expected, "{k}");
        }
    }

    #[test]
    fn emu3_closes_every_91st_token_and_the_image_by_three() {
        // As Emu3's own code allows tokens: the k-th behind the mark of an image, from 1, is a row end if 91 divides k; behind
        // 91 * 90 come the ends of a frame, of the image and of the sequence.
        for (k, found) in (1..).zip(EMU3_720.forced()) {
            let expected = match k - 90 * 91 {
                behind @ 1..=3 => Some(behind as u32),
                _ => (k % 91 == 0).then_some(0),
            };
            assert_eq!(found, expected.map(|kind| TokenId(32_768 + kind)), "{k}");
        }
        let small = ImageForm { rows: 2, columns: 2, n_codes: 10, ..EMU3_720 };
        assert_eq!(small.n_structural(), 4);
        assert_eq!(small.codes(&[1, 2, 10, 3, 4, 10, 11, 12, 13].map(TokenId)), [1, 2, 3, 4]);
    }

    #[test]
    fn an_oblong_image_says_height_before_width_and_keeps_its_codes_in_order() {
        let form = ImageForm { grammar: Grammar::Framed, rows: 2, columns: 3, n_codes: 10 };
        assert_eq!((form.n_structural(), LUMINA_768.n_structural()), (5, 4));
        let tokens = [12, 13, 14, 1, 2, 3, 10, 4, 5, 6, 10, 11].map(TokenId);
        let forced = form.forced();
        for (&token, forced) in tokens.iter().zip(&forced) {
            assert!(forced.is_none_or(|forced| forced == token));
        }
        assert_eq!(forced.iter().flatten().count(), 6);
        assert_eq!(form.codes(&tokens), [1, 2, 3, 4, 5, 6]);
    }

    #[test]
    fn a_structural_token_in_place_of_a_code_is_drawn_as_code_0() {
        let form = ImageForm { grammar: Grammar::Framed, rows: 1, columns: 2, n_codes: 10 };
        assert_eq!(form.codes(&[12, 13, 14, 13, 7, 10, 11].map(TokenId)), [0, 7]);
    }
}
