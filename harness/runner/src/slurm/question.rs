//! A question to the queue about a run's arrays, asked while the driver works: a queue that hangs does not
//! stop the driver from reading the markers of what is done.

use std::{
    sync::mpsc::{Receiver, TryRecvError, channel},
    thread::JoinHandle,
    time::{Duration, Instant},
};

use specimen_record::SubmittedArray;

use crate::process::stop_request::{Request, StopRequest};

use super::client::{Client, Seen};

/// How long the queue may think before that is reported.
const SILENCE: Duration = Duration::from_secs(5);

/// The state of each array in the queue.
pub(crate) type Answer = Vec<(SubmittedArray, Seen)>;

/// A question under way; it is given up when dropped.
pub(crate) struct Question {
    answer: Receiver<Answer>,
    stop: StopRequest,
    asker: Option<JoinHandle<()>>,
    since: Instant,
    is_reported: bool,
}

impl Question {
    /// Asks after `arrays` of the run whose jobs have this name.
    pub(crate) fn ask(name: &str, arrays: Vec<SubmittedArray>) -> Self {
        let (tell, answer) = channel();
        let (name, stop) = (name.to_owned(), StopRequest::never());
        let asked = stop.clone();
        let asker = std::thread::spawn(move || {
            let client = Client { name: &name, stop: &asked };
            let see = |array: SubmittedArray| {
                let seen = client.array(array.job);
                (array, seen)
            };
            // The question may have been dropped.
            let _ = tell.send(arrays.into_iter().map(see).collect());
        });
        Self { answer, stop, asker: Some(asker), since: Instant::now(), is_reported: false }
    }

    /// The answer, once it is there.
    pub(crate) fn answer(&self) -> Option<Answer> {
        match self.answer.try_recv() {
            Ok(answer) => Some(answer),
            Err(TryRecvError::Empty) => None,
            // The thread that asks has panicked.
            Err(TryRecvError::Disconnected) => Some(Vec::new()),
        }
    }

    /// Whether the queue has been silent for long; true once.
    pub(crate) fn is_newly_silent(&mut self) -> bool {
        self.since.elapsed() >= SILENCE && !std::mem::replace(&mut self.is_reported, true)
    }
}

impl Drop for Question {
    fn drop(&mut self) {
        // The program that hangs is ended with the question.
        self.stop.ask(Request::Finish);
        if let Some(asker) = self.asker.take() {
            let _ = asker.join();
        }
    }
}
