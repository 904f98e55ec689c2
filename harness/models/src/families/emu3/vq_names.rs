//! Names of the tensors of Emu3's picture tokenizer: its authors' own, and those that `transformers` gives them.

use specimen_weights::{Init, LoadError, ParamSource};
use tch::Tensor;

/// How a file names the tensors of the tokenizer of pictures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VqNames {
    /// What stands before all of them.
    prefix: &'static str,
    /// Whether the parts have the names that `transformers` gives them.
    is_renamed: bool,
}

impl VqNames {
    /// The authors' own file.
    pub const ORIGINAL: Self = Self { prefix: "", is_renamed: false };
    /// `Emu3-Gen-hf`, where they are beside the transformer.
    pub const HUGGING_FACE: Self = Self { prefix: "vqmodel.", is_renamed: true };
    /// As `transformers` writes them since 4.52.
    pub const NEWER: Self = Self { prefix: "model.vqmodel.", is_renamed: true };

    /// The names of a file that has some of them.
    pub fn of_file(has: impl Fn(&str) -> bool) -> Self {
        let known = [Self::HUGGING_FACE, Self::NEWER].map(|names| names.prefix);
        let prefix = known.into_iter().find(|prefix| has(&format!("{prefix}{CODEBOOK}"))).unwrap_or_default();
        Self { prefix, is_renamed: has(&format!("{prefix}decoder.middle_block.block_1.conv1.weight")) }
    }

    /// What stands before all of them.
    pub(super) fn prefix(self) -> &'static str {
        self.prefix
    }

    /// Whether the parts have the names that `transformers` gives them.
    pub(super) fn is_renamed(self) -> bool {
        self.is_renamed
    }

    /// Whether a file of both networks has the tensor `name` for the tokenizer of pictures.
    pub fn is_of_it(name: &str) -> bool {
        [Self::HUGGING_FACE, Self::NEWER].iter().any(|names| name.starts_with(names.prefix))
    }

    /// Whether a published file has the tensor `name` for another purpose than painting: the way from pixels to codes, and
    /// what training counted.
    pub fn is_not_for_painting(self, name: &str) -> bool {
        name.strip_prefix(self.prefix).is_some_and(|name| {
            ["encoder.", "quant_conv."].iter().any(|part| name.starts_with(part))
                || name.ends_with(".num_batches_tracked")
        })
    }
}

/// The codebook, `[n_codes, d_code]`.
pub(super) const CODEBOOK: &str = "quantize.embedding.weight";

/// Answers to the authors' names with what a file of `transformers` has under its own.
pub(super) struct Renamed<'a>(pub(super) &'a mut dyn ParamSource);

/// The name that `transformers` gives to the authors' `name`: blocks below `middle_block` and `up_block`, the norm of an
/// attention beside it, its projections with names of linear layers.
fn renamed(name: &str) -> String {
    let parts: Vec<&str> = name.split('.').collect();
    let projection = |part: &str| match part {
        "q" => "q_proj".to_owned(),
        "k" => "k_proj".to_owned(),
        "v" => "v_proj".to_owned(),
        "proj_out" => "out_proj".to_owned(),
        other => other.to_owned(),
    };
    match parts.as_slice() {
        ["decoder", "mid", "attn_1", "norm", rest @ ..] => {
            format!("decoder.middle_block.attn_norm.{}", rest.join("."))
        }
        ["decoder", "mid", "attn_1", part, rest] => {
            format!("decoder.middle_block.attn_1.{}.{rest}", projection(part))
        }
        ["decoder", "mid", rest @ ..] => format!("decoder.middle_block.{}", rest.join(".")),
        ["decoder", "up", level, "attn", at, "norm", rest @ ..] => {
            format!("decoder.up_block.up.{level}.attn_norms.{at}.{}", rest.join("."))
        }
        ["decoder", "up", level, "attn", at, part, rest] => {
            format!("decoder.up_block.up.{level}.attn.{at}.{}.{rest}", projection(part))
        }
        ["decoder", "up", rest @ ..] => format!("decoder.up_block.up.{}", rest.join(".")),
        _ => name.to_owned(),
    }
}

impl ParamSource for Renamed<'_> {
    fn param(&mut self, name: &str, shape: &[i64], init: Init) -> Result<Tensor, LoadError> {
        let published = renamed(name);
        // Attention is linear layers there and convolutions of one place here.
        match shape {
            [n_out, n_in, 1, 1] if published.contains(".attn") && published.contains("_proj") => {
                Ok(self.0.param(&published, &[*n_out, *n_in], init)?.view(shape))
            }
            _ => self.0.param(&published, shape, init),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_the_decoder_have_the_names_of_transformers() {
        for (own, published) in [
            ("quantize.embedding.weight", "quantize.embedding.weight"),
            ("post_quant_conv.conv.weight", "post_quant_conv.conv.weight"),
            ("decoder.time_conv.1.conv.conv.bias", "decoder.time_conv.1.conv.conv.bias"),
            ("decoder.norm_out.conv_y.weight", "decoder.norm_out.conv_y.weight"),
            (
                "decoder.mid.block_2.norm1.norm_layer.bias",
                "decoder.middle_block.block_2.norm1.norm_layer.bias",
            ),
            ("decoder.mid.attn_1.norm.conv_b.weight", "decoder.middle_block.attn_norm.conv_b.weight"),
            ("decoder.mid.attn_1.proj_out.bias", "decoder.middle_block.attn_1.out_proj.bias"),
            (
                "decoder.up.3.attn.0.norm.norm_layer.weight",
                "decoder.up_block.up.3.attn_norms.0.norm_layer.weight",
            ),
            ("decoder.up.3.attn.2.q.weight", "decoder.up_block.up.3.attn.2.q_proj.weight"),
            ("decoder.up.0.block.1.nin_shortcut.weight", "decoder.up_block.up.0.block.1.nin_shortcut.weight"),
        ] {
            assert_eq!(renamed(own), published);
        }
    }
}
