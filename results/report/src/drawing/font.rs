//! The one typeface of all figures, DejaVu Sans, carried in the program: figures look the same on every
//! machine and need no system font. Its licence is in the FONTS note of this crate.

use std::sync::OnceLock;

use ab_glyph::{Font, FontRef, PxScale, ScaleFont};
use plotters::style::{FontStyle, register_font};

/// The family as plotters and SVG know it: ours first, then what a viewer may have.
pub(crate) const FAMILY: &str = "DejaVu Sans, Verdana, Helvetica, Arial, sans-serif";

/// plotters sizes text by its line height; a size divided by this is the em in pixels, in SVG too.
pub(crate) const SIZE_PER_EM: f64 = 1.24;

/// Height of a small x in ems.
pub(crate) const X_HEIGHT: f64 = 0.547;

/// Makes the family known to plotters; cheap after the first call.
pub(crate) fn register() {
    static DONE: OnceLock<()> = OnceLock::new();
    DONE.get_or_init(|| {
        let fonts = [(FontStyle::Normal, bytes(false)), (FontStyle::Bold, bytes(true))];
        for (style, bytes) in fonts {
            assert!(register_font(FAMILY, style, bytes).is_ok(), "the embedded fonts are valid");
        }
    });
}

/// The file of the regular or the bold face.
pub(crate) fn bytes(bold: bool) -> &'static [u8] {
    if bold { dejavu::sans::bold() } else { dejavu::sans::regular() }
}

/// The regular or the bold face.
pub(crate) fn face(bold: bool) -> &'static FontRef<'static> {
    static REGULAR: OnceLock<FontRef<'static>> = OnceLock::new();
    static BOLD: OnceLock<FontRef<'static>> = OnceLock::new();
    let cell = if bold { &BOLD } else { &REGULAR };
    cell.get_or_init(|| FontRef::try_from_slice(bytes(bold)).expect("the embedded fonts are valid"))
}

/// ab_glyph's scale for an em of so many pixels.
pub(crate) fn scale(bold: bool, em: f64) -> PxScale {
    let face = face(bold);
    let units = f64::from(face.units_per_em().expect("DejaVu Sans states its units"));
    PxScale::from((em * f64::from(face.height_unscaled()) / units) as f32)
}

/// Width of a line of text in pixels, kerning included.
pub(crate) fn width(text: &str, em: f64, bold: bool) -> f64 {
    let font = face(bold).as_scaled(scale(bold, em));
    let mut width = 0.0;
    let mut previous = None;
    for c in text.chars() {
        let glyph = font.glyph_id(c);
        if let Some(previous) = previous {
            width += f64::from(font.kern(previous, glyph));
        }
        width += f64::from(font.h_advance(glyph));
        previous = Some(glyph);
    }
    width
}

/// Breaks text into lines no wider than `width` pixels, inside a word only where one is too long; what
/// does not fit in `n_lines` ends in an ellipsis.
pub(crate) fn wrap(text: &str, width_px: f64, n_lines: usize, em: f64, bold: bool) -> Vec<String> {
    let fits = |line: &str| width(line, em, bold) <= width_px;
    let mut lines: Vec<String> = vec![String::new()];
    for word in text.split_whitespace() {
        let last = lines.last_mut().expect("there is always a line");
        let joined = if last.is_empty() { word.to_owned() } else { format!("{last} {word}") };
        if fits(&joined) {
            *last = joined;
            continue;
        }
        if !last.is_empty() {
            lines.push(String::new());
        }
        for c in word.chars() {
            let last = lines.last_mut().expect("there is always a line");
            if !last.is_empty() && !fits(&format!("{last}{c}")) {
                lines.push(c.to_string());
            } else {
                last.push(c);
            }
        }
    }
    if lines.len() > n_lines {
        lines.truncate(n_lines);
        if let Some(last) = lines.last_mut() {
            while !last.is_empty() && !fits(&format!("{last}…")) {
                last.pop();
            }
            last.push('…');
        }
    }
    lines
}

/// Text no wider than `width` pixels: where it is too long the middle is left out, since names that begin alike
/// often differ at their ends.
pub(crate) fn shortened(text: &str, width_px: f64, em: f64) -> String {
    let letters: Vec<char> = text.chars().collect();
    let fits = |candidate: &str| width(candidate, em, false) <= width_px;
    if fits(text) {
        return text.to_owned();
    }
    let cut = |n: usize| -> String {
        let head = n.div_ceil(2);
        let tail = letters[letters.len() - n / 2..].iter();
        letters[..head].iter().chain(&['…']).chain(tail).collect()
    };
    (0..letters.len()).rev().map(cut).find(|candidate| fits(candidate)).unwrap_or_else(|| "…".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_stay_inside_their_width_and_lose_nothing() {
        let text = "a red circle above a very-long-unbreakable-compound-word-indeed and three blue squares";
        let lines = wrap(text, 120.0, 99, 15.0, false);
        assert!(lines.len() > 3 && lines.iter().all(|line| width(line, 15.0, false) <= 120.0), "{lines:?}");
        let letters = |t: &str| t.chars().filter(|c| !c.is_whitespace()).collect::<String>();
        assert_eq!(letters(&lines.concat()), letters(text));
    }

    #[test]
    fn what_does_not_fit_ends_in_an_ellipsis() {
        let lines = wrap("one two three four five six seven eight nine ten", 80.0, 2, 15.0, true);
        assert_eq!(lines.len(), 2);
        assert!(lines[1].ends_with('…') && width(&lines[1], 15.0, true) <= 80.0, "{lines:?}");
    }

    #[test]
    fn a_name_that_is_too_long_keeps_both_ends() {
        let name = "cascade-further tau_pos=0.85";
        assert_eq!(shortened(name, 1000.0, 15.0), name);
        let short = shortened(name, 130.0, 15.0);
        assert!(short.starts_with("casca") && short.ends_with("0.85") && short.contains('…'), "{short}");
        assert!(width(&short, 15.0, false) <= 130.0);
        assert_eq!(shortened("name", 0.0, 15.0), "…");
    }

    #[test]
    fn greek_arrows_and_signs_have_glyphs() {
        for c in "Δτλ↑↓×±—…éü".chars() {
            assert_ne!(face(false).glyph_id(c).0, 0, "{c}");
        }
    }
}
