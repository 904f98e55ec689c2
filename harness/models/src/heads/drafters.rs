//! What can draft for a model: its heads by kind and name, other models, and those that are not on this machine.

use std::rc::Rc;

use specimen_catalog::target::STANDARD;
use specimen_decode::drafter::DraftModel;
use specimen_foundation::fail;

use crate::{
    files::published_files::AbsentHead,
    heads::{draft_head::DraftHead, eagle_draft::EagleDraft},
    seam::{draft_time::DraftTime, generation::ModelGeneration, model_error::ModelError},
};

/// Which network proposes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DrafterKind {
    /// The model's EAGLE-1 head of this name; `None`: its standard one.
    Eagle1(Option<String>),
    /// The model's EAGLE-3 head of this name; `None`: its standard one.
    Eagle3(Option<String>),
    /// Another whole model, by name.
    Model(String),
}

impl DrafterKind {
    /// The same drafter with the standard head unnamed.
    fn normal(self) -> Self {
        let unnamed = |weights: Option<String>| weights.filter(|name| name != STANDARD);
        match self {
            Self::Eagle1(weights) => Self::Eagle1(unnamed(weights)),
            Self::Eagle3(weights) => Self::Eagle3(unnamed(weights)),
            Self::Model(name) => Self::Model(name),
        }
    }

    /// As messages name it.
    fn as_written(&self) -> String {
        let head = |proposer: &str, weights: &Option<String>| match weights {
            None => proposer.to_owned(),
            Some(weights) => format!("{proposer} with weights {weights}"),
        };
        match self {
            Self::Eagle1(weights) => head("eagle1", weights),
            Self::Eagle3(weights) => head("eagle3", weights),
            Self::Model(name) => format!("model = \"{name}\""),
        }
    }
}

/// Starts a drafter for one image, given the most nodes that it runs for one tree and the clock of its forwards.
pub type StartDraft = Box<dyn Fn(&ModelGeneration, usize, DraftTime) -> Box<dyn DraftModel>>;

/// Everything that can draft for one model, in the order in which messages name it.
#[derive(Default)]
pub struct Heads(Vec<(DrafterKind, Result<StartDraft, AbsentHead>)>);

impl Heads {
    /// Adds the drafter `kind`, or where it was looked for. The head called `standard` is the one without a name.
    pub fn add(&mut self, kind: DrafterKind, head: Result<StartDraft, AbsentHead>) {
        self.0.push((kind.normal(), head));
    }

    /// Puts the drafter `kind` in the place of the one of its name, or adds it.
    pub fn put(&mut self, kind: DrafterKind, head: StartDraft) {
        let kind = kind.normal();
        match self.0.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, known)) => *known = Ok(head),
            None => self.0.push((kind, Ok(head))),
        }
    }

    /// Adds a head that begins with the image: it has not seen the prefix.
    pub fn add_head(&mut self, kind: DrafterKind, head: Rc<dyn DraftHead>) {
        let start: StartDraft = Box::new(move |generation, max_run, time| {
            Box::new(EagleDraft::new(head.clone(), generation, max_run, time))
        });
        self.add(kind, Ok(start));
    }

    /// The drafters that are on this machine, in the order in which messages name them.
    pub fn here(&self) -> impl Iterator<Item = &DrafterKind> {
        self.0.iter().filter(|(_, head)| head.is_ok()).map(|(kind, _)| kind)
    }

    /// What starts the drafter `kind` of `model`.
    pub fn get(&self, model: &str, kind: &DrafterKind) -> Result<&StartDraft, ModelError> {
        let asked = kind.clone().normal();
        if let Some((_, head)) = self.0.iter().find(|(known, _)| *known == asked) {
            return head.as_ref().map_err(AbsentHead::refusal);
        }
        let known: Vec<String> = self.0.iter().map(|(kind, _)| kind.as_written()).collect();
        fail!(Spec: "model `{model}` has no drafter `{}`; it has: {}", kind.as_written(),
            if known.is_empty() { "none".into() } else { known.join(", ") })
    }
}
