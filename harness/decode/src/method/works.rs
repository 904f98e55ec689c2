//! The works that a method is from: their keys in the catalog of citations (`harness/catalog/citations`). The file of a method
//! names its own; here they are put together for a configuration.

use super::{DrafterConfig, FrontierConfig, MethodConfig, Proposer, ScheduleConfig, Shape};
use crate::{
    features,
    methods::{ar, eagle1, eagle2, pjd, redundancy, rule_works, scd, sd, sjd, sjd_pac, sjd_vp, vvs, zipar},
    noise,
    pipeline::Sampling,
};

/// A part of a method, and the works it is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Works {
    /// What the part is called.
    pub method: &'static str,
    /// Keys in the catalog of citations, at least one.
    pub cite: &'static [&'static str],
}

/// Drafts by an EAGLE-3 head, whose network is the model's and whose trees are those of EAGLE-1 and EAGLE-2.
const EAGLE3: Works = Works { method: "eagle3", cite: &["li2025eagle3"] };

/// The works of every part that a method can have.
#[must_use]
pub fn every_work() -> Vec<Works> {
    let parts = [
        ar::WORKS,
        sd::WORKS,
        sd::OF_TREES,
        eagle1::WORKS,
        eagle2::WORKS,
        EAGLE3,
        sjd::WORKS,
        scd::WORKS,
        sjd_pac::WORKS,
        sjd_vp::WORKS,
        vvs::WORKS,
        redundancy::WORKS,
        features::WORKS,
        zipar::WORKS,
        pjd::WORKS,
        noise::WORKS,
    ];
    parts.into_iter().chain(rule_works()).collect()
}

impl MethodConfig {
    /// The works that the method is from, the drafter's first. Whatever drafts is verified by speculative sampling, also
    /// where a rule relaxes it.
    #[must_use]
    pub fn works(&self) -> Vec<Works> {
        match self.frontier {
            Some(FrontierConfig::Zipar(_)) => return vec![zipar::WORKS],
            Some(FrontierConfig::Pjd(_)) => return vec![pjd::WORKS, sjd::WORKS],
            None => {}
        }
        let mut works = self.drafter.works();
        if self.drafter.proposer != Proposer::None {
            works.push(sd::WORKS);
            works.extend((!self.drafter.is_chain()).then_some(sd::OF_TREES));
        }
        works.extend(self.accept.iter().filter_map(|rule| rule.works()));
        works.extend(match self.schedule {
            ScheduleConfig::Always {} => None,
            ScheduleConfig::Vvs(_) => Some(vvs::WORKS),
            ScheduleConfig::Redundancy(_) => Some(redundancy::WORKS),
        });
        works
    }
}

impl DrafterConfig {
    fn works(&self) -> Vec<Works> {
        let mut works = match self.proposer {
            Proposer::None => vec![ar::WORKS],
            Proposer::Eagle1 => vec![eagle1::WORKS],
            Proposer::Eagle3 => vec![EAGLE3],
            Proposer::Jacobi => vec![sjd::WORKS],
            // A draft model is speculative sampling itself.
            Proposer::Model => Vec::new(),
        };
        works.extend(matches!(self.shape, Some(Shape::Dynamic { .. })).then_some(eagle2::WORKS));
        works.extend(self.features.as_ref().map(|_| features::WORKS));
        if let Some(window) = &self.jacobi {
            works.extend((window.couple != scd::Couple::Independent).then_some(scd::WORKS));
            works.extend(window.branch.map(|_| sjd_pac::WORKS));
            works.extend((window.refresh != sjd_vp::Refresh::Plain {}).then_some(sjd_vp::WORKS));
        }
        works
    }
}

impl Sampling {
    /// The works of the noise that tokens are drawn by, where it belongs to the image.
    #[must_use]
    pub fn works(&self) -> Option<Works> {
        self.coupled.then_some(noise::WORKS)
    }
}
