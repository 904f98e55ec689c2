//! What crosses between host and device while an image is decoded. Each crossing makes the host wait for the device, so
//! what belongs together crosses in one copy; crossings are counted, and tests hold budgets on them.

use std::cell::{Cell, RefCell};

use tch::{Device, Kind, Tensor};

use crate::seam::mask::Mask;

/// Vectors of a GPU are read in pieces of so many bytes.
const ALIGNED_BYTES: usize = 16;

thread_local! {
    static CROSSINGS: Cell<Crossings> = const { Cell::new(Crossings { n_uploads: 0, n_downloads: 0 }) };
}

/// Copies between host and device, whether they are two memories or one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Crossings {
    /// To the device.
    pub n_uploads: u64,
    /// To the host.
    pub n_downloads: u64,
}

/// What `work` gives, and the copies it made on this thread.
pub fn crossings<T>(work: impl FnOnce() -> T) -> (T, Crossings) {
    let before = CROSSINGS.get();
    let given = work();
    let now = CROSSINGS.get();
    let made = Crossings {
        n_uploads: now.n_uploads - before.n_uploads,
        n_downloads: now.n_downloads - before.n_downloads,
    };
    (given, made)
}

/// Rows of f32 numbers on the host.
pub(crate) struct HostRows {
    width: usize,
    values: Values,
}

/// `[n * width]`
enum Values {
    Copied(Vec<f32>),
    /// Memory that a GPU writes to at full speed, of so many numbers or more.
    Pinned(Tensor),
}

thread_local! {
    /// Memory for [`Values::Pinned`] that nothing uses: it takes long to get.
    static PINNED: RefCell<Vec<Tensor>> = const { RefCell::new(Vec::new()) };
}

impl HostRows {
    /// Takes `rows` (`[n, width]`, f32) over in one copy.
    pub(crate) fn of(rows: &Tensor) -> Self {
        CROSSINGS.set(Crossings { n_downloads: CROSSINGS.get().n_downloads + 1, ..CROSSINGS.get() });
        let (n, width) = (rows.numel(), rows.size()[1] as usize);
        if rows.device() == Device::Cpu {
            let mut values = vec![0.0_f32; n];
            rows.copy_data(&mut values, n);
            return Self { width, values: Values::Copied(values) };
        }
        let free = PINNED.with_borrow_mut(|free| {
            let fits = free.iter().position(|values| values.numel() >= n);
            fits.map(|at| free.swap_remove(at))
        });
        let make = || {
            let n = n.next_power_of_two() as i64;
            Tensor::zeros([n], (Kind::Float, Device::Cpu)).internal_pin_memory(rows.device())
        };
        let values = free.unwrap_or_else(make);
        values.narrow(0, 0, n as i64).view(rows.size().as_slice()).copy_(rows);
        Self { width, values: Values::Pinned(values) }
    }

    /// `[width]`
    pub(crate) fn row(&self, at: usize) -> Vec<f32> {
        let (from, width) = (at * self.width, self.width);
        match &self.values {
            Values::Copied(values) => values[from..][..width].to_vec(),
            Values::Pinned(values) => {
                let mut row = vec![0.0_f32; width];
                values.narrow(0, from as i64, width as i64).copy_data(&mut row, width);
                row
            }
        }
    }
}

impl Drop for HostRows {
    fn drop(&mut self) {
        if let Values::Pinned(values) = &self.values {
            // At the end of the thread there is no list any more.
            let _ = PINNED.try_with(|free| free.borrow_mut().push(values.shallow_clone()));
        }
    }
}

/// One list on the device.
pub(crate) fn upload_list(list: &[i64], device: Device) -> Tensor {
    let ([list], _) = upload([list], None, Kind::Float, device);
    list
}

/// Lists of ids or positions, and the mask `[n, width]` in `kind`, on the device.
pub(crate) fn upload<const N: usize>(
    lists: [&[i64]; N],
    mask: Option<&Mask>,
    kind: Kind,
    device: Device,
) -> ([Tensor; N], Option<Tensor>) {
    let packed = Packed::new(lists, mask);
    let (lists, values) = packed.views(&packed.upload(device));
    // The kind changes while rows are whole, so that they stay aligned.
    let mask = mask.zip(values).map(|(mask, values)| values.to_kind(kind).narrow(1, 0, mask.shape()[1]));
    (lists, mask)
}

