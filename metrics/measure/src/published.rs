//! The published networks behind the seam of this crate: weights where the tools keep them, or in a file that is named.

use std::path::{Path, PathBuf};

use specimen_extract::{
    aesthetic::{AestheticHead, AestheticName},
    clip::{
        text::{ClipText, TextTower},
        tokenizer::{ClipTokenizer, PREFIX, TextPrefix, TextRule},
    },
    imagereward::{self, ImageReward, WordPieces},
    lpips::{LpipsFiles, LpipsName, OpenLpips},
    network::NetworkName,
    open::{named, open_on},
    weights_lookup::{Found, Places, check_given, find, find_beside, find_vocabulary},
};

use crate::error::MeasureError;
use crate::metrics::clip_score::{ClipScoreRule, PrefixAs, TextCleaning};
use crate::network::{
    Dtype, NetworkFault, NetworkRule, Networks, Opened, OpenedHead, OpenedPairs, OpenedPrompted, Provenance,
    RowHead, TextNetwork,
};

/// Opens published networks.
#[derive(Clone, Debug)]
pub struct Published {
    places: Places,
    weights: Option<PathBuf>,
    /// Name of the device.
    device: String,
}

impl Published {
    /// Looks for weights below the folder `data`, or that of the environment, then in the caches that the environment names.
    /// `weights` is taken instead for any network: for CLIP a file of both towers, for LPIPS one of trunk and heads.
    pub fn new(data: Option<&Path>, weights: Option<PathBuf>) -> Self {
        Self { places: Places::of_this_process(data), weights, device: "cpu".to_owned() }
    }

    /// The same on the device that `cpu`, `cuda` or `cuda:N` names.
    pub fn on(self, device: &str) -> Self {
        Self { device: device.to_owned(), ..self }
    }

    /// The published heads of LPIPS called `name` on a trunk whose weights are made by recipe.
    pub(crate) fn lpips_by_heads(&self, name: &str) -> Result<OpenedPairs, MeasureError> {
        let name = named_one("[lpips] network", name, &LpipsName::ALL, LpipsName::name)?;
        let found = match &self.weights {
            Some(path) => check_given(path, name.heads()),
            None => find(&self.places, name.heads()),
        };
        let found = found.map_err(fault(name.name()))?;
        let files = LpipsFiles::Heads(&found.path);
        let device = named("cpu").map_err(fault(name.name()))?;
        let network = OpenLpips::open_on(device, name, Dtype::F32, files).map_err(fault(name.name()))?;
        Ok(OpenedPairs { network: Box::new(network), provenance: vec![provenance(&found)] })
    }

    fn weights_of(&self, network: NetworkName) -> Result<Found, MeasureError> {
        let found = match &self.weights {
            Some(path) => check_given(path, network.entry()),
            None => find(&self.places, network.entry()),
        };
        found.map_err(fault(network.name()))
    }
}

impl Networks for Published {
    fn images(&self, rule: &NetworkRule, layers: &[&str]) -> Result<Opened, MeasureError> {
        let network = known(rule)?;
        // Said before weights are looked for, which is of no use for a layer that does not exist.
        for layer in layers {
            network.layer(layer).map_err(fault(network.name()))?;
        }
        // As is a device that is not here, in each of these.
        let device = named(&self.device).map_err(fault(network.name()))?;
        let weights = self.weights_of(network)?;
        let net =
            open_on(device, network, layers, rule.dtype, &weights.path).map_err(fault(network.name()))?;
        Ok(Opened { network: Box::new(net), provenance: Some(provenance(&weights)) })
    }

    fn head(&self, name: &str) -> Result<OpenedHead, MeasureError> {
        let name = named_one("[aesthetic] head", name, &AestheticName::ALL, AestheticName::name)?;
        let device = named(&self.device).map_err(fault(name.name()))?;
        let weights = match &self.weights {
            Some(path) => check_given(path, name.entry()),
            None => find(&self.places, name.entry()),
        };
        let weights = weights.map_err(fault(name.name()))?;
        let head = AestheticHead::open_on(device, name, &weights.path).map_err(fault(name.name()))?;
        let head = Heads { head };
        Ok(OpenedHead { head: Box::new(head), provenance: Some(provenance(&weights)) })
    }

