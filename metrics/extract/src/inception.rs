//! Inception-v3 as FID uses it: the network that TensorFlow released on 2015-12-05, by the tensor names of
//! `pt_inception-2015-12-05-6726825d.pth` (pytorch-fid, torch-fidelity, torchmetrics).
//!
//! It differs from torchvision's: 1008 classes, no auxiliary head, batch norms with an epsilon of 1e-3, means that
//! do not count the padding in the pooling branches of the blocks A, C and E_1 (5b to 7b), and a maximum in that of
//! E_2 (7c). Takes `[n, 3, 299, 299]` in about `[-1, 1]`.

use specimen_weights::{Init, LoadError, ParamSource, Scoped};
use tch::{Device, Kind, Tensor};

use crate::{
    conv::{ConvRelu, ConvShape},
    network::Layer,
    open::Network,
};

/// Classes of the last layer.
const N_CLASSES: i64 = 1008;
/// Width of the pooled feature before it.
const N_POOLED: i64 = 2048;

/// Pictures that go through the stem at once on a CPU. Its maps are the largest of the network (up to 5.5 MB a picture in f32):
/// those of 4 pictures stay in the cache from one convolution to the next, which takes 0.76 of the time for 16 in f32
/// and 0.85 in bf16.
const STEM_BATCH: i64 = 4;

/// Layers that are means of a map, from the pixels on; logits lie behind the last.
const STAGES: [&str; 4] = ["64", "192", "768", "2048"];

/// What a pooling branch does before (maximum) or after (mean) its 1x1 convolution.
#[derive(Clone, Copy)]
enum Pooling {
    /// Mean of 3x3, padding not counted.
    Mean,
    /// Maximum of 3x3.
    Max,
}

/// Convolutions one after the other.
struct Chain(Vec<ConvRelu>);

/// A block, by the letter that torchvision gives its kind.
enum Block {
    /// `[1x1, 5x5, 3x3 twice]`
    A { branches: [Chain; 3], pool: ConvRelu },
    /// `[3x3, 3x3 twice]`, halves the size.
    B { branches: [Chain; 2] },
    /// `[1x1, 7x7, 7x7 twice]`, the 7x7 in two parts.
    C { branches: [Chain; 3], pool: ConvRelu },
    /// `[3x3, 7x7 then 3x3]`, halves the size.
    D { branches: [Chain; 2] },
    /// 1x1, and two branches that each end in 1x3 beside 3x1.
    E { one: ConvRelu, forks: [(Chain, [ConvRelu; 2]); 2], pool: ConvRelu, pooling: Pooling },
}

/// The network, batch norms folded.
pub struct Inception {
    /// Before the first and before the second maximum pooling.
    stem: [Chain; 2],
    /// Mixed_5b to Mixed_6e.
    middle: Vec<Block>,
    /// Mixed_7a to Mixed_7c.
    last: Vec<Block>,
    /// `[1008, 2048]`
    fc_weight: Tensor,
    /// `[1008]`
    fc_bias: Tensor,
}

/// Reads the convolutions of one scope.
struct Reader<'a> {
    source: &'a mut dyn ParamSource,
    kind: Kind,
}

