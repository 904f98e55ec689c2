//! Moments in time for the manifest, RFC 3339 in UTC with whole seconds. This module formats; who asks
//! the clock is the caller's business.

use std::fmt;
use std::str::FromStr;
use std::time::{SystemTime, UNIX_EPOCH};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A moment, as `2026-11-21T09:30:00Z`.
// Invariant: 20 bytes of exactly that form; day of month is only checked against 1..=31.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(extend("pattern" = "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$"))]
pub struct Timestamp(String);

impl From<SystemTime> for Timestamp {
    /// A moment before 1970 becomes 1970-01-01T00:00:00Z.
    fn from(moment: SystemTime) -> Timestamp {
        let seconds = moment.duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs());
        let (year, month, day) = civil(seconds / 86_400);
        let (h, m, s) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
        Timestamp(format!("{year:04}-{month:02}-{day:02}T{h:02}:{m:02}:{s:02}Z"))
    }
}

/// Year, month and day (Gregorian) of a day number counted from 1970-01-01.
fn civil(mut days: u64) -> (u64, u64, u64) {
    let leap = |y: u64| (y.is_multiple_of(4) && !y.is_multiple_of(100)) || y.is_multiple_of(400);
    let mut year = 1970;
    while days >= 365 + u64::from(leap(year)) {
        days -= 365 + u64::from(leap(year));
        year += 1;
    }
    let february = 28 + u64::from(leap(year));
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    (year, month, days + 1)
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Timestamp {
    type Err = String;

    fn from_str(text: &str) -> Result<Timestamp, String> {
        let fits = text.len() == 20
            && text.bytes().zip("dddd-dd-ddTdd:dd:ddZ".bytes()).all(|(found, wanted)| match wanted {
                b'd' => found.is_ascii_digit(),
                other => found == other,
            });
        let part = |from: usize| text.get(from..from + 2).and_then(|t| t.parse::<u32>().ok()).unwrap_or(99);
        let in_range = fits
            && (1..=12).contains(&part(5))
            && (1..=31).contains(&part(8))
            && part(11) < 24
            && part(14) < 60
            && part(17) <= 60;
        if in_range {
            Ok(Timestamp(text.to_owned()))
        } else {
            Err(format!("`{text}` is not a moment like 2026-11-21T09:30:00Z"))
        }
    }
}

impl TryFrom<String> for Timestamp {
    type Error = String;

    fn try_from(text: String) -> Result<Timestamp, String> {
        text.parse()
    }
}

impl From<Timestamp> for String {
    fn from(moment: Timestamp) -> String {
        moment.0
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // A failed unwrap is a failed test.
    use std::time::Duration;

    use super::*;

    #[test]
    fn known_moments_come_out_right() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (951_868_799, "2000-02-29T23:59:59Z"),
            (1_709_251_200, "2024-03-01T00:00:00Z"),
            (4_102_444_799, "2099-12-31T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            let moment = Timestamp::from(UNIX_EPOCH + Duration::from_secs(seconds));
            assert_eq!(moment.to_string(), text);
            assert_eq!(text.parse::<Timestamp>().unwrap(), moment);
        }
    }

    #[test]
    fn other_forms_are_refused() {
        for text in ["", "2026-11-21", "2026-13-01T00:00:00Z", "2026-11-21T24:00:00Z", "2026-11-21 09:30:00Z"]
        {
            assert!(text.parse::<Timestamp>().is_err(), "{text}");
        }
    }
}
