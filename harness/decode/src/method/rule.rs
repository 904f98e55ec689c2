//! The acceptance axis of a configuration: rules that nest, outermost first. [`RuleSettings`] is what a rule says of
//! itself, and the list of `rules!` in [`crate::methods`] is the registry.

use super::{MethodError, Needs, Parts};
use crate::{
    methods::{RuleConfig, sd::Lossless},
    verify::AcceptanceRule,
};

/// The settings of one rule, as its table in `accept` gives them.
pub(crate) trait RuleSettings {
    /// Checks numbers against their ranges; `of` is how an error names the table: `accept rule lantern`.
    ///
    /// # Errors
    /// A number out of its range, or keys that cannot be together.
    fn validate(&self, of: &'static str) -> Result<(), MethodError>;

    /// The settings in one line, equal exactly for equal settings: `k=10,delta=0.1`.
    fn canonical(&self) -> String;

    /// Keys of the works it is from, at least one, in the catalog of citations.
    fn cite() -> &'static [&'static str]
    where
        Self: Sized;

    /// A table of `accept` with numbers that relax much, for the tests that every rule passes.
    fn example() -> &'static str
    where
        Self: Sized;

    /// Puts the rule over `inner`.
    ///
    /// # Errors
    /// A table that is missing from `parts` or too small; `of` names who needs it.
    fn build(
        &self,
        of: &'static str,
        inner: Box<dyn AcceptanceRule>,
        parts: &Parts,
    ) -> Result<Box<dyn AcceptanceRule>, MethodError>;

    /// The tables that [`build`](Self::build) takes from its parts; none where a rule does not say otherwise.
    fn needs(&self) -> Needs {
        Needs::default()
    }

    /// Whether it provably samples from the target's distribution.
    fn is_lossless(&self) -> bool {
        false
    }

    /// Whether it tests guesses together, so that each must follow the one before it.
    fn needs_chain(&self) -> bool {
        false
    }

    /// Whether its claim replaces that of an inner rule, so that only `lossless` can be inside it.
    fn replaces_inner(&self) -> bool {
        false
    }

    /// Whether it asks the rule inside it for candidates ahead and answers with chances instead of masses: nothing can be added
    /// to these, so it is the outermost, and what is inside must not count on what was accepted before.
    fn asks_ahead(&self) -> bool {
        false
    }

    /// Whether its answer depends on which candidates of this step were accepted.
    fn counts_accepted(&self) -> bool {
        false
    }
}

/// Makes [`RuleConfig`] and what is read off it from one line a rule: its `kind` in a spec and its settings.
/// [`crate::methods`] has the lines.
macro_rules! rules {
    ($($(#[$about:meta])* $kind:literal => $variant:ident($settings:ty),)*) => {
        /// One acceptance rule.
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
        pub enum RuleConfig {
            /// The target's distribution is kept.
            Lossless {},
            $($(#[$about])* #[serde(rename = $kind)] $variant($settings),)*
        }

        /// Values that `kind` of a table of `accept` may have.
        pub const RULE_KINDS: &[&str] = &["lossless", $($kind),*];

        /// Keys that a table of `accept` may have.
        pub static RULE_KEYS: std::sync::LazyLock<Vec<&'static str>> = std::sync::LazyLock::new(|| {
            use $crate::method::keys;
            keys::merged("kind", &[$(keys::of::<$settings>()),*])
        });

        /// A table of `accept` for each rule that relaxes, so much that few images of few tokens show it.
        #[must_use]
        pub fn rule_examples() -> Vec<&'static str> {
            use $crate::method::RuleSettings;
            vec![$(<$settings>::example()),*]
        }

        /// The works of each rule that relaxes.
        pub(crate) fn rule_works() -> Vec<$crate::method::Works> {
            use $crate::method::{RuleSettings, Works};
            vec![$(Works { method: $kind, cite: <$settings>::cite() }),*]
        }

        impl RuleConfig {
            /// The works it is from; `None` for `lossless`, which is speculative sampling itself.
            pub(crate) fn works(&self) -> Option<$crate::method::Works> {
                rule_works().into_iter().find(|works| works.method == self.kind())
            }

            /// As an error names it, and its settings; `None` for `lossless`, which has none.
            pub(crate) fn settings(&self) -> Option<(&'static str, &dyn $crate::method::RuleSettings)> {
                match self {
                    Self::Lossless {} => None,
                    $(Self::$variant(settings) => Some((concat!("accept rule ", $kind), settings)),)*
                }
            }

            /// Its `kind` in a spec.
            pub(crate) fn kind(&self) -> &'static str {
                match self {
                    Self::Lossless {} => "lossless",
                    $(Self::$variant(_) => $kind,)*
                }
            }
        }
    };
}
pub(crate) use rules;