    fn prompted(&self, rule: &NetworkRule, n_tokens: usize) -> Result<OpenedPrompted, MeasureError> {
        let name = named_one("[network] name", &rule.name, &[imagereward::NAME], |name| name)?;
        named_one("[network] layer", &rule.layer, &[imagereward::LAYER], |layer| layer)?;
        let device = named(&self.device).map_err(fault(name))?;
        let (entry, given) = (imagereward::catalog_entry(), self.weights.as_deref());
        let weights = match given {
            Some(path) => check_given(path, entry),
            None => find(&self.places, entry),
        };
        let weights = weights.map_err(fault(name))?;
        let vocabulary =
            find_beside(&self.places, given, entry, imagereward::VOCABULARY).map_err(fault(name))?;
        let words = WordPieces::read(&vocabulary).map_err(fault(name))?;
        let network = ImageReward::open_on(device, rule.dtype, &weights.path, words, n_tokens);
        let network = Box::new(network.map_err(fault(name))?);
        Ok(OpenedPrompted { network, provenance: Some(provenance(&weights)) })
    }

    fn pairs(&self, name: &str, dtype: Dtype) -> Result<OpenedPairs, MeasureError> {
        let name = named_one("[lpips] network", name, &LpipsName::ALL, LpipsName::name)?;
        let fault_of = || fault(name.name());
        let device = named(&self.device).map_err(fault(name.name()))?;
        // The heads first: what fetches them fetches the trunk too.
        let found = match &self.weights {
            Some(path) => vec![check_given(path, name.heads()).map_err(fault_of())?],
            None => [name.heads(), name.trunk()]
                .into_iter()
                .map(|entry| find(&self.places, entry).map_err(fault_of()))
                .collect::<Result<_, _>>()?,
        };
        let files = match &found[..] {
            [heads, trunk] => LpipsFiles::Published { trunk: &trunk.path, heads: &heads.path },
            _ => LpipsFiles::Together(&found[0].path),
        };
        let network = OpenLpips::open_on(device, name, dtype, files).map_err(fault(name.name()))?;
        Ok(OpenedPairs { network: Box::new(network), provenance: found.iter().map(provenance).collect() })
    }

    fn n_dims(&self, rule: &NetworkRule) -> Option<usize> {
        Some(known(rule).ok()?.layer(&rule.layer).ok()?.n_dims)
    }

    fn texts(&self, rule: &NetworkRule, texts: &ClipScoreRule) -> Result<Box<dyn TextNetwork>, MeasureError> {
        let network = known(rule)?;
        let prefix = match (texts.prefix.as_str(), texts.prefix_as) {
            ("", _) => TextPrefix::None,
            (PREFIX, PrefixAs::Text) => TextPrefix::Text,
            (PREFIX, PrefixAs::Tokens) => TextPrefix::Ids,
            (other, _) => {
                return Err(crate::error::protocol(
                    "[clip-score]",
                    format!("prefix `{other}`; texts begin with nothing or with `{PREFIX}`"),
                ));
            }
        };
        let weights = self.weights_of(network)?;
        let vocabulary = find_vocabulary(&self.places).map_err(fault(network.name()))?;
        let tokenizer = ClipTokenizer::read(&vocabulary).map_err(fault(network.name()))?;
        let device = named(&self.device).map_err(fault(network.name()))?;
        let tower = TextTower::open_on(device, network, &weights.path, rule.dtype);
        let tower = tower.map_err(fault(network.name()))?;
        let text = ClipText::new(tower, tokenizer).map_err(fault(network.name()))?;
        let rule = match texts.text {
            TextCleaning::OpenAi => TextRule::OpenAi,
            TextCleaning::Hf => TextRule::HuggingFace,
            TextCleaning::HfKeepingEnd => TextRule::HuggingFaceTruncated,
            TextCleaning::OpenClip => TextRule::OpenClip,
        };
        Ok(Box::new(Texts { text, prefix, rule }))
    }
}

fn known(rule: &NetworkRule) -> Result<NetworkName, MeasureError> {
    if rule.name == imagereward::NAME {
        let reason = format!(
            "`{}` scores images with their prompts and makes no features; measure it by `specimen {}`",
            rule.name, rule.name
        );
        return Err(crate::error::protocol("[network] name", reason));
    }
    named_one("[network] name", &rule.name, &NetworkName::ALL, NetworkName::name)
}

