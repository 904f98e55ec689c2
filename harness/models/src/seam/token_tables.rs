//! What a model knows of its tokens besides their probability: code vectors, input embeddings, and who is near
//! whom. Methods ask for it through [`Needs`]; plain rows on the host, made when a method first asks.
//!
//! Near is near in the VQ codebook: Euclidean distance, the token itself left out, ties to the lowest id
//! (LANTERN, Jang et al., arXiv 2410.03355, and its reference code). Rows of length 1 rank as by cosine.

use std::{cell::RefCell, rc::Rc};

use specimen_decode::{
    method::{Needs, Parts},
    vectors::{Neighbours, TokenVectors},
};
use specimen_foundation::folders::cache_folder;
use specimen_weights::LoadError;
use tch::{Device, Kind, Tensor};

use crate::seam::neighbour_store::neighbours;

/// The tables of one model; each is absent where the model has none.
#[derive(Default)]
pub struct TokenTables {
    /// Vectors of the VQ codebook, `[n_vocab, d_code]`.
    codebook: Option<Rc<TokenVectors>>,
    /// The target's input embeddings of the image tokens, `[n_vocab, d_model]`.
    embeddings: Option<Rc<TokenVectors>>,
    /// Where distances between tokens are measured.
    space: Option<Rc<TokenVectors>>,
    /// The widest table of neighbours that a method has asked for.
    neighbours: RefCell<Option<Rc<Neighbours>>>,
}

impl TokenTables {
    /// Those of a model with a VQ codebook, in which neighbours are looked for.
    pub fn of_codebook(codebook: TokenVectors, embeddings: TokenVectors) -> Self {
        let codebook = Rc::new(codebook);
        Self {
            codebook: Some(codebook.clone()),
            embeddings: Some(Rc::new(embeddings)),
            space: Some(codebook),
            neighbours: RefCell::default(),
        }
    }

    /// Those of a model whose tokens are no codes but values, such as grey levels: neighbours are near in
    /// `values`, and there is no codebook, since an angle between values means nothing.
    pub fn of_values(values: TokenVectors, embeddings: TokenVectors) -> Self {
        Self {
            codebook: None,
            embeddings: Some(Rc::new(embeddings)),
            space: Some(Rc::new(values)),
            neighbours: RefCell::default(),
        }
    }

    /// The tables that `needs` names, as far as there are any; no draft model. Making neighbours takes time
    /// that grows with the square of the vocabulary, once a width; those of large vocabularies are kept on disk.
    pub fn parts(&self, needs: &Needs) -> Parts {
        Parts {
            draft_model: None,
            neighbours: needs.n_nearest.and_then(|n_nearest| self.neighbours(n_nearest)),
            codebook: self.codebook.clone().filter(|_| needs.codebook),
            embeddings: self.embeddings.clone().filter(|_| needs.embeddings),
        }
    }

    /// At least `n_nearest` neighbours of every token, or all others.
    fn neighbours(&self, n_nearest: usize) -> Option<Rc<Neighbours>> {
        let space = self.space.as_ref()?;
        let mut held = self.neighbours.borrow_mut();
        let is_wide_enough = |table: &Rc<Neighbours>| {
            n_nearest <= table.n_nearest() || table.n_nearest() + 1 == table.n_vocab()
        };
        if !held.as_ref().is_some_and(is_wide_enough) {
            *held = Some(Rc::new(neighbours(space, n_nearest, cache_folder().as_deref())));
        }
        held.clone()
    }
}

/// The rows of `table`, `[n, dim]`, on the host in f32; bf16 entries keep their value. `file` is where the
/// table was read from, for messages.
///
/// # Panics
/// If the table has not two axes.
pub fn vectors_of(file: &str, table: &Tensor) -> Result<TokenVectors, LoadError> {
    let (_, dim) = table.size2().expect("a table of vectors has two axes");
    let table = table.detach().to_kind(Kind::Float).to_device(Device::Cpu).contiguous();
    let mut values = vec![0.0_f32; table.numel()];
    let n = values.len();
    table.copy_data(&mut values, n);
    TokenVectors::new(values, dim as usize)
        .map_err(|error| LoadError::Config { path: file.into(), reason: error.to_string() })
}

/// The vectors of all codes (`[n_codes, d_code]`), and behind them of `n_structural` tokens that are no codes: each far from all
/// codes and from each other, so that none is anyone's neighbour while codes are left. `file` is for messages.
///
/// # Panics
/// If the codebook has not two axes.
pub fn code_vectors(file: &str, codebook: &Tensor, n_structural: usize) -> Result<TokenVectors, LoadError> {
    let options = (Kind::Float, Device::Cpu);
    let codebook = codebook.detach().to_device(options.1).to_kind(options.0);
    let (_, d_code) = codebook.size2().expect("a codebook has two axes");
    let reach = codebook.abs().max().double_value(&[]).max(1.0);
    let far = |at: usize| Tensor::full([1, d_code], reach * 1e3 * (at + 1) as f64, options);
    let far = (0..n_structural).map(far);
    vectors_of(file, &Tensor::cat(&std::iter::once(codebook).chain(far).collect::<Vec<_>>(), 0))
}
