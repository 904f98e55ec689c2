//! What the program prints: answers on stdout, everything else on stderr. A closed pipe on stdout is no error.

use std::{
    borrow::Cow,
    fmt::Display,
    io::{ErrorKind, IsTerminal, Write},
};

use anyhow::Context;
use serde::Serialize;
use specimen_foundation::{failure::FailureKind, text::joined_lines};

use crate::shared_args::{Format, Shared};

/// How a line of a message begins that is a command to copy.
const COMMAND: &str = "    specimen ";

/// What is printed on stderr, and how.
#[derive(Clone, Debug)]
pub struct Console {
    format: Format,
    /// -1: errors only; 0: as usual; 1 and up: details.
    level: i8,
    /// Whether stderr is a terminal.
    is_terminal: bool,
    has_colour: bool,
}

impl Console {
    /// As the arguments specify. JSON is for programs, so it silences all but errors unless `-v` is given.
    pub fn new(shared: &Shared) -> Self {
        let verbose = i8::try_from(shared.verbose).unwrap_or(i8::MAX);
        let is_silent = shared.quiet || (shared.format == Format::Json && verbose == 0);
        let is_terminal = std::io::stderr().is_terminal();
        let no_colour = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Self {
            format: shared.format,
            level: if is_silent { -1 } else { verbose },
            is_terminal,
            has_colour: is_terminal && !no_colour,
        }
    }

    /// Errors only, without colour.
    pub fn plain(format: Format) -> Self {
        Self { format, level: -1, is_terminal: false, has_colour: false }
    }

    /// How answers are written.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Whether stderr is a terminal, where a progress bar can be redrawn.
    pub fn is_terminal(&self) -> bool {
        self.is_terminal
    }

    /// Whether anything but errors is printed.
    pub fn is_heard(&self) -> bool {
        self.level >= 0
    }

    /// Prints one line, unless `--quiet`.
    pub fn say(&self, text: impl Display) {
        if self.level >= 0 {
            line(&harmless(&text.to_string()));
        }
    }

    /// One line that only `-v` shows.
    pub fn detail(&self, text: impl Display) {
        if self.level >= 1 {
            line(&harmless(&text.to_string()));
        }
    }

    /// One line about something that is allowed but probably not meant.
    pub fn warn(&self, text: impl Display) {
        if self.level >= 0 {
            line(&format!("{} {}", self.painted("warning:", "33"), harmless(&text.to_string())));
        }
    }

    /// Why the program ends with a failure of this kind.
    pub fn error(&self, kind: FailureKind, message: &str) {
        match self.format {
            Format::Human => {
                line(&format!("{} {}", self.painted("error:", "31"), harmless(&with_commands(message))));
            }
            Format::Json => {
                let error =
                    serde_json::json!({"code": kind.exit_code(), "message": joined_lines(message, " ")});
                line(&harmless_json(&serde_json::json!({ "error": error }).to_string()));
            }
        }
    }

    /// `text` in an ANSI colour, where there are colours.
    fn painted(&self, text: &str, colour: &str) -> String {
        if self.has_colour { format!("\x1b[1;{colour}m{text}\x1b[0m") } else { text.to_owned() }
    }
}

/// A message in one line, with each command of this program that it gives on a line of its own.
fn with_commands(message: &str) -> String {
    let (commands, words): (Vec<&str>, Vec<&str>) =
        message.lines().partition(|line| line.starts_with(COMMAND));
    let words = joined_lines(&words.join("\n"), " ");
    [words.as_str()].into_iter().chain(commands).collect::<Vec<_>>().join("\n")
}

/// Writes a line to stderr that is the log of a worker, whatever the console shows.
pub(crate) fn log(text: impl Display) {
    line(&harmless(&text.to_string()));
}

/// Writes a line to stderr. A failure cannot be reported anywhere.
fn line(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// Writes an answer to stdout, with a line end where it has none.
pub fn answer(text: &str) -> anyhow::Result<()> {
    write_out(&harmless(text))
}

fn write_out(text: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    let end = if text.ends_with('\n') { "" } else { "\n" };
    let written = out
        .write_all(text.as_bytes())
        .and_then(|()| out.write_all(end.as_bytes()))
        .and_then(|()| out.flush());
    match written {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        other => other.context("stdout: cannot write"),
    }
}

/// Writes an answer to stdout as indented JSON.
pub fn answer_json(value: &impl Serialize) -> anyhow::Result<()> {
    write_out(&harmless_json(&serde_json::to_string_pretty(value).context("an answer is plain data")?))
}

/// Whether a character may control a terminal or the reading order. Prompts and file names may contain any character.
fn drives(c: char) -> bool {
    (c.is_control() && c != '\n' && c != '\t')
        || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// `text` with such characters as escapes.
fn harmless(text: &str) -> Cow<'_, str> {
    escaped(text, |c| c.escape_unicode().to_string())
}

/// The same for JSON, where such characters occur in strings only, with JSON's own escapes.
fn harmless_json(text: &str) -> Cow<'_, str> {
    escaped(text, |c| format!("\\u{:04x}", u32::from(c)))
}

fn escaped(text: &str, escape: impl Fn(char) -> String) -> Cow<'_, str> {
    if !text.contains(drives) {
        return Cow::Borrowed(text);
    }
    let piece = |c: char| if drives(c) { escape(c) } else { c.to_string() };
    Cow::Owned(text.chars().map(piece).collect())
}

/// A failure with its causes, separated by colons. A cause that the message already contains is left out.
pub fn message_of(error: &anyhow::Error) -> String {
    let mut message = String::new();
    for cause in error.chain() {
        let text = cause.to_string();
        if message.is_empty() {
            message = text;
        } else if !message.contains(&text) {
            message = format!("{message}: {text}");
        }
    }
    message
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;

    use super::*;

    #[test]
    fn a_message_is_one_line_and_repeats_no_cause() {
        let cause = std::io::Error::other("disk full");
        let error = anyhow::Error::new(cause).context("a.png: cannot write: disk full").context("report");
        assert_eq!(message_of(&error), "report: a.png: cannot write: disk full");
        assert_eq!(message_of(&anyhow!("alone")), "alone");
    }

    #[test]
    fn a_command_keeps_a_line_of_its_own_and_other_lines_are_joined() {
        let message = "run: tiny is not here; fetch it:\n    specimen data fetch tiny";
        assert_eq!(with_commands(message), message);
        assert_eq!(
            with_commands("a.toml:1: not TOML:\n  |\n1 | a =\n  |    ^"),
            "a.toml:1: not TOML: | 1 | a = |    ^"
        );
    }

    #[test]
    fn no_prompt_or_file_name_controls_a_terminal() {
        let hostile = "red\u{1b}]0;title\u{7}\u{9b}2J\r\u{202e}gnp.x\tend\n";
        let shown = harmless(hostile);
        assert_eq!(shown, "red\\u{1b}]0;title\\u{7}\\u{9b}2J\\u{d}\\u{202e}gnp.x\tend\n");
        let json = harmless_json(&serde_json::to_string(hostile).expect("a text is JSON")).into_owned();
        assert!(!json.contains(drives), "{json:?}");
        assert_eq!(serde_json::from_str::<String>(&json).expect("it still is"), hostile);
        assert_eq!(harmless("naïve 猫 🐈"), "naïve 猫 🐈");
    }

    #[test]
    fn only_a_terminal_gets_colour() {
        let mut console = Console::plain(Format::Human);
        assert_eq!(console.painted("error:", "31"), "error:");
        console.has_colour = true;
        assert_eq!(console.painted("error:", "31"), "\u{1b}[1;31merror:\u{1b}[0m");
    }
}
