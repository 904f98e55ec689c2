//! Which methods sample from the target's distribution, tested by what they decode: every method that claims
//! exactness must pass, every relaxed one must be found out.
//!
//! Read in this order: [`subject`] (what decodes, and knows the distribution of each token: the toy, or a
//! model on one prompt, of which [`first_tokens`] are decoded), [`goodness_of_fit`] (the tests), [`verdict`] (p-values of all methods together); [`sampler`] is a toy
//! whose tokens another program accepts and draws.
//! Seeds are fixed, so the answer is the same every time.

pub mod first_tokens;
pub mod goodness_of_fit;
pub mod sampler;
pub mod subject;
pub mod verdict;

use specimen_decode::{decoder::Method, method::MethodConfig};

use self::{
    subject::Subject,
    verdict::{Claim, Examination, Examined},
};
use crate::error::RunError;

/// A method under test.
pub struct Case {
    /// Its name in the answer.
    pub name: String,
    /// The method.
    pub method: MethodConfig,
    /// What is done to the configured method: how a part is tried before it has a configuration, and how the
    /// examination itself is tried with broken ones.
    pub change: Option<fn(Method) -> Method>,
}

impl Case {
    /// A method as configured.
    pub fn new(name: &str, method: MethodConfig) -> Self {
        Self { name: name.to_owned(), method, change: None }
    }
}

/// Decodes `n_images` images of `subject` with each of `cases` and judges them. `on` is called for every
/// method once its images are there.
pub fn examine(
    subject: &dyn Subject,
    cases: &[Case],
    n_images: u64,
    on: &mut dyn FnMut(&Examined),
) -> Result<Examination, RunError> {
    let mut examined = Vec::with_capacity(cases.len());
    for case in cases {
        let images = (0..n_images).map(|seed| subject.image(case, seed)).collect::<Result<Vec<_>, _>>()?;
        let claim = if case.method.is_lossless() { Claim::Exact } else { Claim::Relaxed };
        let found = Examined::new(case, claim, &subject.test(&images)?);
        on(&found);
        examined.push(found);
    }
    Examination::new(subject, n_images, examined)
}
