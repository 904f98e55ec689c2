//! One file per paper: drafters, acceptance rules and schedulers, put together by [`crate::method`]; and the registry of
//! acceptance rules.

pub mod ar;

pub mod sd;

pub mod eagle1;
pub mod eagle2;

pub mod cascade;
pub mod cool_sd;
pub mod lantern;

pub mod gsd;
pub mod scd;
pub mod sjd;
pub mod sjd_pac;
pub mod sjd_sv;
pub mod sjd_vp;

pub mod pjd;
pub mod zipar;

pub mod redundancy;
pub mod vvs;

crate::method::rule::rules! {
    /// Mass is borrowed from near tokens, up to an absolute bound.
    "lantern" => Lantern(self::lantern::LanternConfig),
    /// Mass is borrowed from near tokens, up to a bound relative to the candidate's own.
    "lantern++" => LanternPlusPlus(self::lantern::LanternPlusPlusConfig),
    /// Mass is borrowed from tree nodes whose features agree, up to a budget.
    "cascade" => Cascade(self::cascade::CascadeConfig),
    /// Clusters of tokens of similar probability are compared.
    "gsd" => Gsd(self::gsd::GsdConfig),
    /// Candidates are accepted more often the earlier they are in the draft.
    "cool-sd" => CoolSd(self::cool_sd::CoolSdConfig),
    /// Guesses of a chain are tested in runs of rising probability.
    "sjd-sv" => SjdSv(self::sjd_sv::SjdSvConfig),
}
