//! What the environment says about fetching, under the names that the hub's own tools use.

use std::{ffi::OsString, fmt, time::Duration};

/// How and where to fetch.
#[derive(Clone, PartialEq, Eq)]
pub struct Settings {
    /// `HF_ENDPOINT`: the address of the hub, without a slash at its end.
    pub endpoint: String,
    /// `HF_TOKEN`: sent to the endpoint and to nobody else.
    pub token: Option<String>,
    /// The variable that forbids to fetch: `SPECIMEN_OFFLINE` or `HF_HUB_OFFLINE`.
    pub offline: Option<&'static str>,
    /// How long a server may be silent.
    pub silence: Duration,
}

impl fmt::Debug for Settings {
    /// Without the token.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let token = self.token.as_ref().map(|_| "set");
        let Self { endpoint, offline, silence, .. } = self;
        f.debug_struct("Settings")
            .field("endpoint", endpoint)
            .field("token", &token)
            .field("offline", offline)
            .field("silence", silence)
            .finish()
    }
}

const OFFLINE: [&str; 2] = ["SPECIMEN_OFFLINE", "HF_HUB_OFFLINE"];

impl Settings {
    /// What `variable` looks up; empty values count as not set, and `0`, `false`, `no` and `off` as no.
    pub fn of_environment(variable: impl Fn(&str) -> Option<OsString>) -> Self {
        let set = |name: &str| {
            variable(name)
                .map(|value| value.to_string_lossy().trim().to_owned())
                .filter(|value| !value.is_empty())
        };
        let is_yes = |name: &&&str| {
            set(name)
                .is_some_and(|value| !["0", "false", "no", "off"].contains(&value.to_lowercase().as_str()))
        };
        let endpoint = set("HF_ENDPOINT").unwrap_or_else(|| "https://huggingface.co".to_owned());
        Self {
            endpoint: endpoint.trim_end_matches('/').to_owned(),
            token: set("HF_TOKEN"),
            offline: OFFLINE.iter().find(is_yes).copied(),
            silence: Duration::from_secs(60),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pairs: &[(&str, &str)]) -> Settings {
        Settings::of_environment(|name| {
            pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| OsString::from(value))
        })
    }

    #[test]
    fn the_environment_is_read_as_the_hubs_own_tools_read_it() {
        let none = of(&[]);
        assert_eq!(
            (none.endpoint.as_str(), none.token, none.offline),
            ("https://huggingface.co", None, None)
        );
        let set = of(&[("HF_ENDPOINT", "http://mirror/"), ("HF_TOKEN", " t\n"), ("HF_HUB_OFFLINE", "1")]);
        assert_eq!((set.endpoint.as_str(), set.token.as_deref()), ("http://mirror", Some("t")));
        assert_eq!(set.offline, Some("HF_HUB_OFFLINE"));
        assert_eq!(of(&[("SPECIMEN_OFFLINE", "ON")]).offline, Some("SPECIMEN_OFFLINE"));
        for no in ["0", "false", "off", ""] {
            assert_eq!(of(&[("HF_HUB_OFFLINE", no)]).offline, None, "{no}");
        }
    }

    #[test]
    fn a_token_is_not_shown() {
        assert!(!format!("{:?}", of(&[("HF_TOKEN", "secret")])).contains("secret"));
    }
}
