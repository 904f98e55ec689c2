//! `specimen licences`: what the program is made of besides its own sources, and under which licences.

use clap::Args;
use serde::Serialize;

use crate::{
    console::{Console, answer, answer_json},
    shared_args::Format,
};

/// Written by `scripts/notices.py`.
const THIRD_PARTY: &str = include_str!("../../../../THIRD-PARTY.txt");

/// Arguments of `specimen licences`.
#[derive(Debug, Args)]
pub struct LicencesArgs {
    /// List the packages only, without the texts of their licences
    #[arg(long)]
    pub list: bool,
}

/// The answer, as `--format json` prints it.
#[derive(Debug, Serialize)]
struct Answer {
    schema: u32,
    packages: Vec<Package>,
    /// The texts of the licences, by the numbers of the packages, from 1 on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    texts: Vec<&'static str>,
}

/// A package that is part of the program.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct Package {
    name: &'static str,
    version: &'static str,
    /// As its authors state it, in most cases an SPDX expression.
    licence: &'static str,
    /// Numbers of its texts.
    texts: Vec<usize>,
}

/// Prints the notices.
pub(crate) fn licences(args: &LicencesArgs, console: &Console) -> anyhow::Result<()> {
    match console.format() {
        Format::Json => {
            let texts = if args.list { Vec::new() } else { texts() };
            answer_json(&Answer { schema: 1, packages: packages(), texts })
        }
        Format::Human if args.list => {
            let line =
                |package: &Package| format!("{} {}: {}\n", package.name, package.version, package.licence);
            answer(&packages().iter().map(line).collect::<String>())
        }
        Format::Human => answer(THIRD_PARTY),
    }
}

/// The packages that the file lists.
fn packages() -> Vec<Package> {
    let list = THIRD_PARTY.split("\nPackages\n").nth(1).unwrap_or_default();
    list.lines().take_while(|line| !line.is_empty()).filter_map(package).collect()
}

/// The line `name version (licence): 1, 2`.
fn package(line: &'static str) -> Option<Package> {
    let (name, rest) = line.split_once(' ')?;
    let (version, rest) = rest.split_once(" (")?;
    let (licence, numbers) = rest.rsplit_once("): ")?;
    let texts = numbers.split(", ").map(|number| number.parse().ok()).collect::<Option<_>>()?;
    Some(Package { name, version, licence, texts })
}

/// The texts of the file, each below a line with its number.
fn texts() -> Vec<&'static str> {
    let rule = "=".repeat(20);
    let begins = (1..).map_while(|number| {
        let line = format!("\n{rule} {number} {rule}\n");
        THIRD_PARTY.find(&line).map(|at| (at, at + line.len()))
    });
    let begins: Vec<(usize, usize)> = begins.collect();
    let ends = begins.iter().skip(1).map(|(at, _)| *at).chain([THIRD_PARTY.len()]);
    begins.iter().zip(ends).map(|((_, from), to)| THIRD_PARTY[*from..to].trim()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_list_is_a_package_whose_texts_are_there() {
        let list = THIRD_PARTY.split("\nPackages\n").nth(1).expect("the list is there");
        let packages = packages();
        assert_eq!(packages.len(), list.lines().take_while(|line| !line.is_empty()).count());
        let texts = texts();
        assert!(packages.len() > 100 && texts.len() > 100, "{} {}", packages.len(), texts.len());
        for package in &packages {
            assert!(
                !package.texts.is_empty() && package.texts.iter().all(|text| *text <= texts.len()),
                "{package:?}"
            );
        }
    }

    /// Licences that ask to be shown: of the JPEG decoder, and of the font in figures.
    #[test]
    fn the_jpeg_groups_text_and_the_fonts_are_shown() {
        let (packages, texts) = (packages(), texts());
        for (name, sentence) in [
            ("mozjpeg-sys", "The Independent JPEG Group's JPEG software"),
            ("dejavu", "Bitstream Vera Fonts Copyright"),
            ("libmimalloc-sys", "Microsoft Corporation"),
            ("ab_glyph", "Apache License"),
        ] {
            let package =
                packages.iter().find(|package| package.name == name).unwrap_or_else(|| panic!("{name}"));
            assert!(package.texts.iter().any(|text| texts[text - 1].contains(sentence)), "{package:?}");
        }
    }
}
