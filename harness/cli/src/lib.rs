//! The command line: one file a subcommand, data on stdout, messages on stderr, an exit code for every kind of
//! failure.
//!
//! Read in this order: [`args`] and [`shared_args`] (what can be typed), [`exit`] (which failure ends with which
//! code), [`console`] (how it is said), then `cmd`, one file per subcommand.

pub mod args;
mod cmd;
pub mod console;
pub mod exit;
mod former_commands;
mod free_space;
mod requirements;
mod seal_check;
pub mod shared_args;
mod spec_args;
mod table_width;

mod progress;
mod prompt_facts;
mod provenance;

use std::{
    any::Any,
    ffi::OsString,
    panic::{AssertUnwindSafe, catch_unwind},
    process::ExitCode,
};

use clap::{
    CommandFactory, Parser,
    error::{ContextKind, ContextValue, ErrorKind},
};
use specimen_foundation::{failure::FailureKind, names::nearest};
use specimen_runner::process::stop_request::StopRequest;
use specimen_weights::{device_lost::DeviceLost, libtorch, out_of_memory::OutOfMemory};

use crate::{
    args::{Cli, Command},
    console::{Console, message_of},
    exit::kind_of,
    shared_args::Format,
};

/// Parses the command line, runs the subcommand and turns its result into an exit code.
pub fn main() -> ExitCode {
    let argv: Vec<OsString> = std::env::args_os().collect();
    let cli = match Cli::try_parse_from(&argv) {
        Ok(cli) => cli,
        Err(error) => return not_understood(error, &argv),
    };
    let console = Console::new(&cli.shared);
    if !cli.command.is_worker() {
        announce_panics(&console);
    }
    warn_of_other_libtorch(&cli.command, &console);
    // A broken invariant panics. The hook has reported it; only the exit code is left.
    let ended = catch_unwind(AssertUnwindSafe(|| {
        StopRequest::survive_file_limit()?;
        cmd::dispatch(&cli.command, &console)
    }));
    match ended {
        Ok(Ok(())) => ExitCode::SUCCESS,
        Ok(Err(error)) => {
            let kind = kind_of(&error);
            console.error(kind, &message_of(&error));
            kind.exit_code().into()
        }
        Err(payload) => kind_of_panic(&*payload, &console).exit_code().into(),
    }
}

/// Says that another libtorch is loaded than this program was built for; `doctor` has a line about it.
fn warn_of_other_libtorch(command: &Command, console: &Console) {
    if let Some(other) = libtorch::other().filter(|_| !matches!(command, Command::Doctor(_))) {
        console.warn(format!("libtorch {other}; {}", libtorch::REMEDY));
    }
    let _ = (command, console);
}

/// The kind of failure that a panic is. Memory that libtorch did not get and a GPU that was lost are reported here, all
/// else was by the hook.
fn kind_of_panic(payload: &(dyn Any + Send), console: &Console) -> FailureKind {
    if let Some(failure) = OutOfMemory::of_panic(payload) {
        let less = "fewer workers or threads, or for a metric a smaller --batch, take less";
        console.error(FailureKind::Environment, &format!("{failure}; {less}"));
        return FailureKind::Environment;
    }
    if let Some(lost) = DeviceLost::of_panic(payload) {
        console.error(FailureKind::Environment, &lost.to_string());
        return FailureKind::Environment;
    }
    let _ = (payload, console);
    FailureKind::Bug
}

/// The error with the nearest subcommand where it is about one that is unknown: `help` gives none.
fn with_nearest(mut error: clap::Error) -> clap::Error {
    let is_bare =
        error.kind() == ErrorKind::InvalidSubcommand && error.get(ContextKind::SuggestedSubcommand).is_none();
    let found = match error.get(ContextKind::InvalidSubcommand) {
        Some(ContextValue::String(found)) if is_bare => found.clone(),
        _ => return error,
    };
    let command = Cli::command();
    let all = command.get_subcommands().filter(|known| !known.is_hide_set());
    let names: Vec<&str> =
        all.flat_map(|known| known.get_subcommands().chain([known])).map(|known| known.get_name()).collect();
    if let Some(name) = nearest(&found, names.iter().copied()).first() {
        let names = ContextValue::Strings(vec![(*name).to_owned()]);
        error.insert(ContextKind::SuggestedSubcommand, names);
    }
    error
}