/// The one of `all` that `place` of a protocol calls `name`.
fn named_one<T: Copy>(
    place: &str,
    name: &str,
    all: &[T],
    name_of: fn(T) -> &'static str,
) -> Result<T, MeasureError> {
    all.iter().copied().find(|&one| name_of(one) == name).ok_or_else(|| {
        let known: Vec<&str> = all.iter().copied().map(name_of).collect();
        let reason = format!("unknown network `{name}`, expected one of {}", known.join(", "));
        crate::error::protocol(place, reason)
    })
}

struct Heads {
    head: AestheticHead,
}

impl RowHead for Heads {
    fn identity(&self) -> String {
        self.head.identity()
    }

    fn scores(&self, rows: &[f32], n_dims: usize) -> Result<Vec<f64>, NetworkFault> {
        Ok(self.head.scores(rows, n_dims)?)
    }
}

fn provenance(found: &Found) -> Provenance {
    Provenance {
        file: found.path.clone(),
        words: found.provenance.to_string(),
        is_published: found.provenance.is_published(),
    }
}

fn fault<E: std::error::Error + Send + Sync + 'static>(network: &'static str) -> impl Fn(E) -> MeasureError {
    move |error| MeasureError::Network { network: network.to_owned(), source: Box::new(error) }
}

struct Texts {
    text: ClipText,
    prefix: TextPrefix,
    rule: TextRule,
}

impl TextNetwork for Texts {
    fn identity(&self) -> String {
        self.text.tower().identity()
    }

    fn logit_scale(&self) -> f64 {
        self.text.tower().logit_scale()
    }

    fn n_dims(&self) -> usize {
        self.text.tower().shape().n_joint as usize
    }

    fn counts(&self, texts: &[String]) -> Vec<(&'static str, usize)> {
        self.text.counts(texts, self.prefix, self.rule).to_vec()
    }

    fn embed(&self, texts: &[String]) -> Result<Vec<f32>, NetworkFault> {
        Ok(self.text.embed_prefixed(texts, self.prefix, self.rule)?.rows)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed call is a failed test")]
    use super::*;
    use crate::protocol::Protocol;

    #[test]
    fn every_protocol_names_a_network_a_layer_and_the_size_that_exist() {
        for name in Protocol::names() {
            let protocol = Protocol::named(name).unwrap();
            let rule = &protocol.recipe().network;
            if protocol.recipe().imagereward.is_some() {
                assert_eq!(
                    (rule.name.as_str(), rule.layer.as_str()),
                    (imagereward::NAME, imagereward::LAYER)
                );
                let side = imagereward::N_SIDE;
                assert_eq!(protocol.recipe().pixels.output_size(), Some((side, side)), "{name}");
                assert!(known(rule).unwrap_err().to_string().contains("`specimen imagereward`"));
                continue;
            }
            let network = known(rule).unwrap();
            network.layer(&rule.layer).unwrap();
            if let Some(is) = &protocol.recipe().is {
                network.layer(&is.layer).unwrap();
            }
            let side = network.input_side();
            assert_eq!(protocol.recipe().pixels.output_size(), Some((side, side)), "{name}");
        }
    }

    #[test]
    fn absent_weights_say_which_network_and_what_to_fetch() {
        let root = tempfile::tempdir().unwrap();
        let networks = Published {
            places: Places { own: vec![root.path().to_owned()], ..Places::default() },
            ..Published::new(None, None)
        };
        let rule = Protocol::named("pytorch-fid").unwrap().recipe().network.clone();
        let Err(error) = networks.images(&rule, &[&rule.layer]) else { panic!("there are no weights") };
        let message = error.to_string();
        assert!(message.contains("pt_inception-2015-12-05-6726825d.pth"), "{message}");
    }

    #[test]
    fn absent_heads_name_the_command_that_fetches_the_trunk_too() {
        let root = tempfile::tempdir().unwrap();
        let networks = Published {
            places: Places { own: vec![root.path().to_owned()], ..Places::default() },
            ..Published::new(None, None)
        };
        let refused = |name: &str| {
            let Err(error) = networks.pairs(name, Dtype::F32) else { panic!("there are no weights") };
            error.to_string()
        };
        for name in LpipsName::ALL {
            let message = refused(name.name());
            assert!(message.contains(&format!("`specimen data fetch {}`", name.name())), "{message}");
            assert_eq!(name.heads().needs, [name.trunk().name.as_str()]);
        }
        assert!(refused("lpips").contains("unknown network `lpips`, expected one of lpips-alex, lpips-vgg"));
    }
}
