//! `specimen data render scenes`: pictures of the procedural dataset with captions and labels, and a contact
//! sheet to look at.

use std::{
    io::{Error, Write},
    path::{Path, PathBuf},
};

use anyhow::Context;
use clap::{Args, Subcommand};
use image::{ColorType, ImageEncoder, codecs::png::PngEncoder};
use serde_json::json;
use specimen_datasets::scenes::{Colour, SIDE, Scene, Shape, VAL_SEED, sheet};
use specimen_record::write_atomic;

use crate::console::Console;

/// The generated dataset to render.
#[derive(Debug, Subcommand)]
pub enum RenderCommand {
    /// Coloured shapes on a ground under a sky, 64x64
    Scenes(ScenesArgs),
}

/// Which scenes, and where to.
#[derive(Debug, Args)]
pub struct ScenesArgs {
    /// Number of scenes
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub n: u64,
    /// Seed of the dataset: 1 is `scenes-train`, 2 is `scenes-val`
    #[arg(long, default_value_t = VAL_SEED)]
    pub seed: u64,
    /// Number of the first scene
    #[arg(long, value_name = "INDEX", default_value_t = 0)]
    pub first: u64,
    /// Folder for 000000.png and so on, and captions.jsonl
    #[arg(long, value_name = "DIR", required_unless_present = "sheet")]
    pub out: Option<PathBuf>,
    /// One PNG with the first scenes in rows, at most 20 by 20
    #[arg(long, value_name = "FILE")]
    pub sheet: Option<PathBuf>,
}

/// The most scenes along an edge of a sheet.
const MAX_EDGE: usize = 20;

/// Writes the images that the arguments name.
pub(super) fn render(command: &RenderCommand, console: &Console) -> anyhow::Result<()> {
    let RenderCommand::Scenes(args) = command;
    if let Some(folder) = &args.out {
        pictures(args, folder)?;
        console.say(format!("{} scenes: {}", args.n, folder.display()));
    }
    if let Some(path) = &args.sheet {
        let (rows, columns) = grid(args.n);
        let (width, height, rgb) = sheet(args.seed, args.first, rows, columns);
        write_png(path, &rgb, width, height)?;
        console.say(format!("sheet of {rows} x {columns} scenes: {}", path.display()));
    }
    Ok(())
}

/// Writes the pictures and, last, the captions: a prompt file whose lines also have the labels.
fn pictures(args: &ScenesArgs, folder: &Path) -> anyhow::Result<()> {
    let mut captions = Vec::new();
    for index in args.first..args.first.saturating_add(args.n) {
        let scene = Scene::new(args.seed, index);
        let name = format!("{index:06}.png");
        write_png(&folder.join(&name), &scene.render(), SIDE, SIDE)?;
        writeln!(captions, "{}", caption_line(&scene, &name)).context("writing to memory")?;
    }
    Ok(write_atomic(&folder.join("captions.jsonl"), &captions)?)
}

fn caption_line(scene: &Scene, image: &str) -> serde_json::Value {
    let labels = scene.labels();
    let objects = scene.objects.iter().map(|object| {
        json!({
            "shape": object.shape.word(), "colour": object.colour.word(), "size": object.size.word(),
            "x": object.x, "y": object.y, "radius": object.radius,
        })
    });
    let present = labels.objects.iter().enumerate().filter(|(_, there)| **there);
    let kinds: Vec<String> = present.map(|(kind, _)| kind_name(kind)).collect();
    json!({
        "id": scene.id(),
        "image": image,
        "caption": scene.caption(),
        "objects": objects.collect::<Vec<_>>(),
        "sky": scene.sky.phrase(),
        "ground": scene.ground.phrase(),
        "relation": scene.relation.map(specimen_datasets::scenes::Relation::phrase),
        "labels": {
            "objects": kinds, "ground": labels.ground, "sky": labels.sky, "relation": labels.relation,
        },
    })
}

/// Colour and shape of a kind of object.
fn kind_name(kind: usize) -> String {
    let n = Colour::ALL.len();
    format!("{} {}", Colour::ALL[kind % n].word(), Shape::ALL[kind / n].word())
}

/// Rows and columns of a sheet of at most `n` scenes, about square.
fn grid(n: u64) -> (usize, usize) {
    let n = usize::try_from(n).unwrap_or(usize::MAX).min(MAX_EDGE * MAX_EDGE);
    let columns = n.isqrt();
    (n / columns, columns)
}

/// Writes RGB bytes as PNG, whole or not at all.
fn write_png(path: &Path, rgb: &[u8], width: usize, height: usize) -> anyhow::Result<()> {
    let pixels = |n: usize| u32::try_from(n).expect("a picture's side is small");
    let mut bytes = Vec::new();
    PngEncoder::new(&mut bytes)
        .write_image(rgb, pixels(width), pixels(height), ColorType::Rgb8.into())
        .map_err(Error::other)
        .with_context(|| format!("{}: cannot encode the picture", path.display()))?;
    Ok(write_atomic(path, &bytes)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sheet_is_about_square_and_shows_no_scene_that_was_not_asked_for() {
        assert_eq!([1, 2, 12, 100, 1_000_000].map(grid), [(1, 1), (2, 1), (4, 3), (10, 10), (20, 20)]);
    }

    #[test]
    fn a_line_names_the_objects_as_the_caption_does() {
        for index in 0..50 {
            let scene = Scene::new(VAL_SEED, index);
            let line = caption_line(&scene, "0.png");
            let caption = line["caption"].as_str().expect("captions are text");
            let kinds = line["labels"]["objects"].as_array().expect("objects are a list");
            assert_eq!(kinds.len(), scene.objects.len());
            for kind in kinds {
                let kind = kind.as_str().expect("kinds are text");
                assert!(caption.contains(kind), "`{kind}` is not in `{caption}`");
            }
        }
    }
}