/// The rules an absent or empty list means.
pub(crate) fn lossless_only() -> Vec<RuleConfig> {
    vec![RuleConfig::Lossless {}]
}

/// Rules that nest, at most: more than there are kinds.
pub const MOST_RULES: usize = 64;

/// Checks each rule, and that they nest.
pub(super) fn validate(rules: &[RuleConfig]) -> Result<(), MethodError> {
    let n_rules = rules.len();
    if n_rules > MOST_RULES {
        return Err(crate::method::error::too_many_rules(MOST_RULES, n_rules));
    }
    for (position, rule) in rules.iter().enumerate() {
        let inside = &rules[position + 1..];
        match rule.settings() {
            None if inside.is_empty() => {}
            None => return Err(crate::method::error::lossless_not_last(position, n_rules)),
            Some((_, settings))
                if settings.replaces_inner() && inside.iter().any(|rule| rule.settings().is_some()) =>
            {
                return Err(MethodError(format!(
                    "accept rule {position} is {}, whose claim replaces that of rules inside it; only \
                     lossless may follow",
                    rule.kind()
                )));
            }
            Some((of, settings)) => settings.validate(of)?,
        }
        let asks_ahead = rule.settings().is_some_and(|(_, settings)| settings.asks_ahead());
        if asks_ahead && 0 < position {
            return Err(MethodError(format!(
                "accept rule {position} is {}, which tests guesses together and answers with a chance to \
                 which no rule can add; write it first",
                rule.kind()
            )));
        }
        let counts =
            |rule: &&RuleConfig| rule.settings().is_some_and(|(_, settings)| settings.counts_accepted());
        if let Some(inner) = inside.iter().find(counts).filter(|_| asks_ahead) {
            return Err(MethodError(format!(
                "accept rule {} asks {inner} for guesses before those in front of them are accepted, and \
                 {inner} counts these; only lossless, gsd, lantern, lantern++ and cool-sd can be inside \
                 it",
                rule.kind(),
                inner = inner.kind()
            )));
        }
    }
    Ok(())
}

/// Puts rules together from the inside out; the innermost is lossless whether it is written or not.
pub(super) fn build(rules: &[RuleConfig], parts: &Parts) -> Result<Box<dyn AcceptanceRule>, MethodError> {
    let innermost: Box<dyn AcceptanceRule> = Box::new(Lossless);
    rules
        .iter()
        .rev()
        .filter_map(RuleConfig::settings)
        .try_fold(innermost, |inner, (of, settings)| settings.build(of, inner, parts))
}

impl RuleConfig {
    /// Whether it provably keeps the target's distribution.
    pub(super) fn is_lossless(&self) -> bool {
        self.settings().is_none_or(|(_, settings)| settings.is_lossless())
    }

    /// Whether it is for chains and Jacobi windows only.
    #[must_use]
    pub fn needs_chain(&self) -> bool {
        self.settings().is_some_and(|(_, settings)| settings.needs_chain())
    }

    /// The tables it takes from its parts.
    pub(super) fn needs(&self) -> Needs {
        self.settings().map_or_else(Needs::default, |(_, settings)| settings.needs())
    }

    pub(super) fn canonical(&self) -> String {
        match self.settings() {
            None => self.kind().to_owned(),
            Some((_, settings)) => format!("{}({})", self.kind(), settings.canonical()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_rules_is_bounded_before_they_are_looked_at() {
        for (n_rules, is_too_many) in [(MOST_RULES, false), (MOST_RULES + 1, true), (1_000_000, true)] {
            let rules = vec![RuleConfig::Lossless {}; n_rules];
            let expected = match is_too_many {
                true => crate::method::error::too_many_rules(MOST_RULES, n_rules),
                false => crate::method::error::lossless_not_last(0, n_rules),
            };
            assert_eq!(validate(&rules), Err(expected));
        }
    }
}
