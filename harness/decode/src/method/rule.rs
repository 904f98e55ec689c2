//! The acceptance axis of a configuration: rules that nest, outermost first. [`RuleSettings`] is what a rule says of
//! itself, and the list of `rules!` is the registry.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use super::{MethodError, Needs, Parts, keys};
use crate::{
    methods::{cascade, gsd, lantern, sd::Lossless},
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

    /// Whether its claim replaces that of an inner rule, so that only `lossless` can be inside it.
    fn replaces_inner(&self) -> bool {
        false
    }
}

/// Makes [`RuleConfig`] and what is read off it from one line a rule: its `kind` in a spec and its settings.
macro_rules! rules {
    ($($(#[$about:meta])* $kind:literal => $variant:ident($settings:ty),)*) => {
        /// One acceptance rule.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
        pub enum RuleConfig {
            /// The target's distribution is kept.
            Lossless {},
            $($(#[$about])* #[serde(rename = $kind)] $variant($settings),)*
        }

        /// Values that `kind` of a table of `accept` may have.
        pub const RULE_KINDS: &[&str] = &["lossless", $($kind),*];

        /// Keys that a table of `accept` may have.
        pub static RULE_KEYS: LazyLock<Vec<&'static str>> =
            LazyLock::new(|| keys::merged("kind", &[$(keys::of::<$settings>()),*]));

        impl RuleConfig {
            /// As an error names it, and its settings; `None` for `lossless`, which has none.
            fn settings(&self) -> Option<(&'static str, &dyn RuleSettings)> {
                match self {
                    Self::Lossless {} => None,
                    $(Self::$variant(settings) => Some((concat!("accept rule ", $kind), settings)),)*
                }
            }

            /// Its `kind` in a spec.
            fn kind(&self) -> &'static str {
                match self {
                    Self::Lossless {} => "lossless",
                    $(Self::$variant(_) => $kind,)*
                }
            }
        }
    };
}

rules! {
    /// Mass is borrowed from near tokens, up to an absolute bound.
    "lantern" => Lantern(lantern::LanternConfig),
    /// Mass is borrowed from near tokens, up to a bound relative to the candidate's own.
    "lantern++" => LanternPlusPlus(lantern::LanternPlusPlusConfig),
    /// Mass is borrowed from tree nodes whose features agree, up to a budget.
    "cascade" => Cascade(cascade::CascadeConfig),
    /// Clusters of tokens of similar probability are compared.
    "gsd" => Gsd(gsd::GsdConfig),
}

/// The rules an absent or empty list means.
pub(crate) fn lossless_only() -> Vec<RuleConfig> {
    vec![RuleConfig::Lossless {}]
}

/// Checks each rule, and that they nest.
pub(super) fn validate(rules: &[RuleConfig]) -> Result<(), MethodError> {
    let n_rules = rules.len();
    for (position, rule) in rules.iter().enumerate() {
        let inside = &rules[position + 1..];
        match rule.settings() {
            None if inside.is_empty() => {}
            None => return Err(MethodError::LosslessNotLast { position, n_rules }),
            Some((_, settings))
                if settings.replaces_inner() && inside.iter().any(|rule| rule.settings().is_some()) =>
            {
                return Err(MethodError::NotInnermost { position, kind: rule.kind() });
            }
            Some((of, settings)) => settings.validate(of)?,
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
