//! A protocol at work whose network scores pictures with their prompts.

use std::path::Path;

use specimen_pixels::Source;
use specimen_stats::features::FeatureRows;

use crate::error::MeasureError;
use crate::images::Through;
use crate::meter::Meter;
use crate::network::{OpenedPrompted, Part, PromptedNetwork};
use crate::sample::Rows;

impl Meter<'_> {
    /// Opens the protocol's network that scores what is at `path` with its prompts, of which it sees `n_tokens`.
    pub(crate) fn open_prompted(
        &mut self,
        path: &Path,
        n_tokens: usize,
    ) -> Result<Box<dyn PromptedNetwork>, MeasureError> {
        let OpenedPrompted { network, provenance } =
            self.networks().prompted(&self.protocol().recipe().network, n_tokens)?;
        self.tell_opened(path, network.identity(), provenance);
        Ok(network)
    }

    /// Scores by `network` of those pictures of `source` that have a prompt at their place, with their places: rows of one
    /// number.
    pub(crate) fn scores_of_images(
        &mut self,
        source: &Source,
        path: &Path,
        network: &dyn PromptedNetwork,
        prompts: &[Option<&str>],
    ) -> Result<(Vec<usize>, Rows), MeasureError> {
        let (mut places, mut values) = (Vec::new(), Vec::new());
        let parts = [Part { identity: network.identity(), n_dims: 1 }];
        let through = Through::Prompted(network, prompts);
        let mut origins = self.each_through(path, source, through, &parts, &mut |place, _, row| {
            places.push(place);
            values.extend_from_slice(row);
            Ok(())
        })?;
        let features = FeatureRows::new(values, 1).map_err(|e| MeasureError::array(path, e))?;
        Ok((places, Rows { features, origin: origins.pop() }))
    }
}
