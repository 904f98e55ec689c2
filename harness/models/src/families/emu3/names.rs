//! How files name the tensors of Emu3's transformer.

/// How a file names the tensors of the transformer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Emu3Names {
    /// The authors' `Emu3-Gen`: `model.`, `lm_head`.
    Original,
    /// `Emu3-Gen-hf`, as `transformers` wrote it in 2025-01: `text_model.model.`, `text_model.lm_head`.
    HuggingFace,
    /// As `transformers` writes it since 4.52: `model.text_model.`, `lm_head`.
    Newer,
}

impl Emu3Names {
    /// The layout of a file, by the name of its table of words.
    pub fn of_file(has: impl Fn(&str) -> bool) -> Self {
        let known = [Self::HuggingFace, Self::Newer];
        let words = |names: Self| format!("{}embed_tokens.weight", names.language_model());
        known.into_iter().find(|&names| has(&words(names))).unwrap_or(Self::Original)
    }

    /// Whether a file that holds more than the transformer has the tensor `name` for it.
    pub fn is_of_it(name: &str) -> bool {
        ["text_model.", "model.text_model.", "lm_head."].iter().any(|part| name.starts_with(part))
    }

    /// What the names of the language model begin with.
    pub const fn language_model(self) -> &'static str {
        match self {
            Self::Original => "model.",
            Self::HuggingFace => "text_model.model.",
            Self::Newer => "model.text_model.",
        }
    }

    /// Name of the output head, `[n_words, d]`.
    pub const fn head(self) -> &'static str {
        match self {
            Self::Original | Self::Newer => "lm_head.weight",
            Self::HuggingFace => "text_model.lm_head.weight",
        }
    }
}