impl Reader<'_> {
    /// `(kernel, padding)` as `[down, across]`.
    fn conv(
        &mut self,
        name: &str,
        (n_in, n_out): (i64, i64),
        kernel: [i64; 2],
        stride: i64,
        padding: [i64; 2],
    ) -> Result<ConvRelu, LoadError> {
        let shape = ConvShape { n_in, n_out, kernel, stride, padding };
        ConvRelu::with_batch_norm(self.source, name, shape, self.kind)
    }

    fn one(&mut self, name: &str, width: (i64, i64)) -> Result<ConvRelu, LoadError> {
        self.conv(name, width, [1, 1], 1, [0, 0])
    }

    /// A convolution of this kernel that keeps the size.
    fn same(&mut self, name: &str, width: (i64, i64), kernel: [i64; 2]) -> Result<ConvRelu, LoadError> {
        self.conv(name, width, kernel, 1, [kernel[0] / 2, kernel[1] / 2])
    }

    /// 3x3 with stride 2 and no padding.
    fn halve(&mut self, name: &str, width: (i64, i64)) -> Result<ConvRelu, LoadError> {
        self.conv(name, width, [3, 3], 2, [0, 0])
    }

    fn scope(&mut self, name: &str) -> (Scoped<'_>, Kind) {
        (Scoped::new(self.source, format!("{name}.")), self.kind)
    }

    fn block_a(&mut self, n_in: i64, n_pool: i64) -> Result<Block, LoadError> {
        let one = self.one("branch1x1", (n_in, 64))?;
        let five = vec![self.one("branch5x5_1", (n_in, 48))?, self.same("branch5x5_2", (48, 64), [5, 5])?];
        let three = vec![
            self.one("branch3x3dbl_1", (n_in, 64))?,
            self.same("branch3x3dbl_2", (64, 96), [3, 3])?,
            self.same("branch3x3dbl_3", (96, 96), [3, 3])?,
        ];
        let pool = self.one("branch_pool", (n_in, n_pool))?;
        Ok(Block::A { branches: [Chain(vec![one]), Chain(five), Chain(three)], pool })
    }

    fn block_b(&mut self) -> Result<Block, LoadError> {
        let three = self.halve("branch3x3", (288, 384))?;
        let twice = vec![
            self.one("branch3x3dbl_1", (288, 64))?,
            self.same("branch3x3dbl_2", (64, 96), [3, 3])?,
            self.halve("branch3x3dbl_3", (96, 96))?,
        ];
        Ok(Block::B { branches: [Chain(vec![three]), Chain(twice)] })
    }

    fn block_c(&mut self, c7: i64) -> Result<Block, LoadError> {
        let one = self.one("branch1x1", (768, 192))?;
        let once = vec![
            self.one("branch7x7_1", (768, c7))?,
            self.same("branch7x7_2", (c7, c7), [1, 7])?,
            self.same("branch7x7_3", (c7, 192), [7, 1])?,
        ];
        let twice = vec![
            self.one("branch7x7dbl_1", (768, c7))?,
            self.same("branch7x7dbl_2", (c7, c7), [7, 1])?,
            self.same("branch7x7dbl_3", (c7, c7), [1, 7])?,
            self.same("branch7x7dbl_4", (c7, c7), [7, 1])?,
            self.same("branch7x7dbl_5", (c7, 192), [1, 7])?,
        ];
        let pool = self.one("branch_pool", (768, 192))?;
        Ok(Block::C { branches: [Chain(vec![one]), Chain(once), Chain(twice)], pool })
    }

    fn block_d(&mut self) -> Result<Block, LoadError> {
        let three = vec![self.one("branch3x3_1", (768, 192))?, self.halve("branch3x3_2", (192, 320))?];
        let seven = vec![
            self.one("branch7x7x3_1", (768, 192))?,
            self.same("branch7x7x3_2", (192, 192), [1, 7])?,
            self.same("branch7x7x3_3", (192, 192), [7, 1])?,
            self.halve("branch7x7x3_4", (192, 192))?,
        ];
        Ok(Block::D { branches: [Chain(three), Chain(seven)] })
    }

    fn block_e(&mut self, n_in: i64, pooling: Pooling) -> Result<Block, LoadError> {
        let one = self.one("branch1x1", (n_in, 320))?;
        let once = Chain(vec![self.one("branch3x3_1", (n_in, 384))?]);
        let once_ends =
            [self.same("branch3x3_2a", (384, 384), [1, 3])?, self.same("branch3x3_2b", (384, 384), [3, 1])?];
        let twice = Chain(vec![
            self.one("branch3x3dbl_1", (n_in, 448))?,
            self.same("branch3x3dbl_2", (448, 384), [3, 3])?,
        ]);
        let twice_ends = [
            self.same("branch3x3dbl_3a", (384, 384), [1, 3])?,
            self.same("branch3x3dbl_3b", (384, 384), [3, 1])?,
        ];
        let pool = self.one("branch_pool", (n_in, 192))?;
        Ok(Block::E { one, forks: [(once, once_ends), (twice, twice_ends)], pool, pooling })
    }
}

impl Inception {
    /// Reads the 472 parameters and folds the batch norms; the counters of batches (`num_batches_tracked`) are not
    /// asked for.
    pub fn new(source: &mut dyn ParamSource, kind: Kind) -> Result<Self, LoadError> {
        let mut read = Reader { source, kind };
        let first = vec![
            read.halve("Conv2d_1a_3x3", (3, 32))?,
            read.conv("Conv2d_2a_3x3", (32, 32), [3, 3], 1, [0, 0])?,
            read.same("Conv2d_2b_3x3", (32, 64), [3, 3])?,
        ];
        let second = vec![
            read.one("Conv2d_3b_1x1", (64, 80))?,
            read.conv("Conv2d_4a_3x3", (80, 192), [3, 3], 1, [0, 0])?,
        ];
        let mut block = |name: &str, build: &dyn Fn(&mut Reader<'_>) -> Result<Block, LoadError>| {
            let (mut source, kind) = read.scope(name);
            build(&mut Reader { source: &mut source, kind })
        };
        let middle = vec![
            block("Mixed_5b", &|read| read.block_a(192, 32))?,
            block("Mixed_5c", &|read| read.block_a(256, 64))?,
            block("Mixed_5d", &|read| read.block_a(288, 64))?,
            block("Mixed_6a", &|read| read.block_b())?,
            block("Mixed_6b", &|read| read.block_c(128))?,
            block("Mixed_6c", &|read| read.block_c(160))?,
            block("Mixed_6d", &|read| read.block_c(160))?,
            block("Mixed_6e", &|read| read.block_c(192))?,
        ];
        let last = vec![
            block("Mixed_7a", &|read| read.block_d())?,
            block("Mixed_7b", &|read| read.block_e(1280, Pooling::Mean))?,
            block("Mixed_7c", &|read| read.block_e(N_POOLED, Pooling::Max))?,
        ];
        let bound = Init::Uniform((6.0 / N_POOLED as f64).sqrt());
        let fc_weight = read.source.param("fc.weight", &[N_CLASSES, N_POOLED], bound)?;
        let fc_bias = read.source.param("fc.bias", &[N_CLASSES], Init::Constant(0.0))?;
        // The last layer is 0.1 % of the work: it stays in f32 whatever the kind of the rest.
        Ok(Self {
            stem: [Chain(first), Chain(second)],
            middle,
            last,
            fc_weight: fc_weight.to_kind(Kind::Float),
            fc_bias: fc_bias.to_kind(Kind::Float),
        })
    }
}

