//! Whether the rows of an attempt agree with one another: the counts of a record with its trace, and the places of times
//! with the order in which an attempt works.

use std::collections::BTreeSet;

use crate::{ItemKey, Record, StepsRow, TimingRow};

/// What both a record and its trace say of an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Counts {
    n_steps: u64,
    accepted: u64,
    emitted: u64,
    skipped_steps: u64,
    skipped_tokens: u64,
    /// Forwards of target and drafter. Only steps of this program count them.
    nfe: u64,
    n_draft_forwards: u64,
}

impl Counts {
    pub(crate) fn of_record(record: &Record) -> Counts {
        Counts {
            n_steps: record.n_steps,
            accepted: record.accepted,
            emitted: record.emitted,
            skipped_steps: record.skipped_steps,
            skipped_tokens: record.skipped_tokens,
            nfe: record.nfe.unwrap_or(0),
            n_draft_forwards: record.n_draft_forwards,
        }
    }

    pub(crate) fn of_trace(trace: &StepsRow) -> Counts {
        let sum = |column: usize, is_verified: bool| {
            let of_kind = trace.steps.iter().filter(|step| (step[3] > 0) == is_verified);
            of_kind.map(|step| u64::from(step[column])).sum::<u64>()
        };
        Counts {
            n_steps: trace.steps.len() as u64,
            accepted: sum(1, true),
            emitted: sum(2, true),
            skipped_steps: trace.steps.iter().filter(|step| step[3] == 0).count() as u64,
            skipped_tokens: sum(2, false),
            nfe: 1 + sum(3, true),
            n_draft_forwards: sum(4, true) + sum(4, false),
        }
    }

    /// The first count of a record that its trace contradicts, in words.
    pub(crate) fn contradiction(&self, trace: &Counts) -> Option<String> {
        let of_steps = [
            ("n_steps", self.n_steps, trace.n_steps),
            ("accepted", self.accepted, trace.accepted),
            ("emitted", self.emitted, trace.emitted),
            ("skipped_steps", self.skipped_steps, trace.skipped_steps),
            ("skipped_tokens", self.skipped_tokens, trace.skipped_tokens),
        ];
        let forwards = [
            ("nfe", self.nfe, trace.nfe),
            ("n_draft_forwards", self.n_draft_forwards, trace.n_draft_forwards),
        ];
        // Another program reports its forwards, and no steps.
        let forwards = forwards.into_iter().filter(|_| trace.n_steps > 0);
        let (field, found, expected) =
            of_steps.into_iter().chain(forwards).find(|(_, record, trace)| record != trace)?;
        Some(format!("`{field}` is {found}, its steps in steps.jsonl give {expected}"))
    }
}

/// The times of one attempt, looked at in the order of their file.
#[derive(Debug, Default)]
pub(crate) struct Times {
    attempt: u32,
    /// Items that failed, which have a place in the order and no time.
    n_failed: u32,
    /// Blocks that the attempt ended, where it says so.
    ended: BTreeSet<u32>,
    /// Block and order of the row before.
    last: Option<(u32, u32)>,
    blocks: BTreeSet<u32>,
    items: BTreeSet<ItemKey>,
}

impl Times {
    pub(crate) fn new(attempt: u32, n_failed: u32, ended: BTreeSet<u32>) -> Times {
        Times { attempt, n_failed, ended, ..Times::default() }
    }

    /// Takes in the next row; fails with what is wrong with it. An attempt works block by block, and in each counts its
    /// images from 0.
    pub(crate) fn add(&mut self, row: &TimingRow) -> Result<(), String> {
        let &TimingRow { attempt, block, order, warmup, .. } = row;
        if attempt != self.attempt {
            return Err(format!("`attempt` is {attempt}, in a file of attempt {}", self.attempt));
        }
        if warmup {
            return Ok(());
        }
        if !self.items.insert(row.key.clone()) {
            return Err("it has two rows of times in one attempt".to_owned());
        }
        let least = match self.last {
            Some((same, before)) if same == block => before + 1,
            before => {
                let is_ended = |(before, _)| self.ended.is_empty() || self.ended.contains(&before);
                if !self.blocks.insert(block) || !before.is_none_or(is_ended) {
                    let of = before.map_or(0, |(before, _)| before);
                    return Err(format!("`block` is {block}, among the rows of block {of}"));
                }
                0
            }
        };
        if !(least..=least.saturating_add(self.n_failed)).contains(&order) {
            return Err(format!("`order` is {order}, and it is image {least} of its block"));
        }
        self.last = Some((block, order));
        Ok(())
    }

    /// Whether the attempt has timed an item.
    pub(crate) fn has(&self, item: &ItemKey) -> bool {
        self.items.contains(item)
    }
}
