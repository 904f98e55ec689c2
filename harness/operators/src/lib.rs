//! Counts the kernels that a piece of code asks of libtorch: what a device would be given to do, one after the other. A
//! measure of cost that holds on any machine, and that tests hold budgets on.
//!
//! A kernel is an operator that computes and calls no other that does; views and empty memory are none. On a CPU some
//! kernels are fused that are several on a GPU, and the other way round, so the count is a proxy. Only the calling
//! thread is observed.
//!
//! A wait is an operator whose result the host must know before it can continue: a number, whether tensors are equal, how
//! many entries are not zero. On a GPU each is a copy to the host, and the queue runs empty.

use std::collections::BTreeMap;

use tch::Kind;

/// Operators by their names, without `aten::`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kernels {
    /// Those that compute.
    pub computing: BTreeMap<String, u64>,
    /// Those that make the host wait for the device. Some compute as well, and are then in both.
    pub waiting: BTreeMap<String, u64>,
}

impl Kernels {
    /// All that compute.
    pub fn n(&self) -> u64 {
        self.computing.values().sum()
    }

    /// How often the host waits.
    pub fn n_waits(&self) -> u64 {
        self.waiting.values().sum()
    }

    /// All that compute in a step in `kind`, but for the conversions around products that a
    /// GPU is not asked for. A processor that is slow in bf16 takes products in f32: it converts one factor, a bias, and what
    /// comes out.
    pub fn n_of_step(&self, kind: Kind, is_slow_in_bf16: bool) -> u64 {
        match kind == Kind::BFloat16 && is_slow_in_bf16 {
            true => self.n() - 2 * self.of("mm") - 3 * self.of("addmm"),
            false => self.n(),
        }
    }

    /// Those of one operator that computes.
    pub fn of(&self, name: &str) -> u64 {
        self.computing.get(name).copied().unwrap_or(0)
    }
}

#[allow(unsafe_code, reason = "the observer of operators is C++")]
mod observer {
    unsafe extern "C" {
        safe fn specimen_operators_begin() -> i32;
        fn specimen_operators_end(out: *mut u8, size: usize) -> i64;
    }

    /// More than the names of all operators take.
    const MOST_BYTES: usize = 1 << 18;

    pub(crate) fn begin() -> i32 {
        specimen_operators_begin()
    }

    /// The lines of what was counted.
    pub(crate) fn end() -> Option<String> {
        let mut text = vec![0_u8; MOST_BYTES];
        // SAFETY: at most `text.len()` bytes are written into `text`.
        let n = unsafe { specimen_operators_end(text.as_mut_ptr(), text.len()) };
        let n = usize::try_from(n).ok().filter(|n| *n <= MOST_BYTES)?;
        text.truncate(n);
        String::from_utf8(text).ok()
    }
}

/// What `work` gives, and the kernels it asked for on this thread.
///
/// # Panics
/// Inside another count of this thread, and where torch does not let itself be observed.
pub fn count<T>(work: impl FnOnce() -> T) -> (T, Kernels) {
    // Without tch in the program nothing of libtorch would be linked.
    let _guard = tch::no_grad_guard();
    assert_eq!(observer::begin(), 0, "the operators of a thread are counted once at a time");
    let given = work();
    let text = observer::end().expect("what was begun has an end");
    let of = |what: &str| {
        let line = |line: &str| {
            let (name, n) = line.strip_prefix(what)?.rsplit_once(' ')?;
            Some((name.trim_start_matches("aten::").to_owned(), n.parse().ok()?))
        };
        text.lines().filter_map(line).collect()
    };
    (given, Kernels { computing: of("kernel "), waiting: of("wait ") })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tch::{Device, Tensor};

    fn ones(shape: [i64; 2]) -> Tensor {
        Tensor::ones(shape, (Kind::Float, Device::Cpu))
    }

    #[test]
    fn views_are_free_and_what_calls_a_kernel_is_counted_once() {
        let (x, w) = (ones([3, 4]), ones([5, 4]));
        let (_, viewed) = count(|| x.view([4, 3]).transpose(0, 1).narrow(0, 0, 2).unsqueeze(1));
        assert_eq!(viewed.n(), 0, "{viewed:?}");
        let (_, linear) = count(|| x.linear(&w, None::<&Tensor>));
        assert_eq!(linear.n(), 1, "{linear:?}");
        let bias = Tensor::ones([5], (Kind::Float, Device::Cpu));
        let (_, with_bias) = count(|| x.linear(&w, Some(&bias)));
        assert_eq!((with_bias.n(), with_bias.of("addmm")), (1, 1), "{with_bias:?}");
        let (_, several) = count(|| (&x + 1.0).softmax(-1, None::<Kind>).to_kind(Kind::BFloat16));
        assert_eq!(several.n(), 3, "{several:?}");
        let scale = Tensor::ones([4], (Kind::Float, Device::Cpu));
        let (_, norm) = count(|| x.rms_norm([4], Some(&scale), 1e-6));
        assert_eq!(norm.n(), 1, "{norm:?}");
        let (_, same) = count(|| x.to_kind(Kind::Float).contiguous());
        assert_eq!(same.n(), 0, "{same:?}");
    }

    #[test]
    fn a_copy_into_a_view_is_one_kernel_and_counts_are_of_one_thread() {
        let (x, y) = (ones([3, 4]), ones([2, 4]));
        let (_, copied) = count(|| x.narrow(0, 1, 2).copy_(&y));
        assert_eq!((copied.n(), copied.of("copy_")), (1, 1), "{copied:?}");
        let (_, apart) = count(|| {
            std::thread::scope(|scope| scope.spawn(|| ones([2, 2]) + 1.0).join().map(|x| x.numel()))
        });
        assert_eq!(apart.n(), 0, "{apart:?}");
    }

    #[test]
    fn what_the_host_reads_is_one_wait_however_it_is_asked_for() {
        let x = ones([3, 4]);
        let waits = |read: &dyn Fn()| count(read).1.waiting.into_iter().collect::<Vec<_>>();
        let one = |name: &str| vec![(name.to_owned(), 1)];
        // The `item` of C++ calls nothing that computes.
        let (_, number) = count(|| x.double_value(&[0, 0]));
        assert_eq!((number.n(), number.n_waits()), (0, 1), "{number:?}");
        assert_eq!(waits(&|| assert!(x.equal(&x))), one("equal"));
        assert_eq!(waits(&|| drop(x.nonzero())), one("nonzero"));
        assert_eq!(waits(&|| drop(x.masked_select(&x.gt(0.0)))), one("masked_select"));
        assert_eq!(waits(&|| assert!(x.get(0).get(0).is_nonzero())), one("is_nonzero"));
        assert_eq!(waits(&|| drop(x.softmax(-1, None::<Kind>).sum(None::<Kind>))), []);
    }
}
