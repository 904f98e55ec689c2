//! A small writer of pickles, for files that PyTorch would not write.

/// Opcodes, one behind the other.
#[derive(Clone, Default)]
pub(crate) struct Pickle(pub(crate) Vec<u8>);

impl Pickle {
    pub(crate) fn new() -> Self {
        Self(vec![0x80, 2])
    }

    pub(crate) fn op(mut self, opcode: u8) -> Self {
        self.0.push(opcode);
        self
    }

    pub(crate) fn raw(mut self, bytes: &[u8]) -> Self {
        self.0.extend_from_slice(bytes);
        self
    }

    pub(crate) fn global(self, module: &str, name: &str) -> Self {
        self.raw(format!("c{module}\n{name}\n").as_bytes())
    }

    pub(crate) fn text(self, text: &str) -> Self {
        self.op(b'X').raw(&(text.len() as u32).to_le_bytes()).raw(text.as_bytes())
    }

    pub(crate) fn int(self, n: u64) -> Self {
        match i32::try_from(n) {
            Ok(n) => self.op(b'J').raw(&n.to_le_bytes()),
            Err(_) => self.raw(&[0x8a, 8]).raw(&i64::try_from(n).unwrap().to_le_bytes()),
        }
    }

    pub(crate) fn ints(self, numbers: &[u64]) -> Self {
        numbers.iter().fold(self.op(b'('), |pickle, &n| pickle.int(n)).op(b't')
    }

    /// The storage `key` of `n` elements.
    pub(crate) fn storage(self, kind: &str, key: &str, n: u64) -> Self {
        let parts = self.op(b'(').text("storage").global("torch", kind).text(key).text("cpu").int(n);
        parts.op(b't').op(b'Q')
    }

    /// A tensor over that storage.
    pub(crate) fn tensor(
        self,
        storage: (&str, &str, u64),
        offset: u64,
        shape: &[u64],
        strides: &[u64],
    ) -> Self {
        let (kind, key, n) = storage;
        let args = self.global("torch._utils", "_rebuild_tensor_v2").op(b'(').storage(kind, key, n);
        let args = args.int(offset).ints(shape).ints(strides).op(0x89);
        args.global("collections", "OrderedDict").op(b')').op(b'R').op(b't').op(b'R')
    }

    pub(crate) fn end(self) -> Vec<u8> {
        self.op(b'.').0
    }

    /// `{"x": <what was pickled>}`, of a writer that begins with [`Self::dict`].
    pub(crate) fn dict() -> Self {
        Self::new().op(b'}').op(b'(').text("x")
    }

    /// Closes [`Self::dict`].
    pub(crate) fn end_dict(self) -> Vec<u8> {
        self.op(b'u').end()
    }
}
