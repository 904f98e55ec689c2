//! `specimen gate`: is a run as good as the baseline in the repository? Ends with 1 where it is not.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use anyhow::Context;
use clap::Args;
use specimen_foundation::{fail, failure, failure::FailureMessage};
use specimen_record::{Manifest, Part, RunDir, Summary, WeightsDigest, read_document};
use specimen_report::verdicts::gate::{
    baseline::Baseline,
    check::{Gate, check},
    rules::Rules,
    show::{refused_junit, refused_markdown},
    starter::starter_rules,
};

use crate::{
    console::Console,
    seal_check::{SealArgs, Unverified},
    shared_args::Format,
    table_width::table_width,
};

/// What to hold against what.
#[derive(Debug, Args)]
pub struct GateArgs {
    /// Folder of the run
    pub run: PathBuf,
    /// Folders of reruns of the same spec: a rule with `confirm = N` counts a failure that comes back in N of them
    pub reruns: Vec<PathBuf>,
    /// The baseline: a file that --update-baseline wrote, or a summary.json
    #[arg(long, value_name = "FILE")]
    pub baseline: PathBuf,
    /// The rules [default: NAME.rules.toml next to the baseline NAME.json]
    #[arg(long, value_name = "FILE")]
    pub rules: Option<PathBuf>,
    /// Label of the machine that ran: rules about times are checked only on the machine that they name
    #[arg(long, value_name = "LABEL", env = "SPECIMEN_RUNNER")]
    pub runner: Option<String>,
    /// Also write what was found as JUnit XML
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// Also write what was found as Markdown, at the end of the file (such as $GITHUB_STEP_SUMMARY)
    #[arg(long, value_name = "FILE")]
    pub markdown: Option<PathBuf>,
    /// Make the reruns that would confirm a failure, into folders next to the run
    #[arg(long)]
    pub rerun: bool,
    /// Write the run as the new baseline instead of checking it, and rules to begin with where there are none
    #[arg(long, requires = "reason", conflicts_with_all = ["reruns", "junit", "markdown"])]
    pub update_baseline: bool,
    /// Why the baseline is renewed: the cause of every number that moves
    #[arg(long, value_name = "TEXT", requires = "update_baseline", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub reason: Option<String>,
    #[command(flatten)]
    pub seal: SealArgs,
}

/// Holds the run against the baseline, or makes it the baseline.
pub(crate) fn gate(args: &GateArgs, console: &Console) -> anyhow::Result<()> {
    if let Some(reason) = args.reason.as_ref().filter(|_| args.update_baseline) {
        return renew(args, reason, console);
    }
    let (found, unverified) = match judged(args, console) {
        Ok(judged) => judged,
        Err(why) => {
            // Whoever reads the files and not the exit code must see that nothing was checked.
            let (run, said) = (args.run.display().to_string(), format!("{why:#}"));
            if let Err(unwritten) = write(args, &refused_junit(&run, &said), &refused_markdown(&run, &said)) {
                console.warn(format!("the refusal is not written: {unwritten:#}"));
            }
            return Err(why);
        }
    };
    write(args, &found.junit(), &unverified.markdown(&found.table().markdown()))?;
    match console.format() {
        Format::Human => unverified.answer(&found.table().text(table_width()))?,
        Format::Json => unverified.answer_json(&found)?,
    }
    match found.passed {
        true => Ok(()),
        false => Err(failure!(Mismatch: "the gate is not passed: {}", found.failures()).into()),
    }
}

/// The result of the rules for the run and its reruns.
fn judged(args: &GateArgs, console: &Console) -> anyhow::Result<(Gate, Unverified)> {
    if !args.baseline.exists() {
        fail!(Missing: "{}: there is no baseline yet; make this run the first with --update-baseline \
            --reason TEXT", args.baseline.display());
    }
    let baseline = Baseline::read(&args.baseline)?;
    let path = rules_of(args);
    if !path.exists() {
        let from = match &args.rules {
            Some(_) => "",
            None if baseline.history.is_empty() => "; name a file with --rules",
            None => {
                "; name a file with --rules, or write rules to begin with: --update-baseline --reason TEXT"
            }
        };
        fail!(Missing: "{}: there are no rules{from}", path.display());
    }
    let rules = Rules::read(&path)?;
    let folders = || std::iter::once(&args.run).chain(&args.reruns);
    refuse_twice(folders())?;
    let unverified = Unverified::check(folders(), Part::Summary, &args.seal, console)?;
    let mut runs = folders().map(|folder| summary_of(folder)).collect::<anyhow::Result<Vec<_>>>()?;
    Ok((checked(args, &rules, &baseline, &mut runs, console)?, unverified))
}

fn checked(
    args: &GateArgs,
    rules: &Rules,
    baseline: &Baseline,
    runs: &mut Vec<Summary>,
    console: &Console,
) -> anyhow::Result<Gate> {
    let found = check(rules, baseline, runs, args.runner.as_deref())?;
    args.reruns.iter().try_for_each(|rerun| check_same_files(&args.run, rerun))?;
    if args.rerun && found.reruns_wanted > 0 {
        while runs.len() <= found.reruns_wanted as usize {
            console.say(format!(
                "a failure is to be confirmed: rerun {} of {}",
                runs.len(),
                found.reruns_wanted
            ));
            let folder = super::rerun::rerun(&args.run, runs.len(), console)?;
            check_same_files(&args.run, &folder)?;
            runs.push(summary_of(&folder)?);
        }
        return check(rules, baseline, runs, args.runner.as_deref());
    }
    console.detail(format!("{} runs, {} rules", runs.len(), rules.rules.len()));
    Ok(found)
}