/// Lists and a mask that go up in one copy.
pub(crate) struct Packed<const N: usize> {
    bytes: Vec<u8>,
    lens: [usize; N],
    mask_at: usize,
    /// Rows of the mask, and entries from one to the next.
    mask: Option<[i64; 2]>,
}

impl<const N: usize> Packed<N> {
    pub(crate) fn new(lists: [&[i64]; N], mask: Option<&Mask>) -> Self {
        let mut bytes: Vec<u8> =
            lists.iter().copied().flatten().flat_map(|number| number.to_ne_bytes()).collect();
        // What reads the mask wants its beginning aligned.
        bytes.resize(bytes.len().next_multiple_of(ALIGNED_BYTES), 0);
        let mask_at = bytes.len();
        if let Some(mask) = mask {
            bytes.extend(mask.values().iter().flat_map(|value| value.to_ne_bytes()));
        }
        let shape = |mask: &Mask| {
            let [n, _, stride] = mask.shape();
            [n, stride]
        };
        Self { bytes, lens: lists.map(<[i64]>::len), mask_at, mask: mask.map(shape) }
    }

    /// A block on the device, u8.
    pub(crate) fn upload(&self, device: Device) -> Tensor {
        count_upload();
        Tensor::from_slice(&self.bytes).to_device(device)
    }

    /// Writes it over `block`, which was uploaded with lists and a mask of the same sizes.
    pub(crate) fn upload_into(&self, block: &mut Tensor) {
        count_upload();
        block.copy_(&Tensor::from_slice(&self.bytes));
    }

    /// The lists in `block`, and the mask with its rows whole, `[n, stride]` in f32.
    pub(crate) fn views(&self, block: &Tensor) -> ([Tensor; N], Option<Tensor>) {
        let n_numbers: usize = self.lens.iter().sum();
        let numbers = block.narrow(0, 0, (n_numbers * size_of::<i64>()) as i64).view_dtype(Kind::Int64);
        let mut from = 0;
        let lists = self.lens.map(|len| {
            let list = numbers.narrow(0, from, len as i64);
            from += len as i64;
            list
        });
        let mask = self.mask.map(|[n, stride]| {
            let n_bytes = n * stride * size_of::<f32>() as i64;
            block.narrow(0, self.mask_at as i64, n_bytes).view_dtype(Kind::Float).view([n, stride])
        });
        (lists, mask)
    }
}

fn count_upload() {
    CROSSINGS.set(Crossings { n_uploads: CROSSINGS.get().n_uploads + 1, ..CROSSINGS.get() });
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use super::*;
    use crate::seam::mask::causal_behind;

    const HIDDEN: f32 = f32::NEG_INFINITY;

    #[test]
    fn lists_and_mask_come_out_as_they_went_in() {
        let mask = causal_behind(2, 2);
        let ([ids, none, places], mask) =
            upload([&[7, -1, 1 << 40], &[], &[5]], mask.as_ref(), Kind::Float, Device::Cpu);
        let list = |x: &Tensor| Vec::<i64>::try_from(x).unwrap();
        assert_eq!((list(&ids), list(&none), list(&places)), (vec![7, -1, 1 << 40], vec![], vec![5]));
        let mask = mask.unwrap();
        assert_eq!(mask.size(), [2, 4]);
        assert_eq!(mask.stride(), [8, 1], "rows are aligned");
        assert_eq!(mask.storage_offset() % 4, 0, "the mask begins at a multiple of 16 bytes");
        assert_eq!(
            Vec::<f32>::try_from(mask.reshape([-1])).unwrap(),
            [0.0, 0.0, 0.0, HIDDEN, 0.0, 0.0, 0.0, 0.0]
        );
    }

    #[test]
    fn a_mask_in_another_kind_stays_aligned() {
        let ([], mask) = upload([], causal_behind(8, 3).as_ref(), Kind::BFloat16, Device::Cpu);
        let mask = mask.unwrap();
        assert_eq!((mask.kind(), mask.size(), mask.stride()), (Kind::BFloat16, vec![3, 11], vec![16, 1]));
    }
}
