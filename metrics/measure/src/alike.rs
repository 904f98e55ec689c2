//! Whether sides are alike enough to be compared, and whether the rows of one are too much alike.

use std::{fmt::Display, path::Path};

use specimen_foundation::{fail, text::counted};
use specimen_stats::statistics_file::Origin;

use crate::error::MeasureError;
use crate::measurement::made_by;
use crate::sample::Rows;

/// Fails when it is known that the sides of a comparison were made differently.
pub(crate) fn check_origins(
    first: (&Path, Option<&Origin>),
    second: (&Path, Option<&Origin>),
) -> Result<(), MeasureError> {
    match (first.1, second.1) {
        (Some(expected), Some(found)) if expected != found => fail!(Missing: "{}: features by {}, those of \
            {} by {}; they cannot be compared: make both alike", second.0.display(), made_by(Some(found)),
            first.0.display(), made_by(Some(expected))),
        _ => Ok(()),
    }
}

/// Fails when the rows of two sides cannot be of one network, or are known not to be made alike.
pub(crate) fn check_rows(first: (&Path, &Rows), second: (&Path, &Rows)) -> Result<(), MeasureError> {
    check_origins((first.0, first.1.origin.as_ref()), (second.0, second.1.origin.as_ref()))?;
    check_widths((first.0, first.1.features.d()), (second.0, second.1.features.d()))
}

/// Fails when the sides of a comparison cannot be of one network.
pub(crate) fn check_widths(first: (&Path, usize), second: (&Path, usize)) -> Result<(), MeasureError> {
    if first.1 == second.1 {
        return Ok(());
    }
    fail!(Missing: "{}: {} a row, {} has {}; were they made by the same network and layer?",
        second.0.display(), counted(second.1, "feature"), first.0.display(), first.1)
}

/// What a reader must know of `of`, whose rows are all equal.
pub(crate) fn equal_rows(of: impl Display) -> String {
    let is = "all rows are equal, as of a network whose weights were not loaded";
    format!("{of}: {is}: look at the pictures and at the weights")
}

/// Whether rows, two or more, are all equal.
#[derive(Default)]
pub(crate) struct Sameness {
    first: Option<Vec<f32>>,
    n_others: u64,
    differs: bool,
}

impl Sameness {
    /// Takes in rows of `d` numbers.
    pub(crate) fn see(&mut self, d: usize, rows: &[f32]) {
        for row in rows.chunks_exact(d.max(1)) {
            if self.differs {
                return;
            }
            match &self.first {
                None => self.first = Some(row.to_vec()),
                Some(first) => {
                    self.n_others += 1;
                    self.differs = first != row;
                }
            }
        }
    }

    /// Whether all that it saw are equal.
    pub(crate) fn holds(&self) -> bool {
        self.n_others > 0 && !self.differs
    }
}