fn renew(args: &GateArgs, reason: &str, console: &Console) -> anyhow::Result<()> {
    let former = args.baseline.exists().then(|| Baseline::read(&args.baseline)).transpose()?;
    if former.as_ref().is_some_and(|former| former.history.is_empty()) {
        let path = args.baseline.display();
        fail!(Usage: "--baseline: {path} is the summary of a run and stays so; name a new file for the \
            baseline");
    }
    let run = RunDir::open(&args.run)?;
    let unverified = Unverified::check([&args.run], Part::Summary, &args.seal, console)?;
    summary_of(&args.run)?;
    let baseline = Baseline::adopt(&run, &args.baseline, former.as_ref(), reason, args.runner.as_deref())?;
    if let Some(label) = former.as_ref().and_then(Baseline::runner).filter(|_| baseline.runner().is_none()) {
        console.warn(format!(
            "the former baseline was of runner `{label}` and this one has no label, so rules of a runner are skipped; give \
             --runner or SPECIMEN_RUNNER"
        ));
    }
    let rules = rules_of(args);
    if !rules.exists() {
        let text = starter_rules(&baseline.summary, args.runner.as_deref());
        specimen_record::write_atomic(&rules, text.as_bytes())?;
        console.say(format!("{}: rules to begin with; edit them", rules.display()));
    }
    let newest = &baseline.history[0];
    console.say(format!("{}: the baseline is now run {}", args.baseline.display(), baseline.summary.name));
    match console.format() {
        Format::Human => unverified.answer(&newest.changes.join("\n")),
        Format::Json => unverified.answer_json(newest),
    }
}

/// Writes the files that were asked for.
fn write(args: &GateArgs, junit: &str, markdown: &str) -> anyhow::Result<()> {
    if let Some(path) = &args.junit {
        specimen_record::write_atomic(path, junit.as_bytes())?;
    }
    if let Some(path) = &args.markdown {
        use std::io::Write;
        let place = || path.display().to_string();
        let mut file =
            std::fs::OpenOptions::new().create(true).append(true).open(path).with_context(place)?;
        file.write_all(markdown.as_bytes()).with_context(place)?;
    }
    Ok(())
}

/// The file of rules: the one given, or the one next to the baseline.
fn rules_of(args: &GateArgs) -> PathBuf {
    args.rules.clone().unwrap_or_else(|| rules_beside(&args.baseline))
}

/// `NAME.rules.toml` next to `NAME.json`.
fn rules_beside(baseline: &Path) -> PathBuf {
    baseline.with_extension("rules.toml")
}

/// Refuses a folder that is named twice: a run confirms nothing of itself.
fn refuse_twice<'p>(folders: impl Iterator<Item = &'p PathBuf>) -> Result<(), FailureMessage> {
    let mut known = BTreeSet::new();
    for folder in folders {
        if !known.insert(folder.canonicalize().unwrap_or_else(|_| folder.clone())) {
            let why = format!("{}: named twice; a rerun is another run of the same spec", folder.display());
            fail!(Usage: "{why}");
        }
    }
    Ok(())
}

/// Refuses a rerun with other weights, or another script of an external cell, than the run that it would excuse.
fn check_same_files(run: &Path, rerun: &Path) -> anyhow::Result<()> {
    let files = |folder: &Path| -> anyhow::Result<Vec<WeightsDigest>> {
        Ok(read_document::<Manifest>(&RunDir::open(folder)?.manifest())?.weights)
    };
    match other_file(&files(run)?, &files(rerun)?) {
        None => Ok(()),
        Some(WeightsDigest { name, file, .. }) => fail!(Mismatch: "{}: {name} ({file}) has other content \
            than that of {}: a rerun confirms nothing of other files; restore the file and remove the rerun, \
            or make a new run", rerun.display(), run.display()),
    }
}

/// A file of a rerun that the run has under the same name, and not with the same content. Cells of one model may have
/// weights of their own, so a name may stand for several.
pub(crate) fn other_file<'f>(
    begun: &[WeightsDigest],
    rerun: &'f [WeightsDigest],
) -> Option<&'f WeightsDigest> {
    rerun.iter().find(|file| {
        let mut known = begun.iter().filter(|known| known.name == file.name).peekable();
        known.peek().is_some() && known.all(|known| known.blake3 != file.blake3)
    })
}

fn summary_of(folder: &Path) -> anyhow::Result<Summary> {
    let path = RunDir::open(folder)?.summary();
    if !path.exists() {
        return Err(specimen_report::error::no_summary(&path).into());
    }
    Ok(read_document(&path)?)
}

#[cfg(test)]
mod tests {
    use specimen_record::Digest;

    use super::*;

    fn file(name: &str, file: &str, bytes: &str) -> WeightsDigest {
        WeightsDigest { name: name.to_owned(), file: file.to_owned(), blake3: Digest::of(bytes.as_bytes()) }
    }

    #[test]
    fn a_rerun_has_the_files_of_its_run_whatever_they_are_called_and_however_many_share_a_name() {
        let run = [file("x target", "a", "1"), file("x target", "b", "2"), file("y target", "c", "3")];
        let moved = [file("y target", "copy", "3"), file("x target", "b", "2"), file("x target", "a", "1")];
        assert_eq!(other_file(&run, &moved), None);
        // What only the rerun has is no other file: a metric may have been added.
        assert_eq!(other_file(&run, &[file("clip", "d", "4")]), None);
        let other = [file("x target", "a", "1"), file("x target", "b", "5")];
        assert_eq!(other_file(&run, &other), Some(&other[1]));
    }
}