impl Inception {
    /// What lies between the layer before `stage_idx` of [`STAGES`] and that layer.
    fn stage(&self, stage_idx: usize, x: &Tensor) -> Tensor {
        match stage_idx {
            0 | 1 => {
                let run = |x: &Tensor| halve_by_maximum(&self.stem[stage_idx].forward(x));
                if x.device() != Device::Cpu {
                    return run(x);
                }
                Tensor::cat(&x.split(STEM_BATCH, 0).iter().map(run).collect::<Vec<_>>(), 0)
            }
            2 => run_blocks(&self.middle, x),
            _ => run_blocks(&self.last, x),
        }
    }
}

/// The stage whose mean `layer` is, or is computed from.
fn stage_of(layer: &Layer) -> usize {
    STAGES.iter().position(|name| *name == layer.name).unwrap_or(STAGES.len() - 1)
}

impl Network for Inception {
    fn run(&self, x: &Tensor, layers: &[Layer]) -> Vec<Tensor> {
        let n_stages = layers.iter().map(stage_of).max().map_or(0, |deepest| deepest + 1);
        let mut x = x.shallow_clone();
        let mut means = Vec::with_capacity(n_stages);
        for stage_idx in 0..n_stages {
            x = self.stage(stage_idx, &x);
            means.push(mean_of_picture(&x));
        }
        let of_layer = |layer: &Layer| {
            let mean = &means[stage_of(layer)];
            match layer.name {
                "logits" => mean.linear(&self.fc_weight, Some(&self.fc_bias)),
                "logits-unbiased" => mean.linear(&self.fc_weight, None::<&Tensor>),
                _ => mean.shallow_clone(),
            }
        };
        layers.iter().map(of_layer).collect()
    }
}

impl Chain {
    fn forward(&self, x: &Tensor) -> Tensor {
        self.0.iter().fold(x.shallow_clone(), |x, conv| conv.forward(&x))
    }
}

impl Block {
    /// `x`: `[n, c, h, w]`; returns the branches side by side, `[n, c', h', w']`.
    fn forward(&self, x: &Tensor) -> Tensor {
        let mut parts: Vec<Tensor> = match self {
            Self::A { branches, .. } | Self::C { branches, .. } => {
                branches.iter().map(|branch| branch.forward(x)).collect()
            }
            Self::B { branches } | Self::D { branches } => {
                branches.iter().map(|branch| branch.forward(x)).collect()
            }
            Self::E { one, forks, .. } => {
                let mut parts = vec![one.forward(x)];
                for (stem, ends) in forks {
                    let stem = stem.forward(x);
                    parts.extend(ends.iter().map(|end| end.forward(&stem)));
                }
                parts
            }
        };
        parts.push(match self {
            Self::A { pool, .. } | Self::C { pool, .. } | Self::E { pool, pooling: Pooling::Mean, .. } => {
                // Convolving 1x1 and averaging commute, and the convolution leaves fewer channels to average.
                mean_of_neighbours(&pool.linear(x)).relu_()
            }
            Self::E { pool, pooling: Pooling::Max, .. } => {
                pool.forward(&x.max_pool2d([3, 3], [1, 1], [1, 1], [1, 1], false))
            }
            Self::B { .. } | Self::D { .. } => halve_by_maximum(x),
        });
        Tensor::cat(&parts, 1)
    }
}

fn run_blocks(blocks: &[Block], x: &Tensor) -> Tensor {
    blocks.iter().fold(x.shallow_clone(), |x, block| block.forward(&x))
}

/// Mean of the 3x3 around each pixel, counting those inside the picture only.
fn mean_of_neighbours(x: &Tensor) -> Tensor {
    x.avg_pool2d([3, 3], [1, 1], [1, 1], false, false, None::<i64>)
}

fn halve_by_maximum(x: &Tensor) -> Tensor {
    x.max_pool2d([3, 3], [2, 2], [0, 0], [1, 1], false)
}

/// `[n, c, h, w]` to `[n, c]`, summed in f32.
fn mean_of_picture(x: &Tensor) -> Tensor {
    x.mean_dim([2_i64, 3].as_slice(), false, Kind::Float)
}
