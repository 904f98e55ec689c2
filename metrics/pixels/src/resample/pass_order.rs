//! Which of the two passes of a resize Pillow runs first. Between them 8-bit values are rounded and floats are cut to
//! 32 bits, so the order moves the result by a level or a few.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The rule of one line of Pillow's versions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PassOrder {
    /// Pillow up to 12.3 (`Image.resize`): rows first, unless the picture is more than 100 times as high as wide and
    /// becomes lower.
    #[default]
    #[serde(rename = "pillow-12")]
    Pillow12,
    /// Pillow from 13.0 (`ImagingResample`, python-pillow 9549): columns first where the height loses more pixels than
    /// twice as many as the width, rows first otherwise.
    #[serde(rename = "pillow-13")]
    Pillow13,
}

impl PassOrder {
    /// Whether this is the order of Pillow 12, which a step that names no order has.
    #[must_use]
    pub(crate) fn is_pillow_12(&self) -> bool {
        *self == Self::Pillow12
    }

    /// Whether columns are resized before rows. `from` and `to`: width and height in pixels.
    pub(super) fn is_vertical_first(self, from: (usize, usize), to: (usize, usize)) -> bool {
        match self {
            Self::Pillow12 => from.1 > from.0 * 100 && to.1 < from.1,
            // Lost pixels; a side that grows loses a negative number of them.
            Self::Pillow13 => {
                let lost = |from: usize, to: usize| from as i64 - to as i64;
                let height = lost(from.1, to.1);
                height > 0 && height > 2 * lost(from.0, to.0)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_version_has_its_own_rule_at_its_border() {
        let orders = |from, to| {
            [PassOrder::Pillow12, PassOrder::Pillow13].map(|order| order.is_vertical_first(from, to))
        };
        for (from, to, expected) in [
            ((50, 60), (40, 40), [false, false]),
            ((50, 61), (40, 40), [false, true]),
            ((20, 90), (50, 89), [false, true]),
            ((20, 90), (50, 90), [false, false]),
            ((3, 300), (2, 100), [false, true]),
            ((3, 301), (2, 100), [true, true]),
            ((3, 301), (1, 298), [true, false]),
            ((3, 301), (7, 400), [false, false]),
        ] {
            assert_eq!(orders(from, to), expected, "{from:?} {to:?}");
        }
    }
}
