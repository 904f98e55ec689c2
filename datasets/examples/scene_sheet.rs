//! Writes a contact sheet of scenes, enlarged, to look at:
//! `scene_sheet OUT.png [SEED [FIRST_INDEX [ROWS COLS [SCALE]]]]`.

use image::{RgbImage, imageops};
use specimen_datasets::scenes;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let path = args.next().ok_or("usage: scene_sheet OUT.png [SEED [FIRST_INDEX [ROWS COLS [SCALE]]]]")?;
    let numbers = args.map(|word| word.parse()).collect::<Result<Vec<u32>, _>>()?;
    let number = |place: usize, preset: u32| numbers.get(place).copied().unwrap_or(preset);
    let (seed, first_index) = (number(0, scenes::VAL_SEED as u32), number(1, 0));
    let (rows, cols, scale) = (number(2, 4), number(3, 6), number(4, 3));
    let (width, height, bytes) =
        scenes::sheet(u64::from(seed), u64::from(first_index), rows as usize, cols as usize);
    let sheet =
        RgbImage::from_raw(width as u32, height as u32, bytes).ok_or("the sheet has too few bytes")?;
    let (width, height) = (sheet.width() * scale, sheet.height() * scale);
    imageops::resize(&sheet, width, height, imageops::FilterType::Nearest).save(&path)?;
    Ok(())
}
