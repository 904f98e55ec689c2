//! A process that makes images: started once, asked again and again, timed by this program's clock, and ended
//! with all that stayed in its group.
//!
//! The time of an image runs from just before the request is written to the end of the answer's line. What
//! the process reports of its own phases is shown next to it and is never added to it.

use std::{
    io::Write,
    os::unix::process::{CommandExt, ExitStatusExt},
    path::Path,
    process::{Child, Command, ExitStatus, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel, sync_channel},
    thread,
    time::{Duration, Instant},
};

use crate::external::{
    error::ExternalError,
    lines::{Line, Lines, MAX_LINE},
    message::{Answer, Request},
};

/// How long a process may take to end on its own: after its input was closed, and after it closed its output.
const GRACE: Duration = Duration::from_secs(2);
const PULSE: Duration = Duration::from_millis(5);

/// How to start a process.
#[derive(Debug)]
pub struct Start<'a> {
    /// Program and arguments; the program is looked for on the path. Not empty.
    pub command: &'a [String],
    /// The folder that it runs in.
    pub cwd: &'a Path,
    /// Variables that are set for it, in addition to those of this process.
    pub env: &'a [(String, String)],
    /// Where its standard error goes.
    pub stderr: Stdio,
    /// How long the first answer may take: it loads its weights before.
    pub start_timeout: Duration,
    /// How long every other answer may take.
    pub timeout: Duration,
}

/// An answer and how long it took.
#[derive(Clone, Debug, PartialEq)]
pub struct Answered {
    /// What it says.
    pub answer: Answer,
    /// Nanoseconds from the request to the end of the answer, by this program's clock.
    pub wall_ns: u64,
}

/// A process under way. Dropping it closes its input, waits for it to end, and ends it if it does not.
#[derive(Debug)]
pub struct Process {
    child: Child,
    requests: Option<Sender<Vec<u8>>>,
    answers: Receiver<Line>,
    n_lines: u64,
    has_answered: bool,
    start_timeout: Duration,
    timeout: Duration,
}