/// The error with the way to write what was meant: a key of the spec as an option, and a paper's table as a word of its own.
fn with_way(mut error: clap::Error, words: &[&str]) -> clap::Error {
    let found = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(found)) if error.kind() == ErrorKind::UnknownArgument => found.clone(),
        _ => return error,
    };
    let command = Cli::command();
    let asked = words.iter().find_map(|word| command.find_subcommand(word));
    let takes_keys =
        asked.is_some_and(|asked| asked.get_arguments().any(|known| known.get_long() == Some("set")));
    let paper = words.iter().position(|word| **word == found).and_then(|at| words.get(at.checked_sub(1)?));
    let way = match (asked.map(clap::Command::get_name), paper) {
        (Some("reproduce"), Some(paper)) if !found.starts_with('-') => {
            format!("a table of a paper is one word: `{paper}:{found}`")
        }
        _ if takes_keys && found.starts_with("--") => {
            "keys of the spec are set by `--set`, as in `--set seed=3` or `--set dataset.samples=2`"
                .to_owned()
        }
        _ => return error,
    };
    // Another option that is spelt alike is not what was meant.
    error.remove(ContextKind::SuggestedArg);
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![way.into()]));
    error
}

/// Prints what is wrong with the arguments, or the help.
fn not_understood(error: clap::Error, argv: &[OsString]) -> ExitCode {
    if !error.use_stderr() {
        // A closed pipe is no error of `--help`.
        let _ = error.print();
        return ExitCode::SUCCESS;
    }
    let words: Vec<&str> = argv.iter().skip(1).filter_map(|word| word.to_str()).collect();
    let format = if wants_json(argv) { Format::Json } else { Format::Human };
    let console = Console::plain(format);
    let error = with_way(with_nearest(error), &words);
    match (former_commands::replacement(&words), format) {
        (Some(way), _) => console.error(FailureKind::Usage, way),
        (None, Format::Json) => {
            let said = error.render().to_string();
            console.error(FailureKind::Usage, said.trim_start_matches("error: "));
        }
        (None, Format::Human) => {
            let _ = error.print();
        }
    }
    FailureKind::Usage.exit_code().into()
}

/// Whether the arguments, which could not be parsed, ask for JSON.
fn wants_json(argv: &[OsString]) -> bool {
    let follows = argv.windows(2).any(|pair| pair[0] == "--format" && pair[1] == "json");
    follows || argv.iter().any(|argument| argument == "--format=json")
}

/// Makes a panic one line, as every other failure.
fn announce_panics(console: &Console) {
    let console = console.clone();
    std::panic::set_hook(Box::new(move |panic| {
        let payload = panic.payload();
        let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let text = text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_default();
        // The caller reports it, with what helps.
        if OutOfMemory::of_message(&text).is_some() || DeviceLost::of_message(&text).is_some() {
            return;
        }
        let first = text.lines().next().unwrap_or("a panic without a message");
        let place = panic.location().map(|place| format!(" ({place})")).unwrap_or_default();
        console.error(
            FailureKind::Bug,
            &format!("internal error: {first}{place}; this is a bug, please report it"),
        );
    }));
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_subcommand_gets_a_suggestion_after_help_too() {
        for typed in
            ["specimen doctro", "specimen help doctro", "specimen help data lsit", "specimen data lsit"]
        {
            let error = Cli::try_parse_from(typed.split(' ')).unwrap_err();
            let said = with_nearest(error).to_string();
            let meant = if typed.contains("doctro") { "'doctor'" } else { "'list'" };
            assert!(said.contains(&format!("tip: a similar subcommand exists: {meant}")), "{typed}: {said}");
        }
    }

    #[test]
    fn an_argument_that_is_a_key_of_the_spec_or_a_table_gets_the_way_to_write_it() {
        let said = |typed: &str| {
            let argv: Vec<&str> = typed.split(' ').collect();
            let error = Cli::try_parse_from(&argv).unwrap_err();
            with_way(with_nearest(error), &argv[1..]).to_string()
        };
        for typed in ["specimen run a.toml --seed 3", "specimen plan a.toml --samples 2"] {
            assert!(
                said(typed).contains("tip: keys of the spec are set by `--set`, as in `--set seed=3`"),
                "{typed}"
            );
        }
        let table = said("specimen reproduce cascade table1");
        assert!(table.contains("tip: a table of a paper is one word: `cascade:table1`"), "{table}");
        assert!(!said("specimen verify a --seed 3").contains("--set"));
    }

    #[test]
    fn json_is_recognised_in_arguments_that_do_not_parse() {
        let argv = |text: &str| text.split(' ').map(OsString::from).collect::<Vec<_>>();
        assert!(wants_json(&argv("specimen nonsense --format json")));
        assert!(wants_json(&argv("specimen --format=json nonsense")));
        assert!(!wants_json(&argv("specimen nonsense --format human json")));
    }
}
