//! The three pictures of the known answers, by integer arithmetic; `scripts/reference_values.py` draws the same.

use specimen_pixels::Image;

const WIDTH: usize = 96;
const HEIGHT: usize = 72;

/// What the pictures show, for metrics that take a prompt.
pub const PROMPTS: [&str; 3] =
    ["an orange disc before a blue sky", "a chessboard in cream and green", "waves of coloured stripes"];

/// A disc, a chessboard and waves, of 96x72 pixels each.
pub fn pictures() -> [Image; 3] {
    [disc, board, waves].map(|draw| {
        let pixels = (0..HEIGHT).flat_map(|y| (0..WIDTH).flat_map(move |x| draw(x, y)));
        Image::new(WIDTH, HEIGHT, pixels.map(|value| value as u8).collect())
    })
}

fn disc(x: usize, y: usize) -> [usize; 3] {
    let is_inside = x.abs_diff(34).pow(2) + y.abs_diff(40).pow(2) < 22 * 22;
    if is_inside { [220, 60 + y, 40] } else { [60 + x, 120 + y, 230 - y] }
}

fn board(x: usize, y: usize) -> [usize; 3] {
    if (x / 12 + y / 12).is_multiple_of(2) { [240 - x, 235, 215] } else { [20 + x, 90, 60 + y] }
}

fn waves(x: usize, y: usize) -> [usize; 3] {
    let value = (x * x * 3 + y * y * 5 + x * y * 7) % 256;
    [value, (value + 2 * x) % 256, 255 - value]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SHA-256 as the script prints it for its own.
    #[test]
    fn the_pictures_are_those_of_the_script() {
        use sha2::{Digest, Sha256};
        let bytes = pictures().iter().flat_map(|picture| picture.rgb().to_vec()).collect::<Vec<u8>>();
        let digest: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        let script = include_str!("../../../../scripts/reference_values.py");
        assert!(script.contains(&format!("PIXELS_SHA256 = \"{digest}\"")), "{digest}");
        for prompt in PROMPTS {
            assert!(script.contains(&format!("\"{prompt}\"")), "{prompt}");
        }
    }
}
