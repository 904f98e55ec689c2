//! Contact sheets: many scenes in one picture, to look at.

use super::{SIDE, Scene};

/// White pixels between scenes and around them.
const GAP: usize = 2;

/// Renders `rows * cols` scenes from `first_index` on, row by row.
///
/// Returns width and height in pixels and `[height * width * 3]` RGB bytes.
pub fn sheet(seed: u64, first_index: u64, rows: usize, cols: usize) -> (usize, usize, Vec<u8>) {
    let (width, height) = (cols * (SIDE + GAP) + GAP, rows * (SIDE + GAP) + GAP);
    let mut bytes = vec![255; width * height * 3];
    for cell in 0..rows * cols {
        let picture = Scene::new(seed, first_index + cell as u64).render();
        let (left, top) = (cell % cols * (SIDE + GAP) + GAP, cell / cols * (SIDE + GAP) + GAP);
        for (y, line) in picture.chunks_exact(SIDE * 3).enumerate() {
            let start = ((top + y) * width + left) * 3;
            bytes[start..start + line.len()].copy_from_slice(line);
        }
    }
    (width, height, bytes)
}