impl Process {
    /// Starts it, in a process group of its own.
    ///
    /// # Panics
    /// On an empty command.
    pub fn start(start: Start<'_>) -> Result<Self, ExternalError> {
        let (program, arguments) = start.command.split_first().expect("a command names its program");
        let mut child = Command::new(program)
            .args(arguments)
            .current_dir(start.cwd)
            .envs(start.env.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(start.stderr)
            .process_group(0)
            .spawn()
            .map_err(|source| ExternalError::Start { command: start.command.join(" "), source })?;
        let mut stdin = child.stdin.take().expect("stdin was piped");
        let stdout = child.stdout.take().expect("stdout was piped");
        let (requests, to_write) = channel::<Vec<u8>>();
        // A process that does not read must not keep this one from seeing that its time is up.
        thread::spawn(move || {
            while let Ok(line) = to_write.recv() {
                if stdin.write_all(&line).and_then(|()| stdin.flush()).is_err() {
                    return;
                }
            }
        });
        // Lines that nobody asked for stay in the pipe, which holds the process up, and not in this one's memory.
        let (say, answers) = sync_channel(1);
        thread::spawn(move || {
            for line in Lines::new(stdout) {
                if say.send(line).is_err() {
                    return;
                }
            }
        });
        let (start_timeout, timeout) = (start.start_timeout, start.timeout);
        let requests = Some(requests);
        Ok(Self { child, requests, answers, n_lines: 0, has_answered: false, start_timeout, timeout })
    }

    /// Asks for one image and waits for the answer.
    pub fn ask(&mut self, request: &Request) -> Result<Answered, ExternalError> {
        let (bytes, wall_ns) = self.ask_line(request.line())?;
        let answer = Answer::parse(&bytes, self.n_lines, &request.id);
        if answer.is_err() {
            self.end();
        }
        Ok(Answered { answer: answer?, wall_ns })
    }

    /// Writes `line`, which has its end, and waits for the line that answers it: its bytes without the end, and the
    /// nanoseconds that it took.
    pub fn ask_line(&mut self, line: String) -> Result<(Vec<u8>, u64), ExternalError> {
        let asked = self.exchange(line.into_bytes());
        if asked.is_err() {
            self.end();
        }
        asked
    }

    /// Lines that it has written.
    pub fn n_lines(&self) -> u64 {
        self.n_lines
    }

    fn exchange(&mut self, line: Vec<u8>) -> Result<(Vec<u8>, u64), ExternalError> {
        let (limit, key) = match self.has_answered {
            true => (self.timeout, "timeout_s"),
            false => (self.start_timeout, "start_timeout_s"),
        };
        // A line that was there before the request answers nothing.
        if let Ok(unasked) = self.answers.try_recv() {
            self.n_lines += 1;
            return Err(self.unexpected(&unasked));
        }
        let started = Instant::now();
        let is_gone = self.requests.as_ref().is_none_or(|requests| requests.send(line).is_err());
        if is_gone {
            return Err(self.ended());
        }
        match self.answers.recv_timeout(limit) {
            Err(RecvTimeoutError::Timeout) => {
                Err(ExternalError::TimedOut { seconds: limit.as_secs_f64(), key })
            }
            Err(RecvTimeoutError::Disconnected) => Err(self.ended()),
            Ok(Line::TooLong) => {
                self.n_lines += 1;
                Err(self.unexpected(&Line::TooLong))
            }
            Ok(Line::Whole(bytes, at)) => {
                self.n_lines += 1;
                self.has_answered = true;
                let wall = at.saturating_duration_since(started).as_nanos();
                Ok((bytes, u64::try_from(wall).unwrap_or(u64::MAX)))
            }
        }
    }

    /// The error for a line that nobody asked for, or that has no end.
    fn unexpected(&self, line: &Line) -> ExternalError {
        let (expected, found) = match line {
            Line::TooLong => {
                (format!("a line of at most {MAX_LINE} bytes"), "more without an end".to_owned())
            }
            Line::Whole(bytes, _) => {
                let text = crate::external::error::shown(&String::from_utf8_lossy(bytes), 120);
                ("one line a request, and nothing else on standard output".to_owned(), format!("`{text}`"))
            }
        };
        ExternalError::Malformed { line: self.n_lines, expected, found }
    }

    /// The error for a process that is gone, with how it ended.
    fn ended(&mut self) -> ExternalError {
        self.requests = None;
        let since = Instant::now();
        while since.elapsed() < GRACE && !self.is_zombie() {
            thread::sleep(PULSE);
        }
        let has_ended = self.is_zombie();
        let status = self.end().filter(|_| has_ended);
        let status = status.map_or_else(|| "it closed its output and went on".to_owned(), words);
        ExternalError::Ended { status }
    }

    /// Whether the process has ended and nobody has asked for its status: its number is still its own then.
    fn is_zombie(&self) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).unwrap_or_default();
        // The name of the program stands in brackets and may hold anything.
        stat.rsplit_once(')').is_some_and(|(_, rest)| rest.trim_start().starts_with('Z'))
    }

    /// Ends the process and its group at once; how it ended, where the system reports it.
    fn end(&mut self) -> Option<ExitStatus> {
        self.requests = None;
        // The group has the number of its first process, which is not free before it is waited for. Every
        // system with processes has a shell that can signal one.
        let group = format!("-{}", self.child.id());
        let mut kill = Command::new("sh");
        kill.args(["-c", "kill -s KILL -- \"$1\"", "sh", &group]);
        let silent = kill.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        if !silent.status().is_ok_and(|status| status.success()) {
            // It may have ended on its own meanwhile; then this does nothing either.
            let _ = self.child.kill();
        }
        self.child.wait().ok()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // The end of its input tells the process that nothing more is asked.
        if self.requests.take().is_none() {
            return;
        }
        let since = Instant::now();
        while since.elapsed() < GRACE && !self.is_zombie() {
            thread::sleep(PULSE);
        }
        self.end();
    }
}

fn words(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => "an unknown end".to_owned(),
    }
}
