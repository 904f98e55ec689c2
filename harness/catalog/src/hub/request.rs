//! One request after the other, redirects followed by hand: the token goes to the hub and to nobody else.

use std::io::Read;

use ureq::{Agent, http::Response};

use crate::hub::{HubError, Settings};

/// An answer: its head, and a body to read from.
pub(crate) struct Answer {
    response: Response<ureq::Body>,
    /// The address that answered in the end.
    pub(crate) url: String,
}

/// Redirects that are followed.
const MAX_REDIRECTS: usize = 8;

/// Asks.
pub(crate) struct Client<'s> {
    settings: &'s Settings,
}

impl<'s> Client<'s> {
    pub(crate) fn new(settings: &'s Settings) -> Self {
        Self { settings }
    }

    /// The head of what is at `url`, after redirects within the same host only: the hub says what a file is before it
    /// sends elsewhere for its content.
    pub(crate) fn head(&self, url: &str) -> Result<Answer, HubError> {
        self.ask(url, true, 0)
    }

    /// What is at `url` from byte `from` on.
    pub(crate) fn get(&self, url: &str, from: u64) -> Result<Answer, HubError> {
        self.ask(url, false, from)
    }

    fn ask(&self, url: &str, is_head: bool, from: u64) -> Result<Answer, HubError> {
        let mut at = url.to_owned();
        for _ in 0..=MAX_REDIRECTS {
            let response = self.once(&at, is_head, from)?;
            let place = response.headers().get("location").and_then(|place| place.to_str().ok());
            let next = match (response.status().as_u16(), place) {
                (301 | 302 | 303 | 307 | 308, Some(place)) => absolute(&at, place),
                _ => return Ok(Answer { response, url: at }),
            };
            if is_head && host(&next) != host(&at) {
                return Ok(Answer { response, url: at });
            }
            at = next;
        }
        Err(HubError::Answer { url: url.to_owned(), found: format!("more than {MAX_REDIRECTS} redirects") })
    }

    fn once(&self, url: &str, is_head: bool, from: u64) -> Result<Response<ureq::Body>, HubError> {
        // Scheme and host: what https protects is not sent in the clear.
        let is_own = origin(url).eq_ignore_ascii_case(origin(&self.settings.endpoint));
        let silence = Some(self.settings.silence);
        let mut config = Agent::config_builder()
            .max_redirects(0)
            .max_redirects_will_error(false)
            .http_status_as_error(false)
            .timeout_connect(silence)
            .timeout_recv_response(silence)
            .timeout_per_read(silence)
            .user_agent(concat!("specimen/", env!("CARGO_PKG_VERSION")));
        if ["127.0.0.1", "localhost", "[::1]"]
            .contains(&host(url).rsplit_once(':').map_or(host(url), |(name, _)| name))
        {
            config = config.proxy(None);
        }
        let agent: Agent = config.build().into();
        // Content must come as it is stored, or its size and digest would be another's.
        let mut request =
            if is_head { agent.head(url) } else { agent.get(url) }.header("accept-encoding", "identity");
        if let Some(token) = self.settings.token.as_ref().filter(|_| is_own) {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        if from > 0 {
            request = request.header("range", format!("bytes={from}-"));
        }
        request.call().map_err(|error| HubError::BrokenOff {
            url: url.to_owned(),
            reason: error.to_string(),
            n_bytes: from,
        })
    }
}

impl Answer {
    pub(crate) fn status(&self) -> u16 {
        self.response.status().as_u16()
    }

    /// A header's value, if it is text.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.response.headers().get(name)?.to_str().ok()
    }

    /// What says whether it is the same content as another time: its ETag, or else when it was changed; empty where the server
    /// says neither.
    pub(crate) fn version(&self) -> String {
        self.header("etag").or(self.header("last-modified")).unwrap_or_default().to_owned()
    }

    /// The body, to its end.
    pub(crate) fn into_body(self) -> impl Read {
        self.response.into_body().into_reader()
    }
}

/// Host and port of an address.
fn host(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split(['/', '?', '#']).next().unwrap_or(rest)
}

/// Scheme, host and port of an address.
fn origin(url: &str) -> &str {
    let before = url.split_once("://").map_or(0, |(scheme, _)| scheme.len() + 3);
    &url[..before + host(url).len()]
}

/// `place` as seen from `url`.
fn absolute(url: &str, place: &str) -> String {
    if place.contains("://") {
        return place.to_owned();
    }
    let (scheme, _) = url.split_once("://").unwrap_or(("https", url));
    match place.strip_prefix("//") {
        Some(rest) => format!("{scheme}://{rest}"),
        None if place.starts_with('/') => format!("{scheme}://{}{place}", host(url)),
        None => format!("{}/{place}", url.rsplit_once('/').map_or(url, |(folder, _)| folder)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_taken_apart_and_put_together() {
        assert_eq!(host("https://a.b:8/c?d"), "a.b:8");
        assert_eq!((origin("https://a.b:8/c?d"), origin("a.b/c")), ("https://a.b:8", "a.b"));
        for (place, expected) in [
            ("http://x/y", "http://x/y"),
            ("/y", "https://a.b/y"),
            ("//x/y", "https://x/y"),
            ("z", "https://a.b/c/z"),
        ] {
            assert_eq!(absolute("https://a.b/c/d", place), expected);
        }
    }
}
