//! The stack machine: one opcode after the other, every count checked against the limits.

use std::collections::BTreeMap;

use crate::convert::Limits;

use super::{
    Fault, Wrong, globals,
    opcode::{self, code},
    reader::{Reader, text},
    rebuild,
    value::{Heap, Id, Node},
};

/// What the file around a pickle lets it name.
#[derive(Clone, Copy, Debug)]
pub struct Dialect<'o> {
    /// Whether it is one of a TorchScript archive, with classes of its own.
    pub has_script: bool,
    /// Further classes whose objects are left out.
    pub inert: &'o [String],
}

/// A pickle that was read to its end.
#[derive(Debug)]
pub struct Loaded<'a> {
    /// The values that it built.
    pub heap: Heap<'a>,
    /// The one that it is about.
    pub root: Id,
    /// How many bytes it took: files of old have one pickle behind the other.
    pub n_bytes: usize,
}

/// Reads the pickle at the beginning of `bytes`.
pub fn load<'a>(bytes: &'a [u8], dialect: Dialect<'_>, limits: &Limits) -> Result<Loaded<'a>, Fault> {
    let bytes = &bytes[..bytes.len().min(usize::try_from(limits.pickle_bytes).unwrap_or(usize::MAX))];
    let mut machine = Machine {
        reader: Reader::new(bytes),
        heap: Heap::default(),
        stack: Vec::new(),
        marks: Vec::new(),
        memo: BTreeMap::new(),
        n_cells: 0,
        dialect,
        limits,
    };
    let mut n_operations = 0;
    loop {
        let offset = machine.reader.offset() as u64;
        let mut opcode = None;
        let stepped = machine.reader.u8().and_then(|byte| {
            opcode = Some(byte);
            n_operations += 1;
            if n_operations > limits.operations {
                return Err(beyond("operations", limits.operations));
            }
            machine.step(byte)
        });
        match stepped {
            Ok(None) => {}
            Ok(Some(root)) => {
                return Ok(Loaded { n_bytes: machine.reader.offset(), heap: machine.heap, root });
            }
            Err(Wrong { expected, found, remedy }) => {
                let opcode = opcode.map_or("none", opcode::name);
                return Err(Fault { offset, opcode, expected, found, remedy });
            }
        }
    }
}

fn beyond(what: &str, limit: impl std::fmt::Display) -> Wrong {
    Wrong::new(format!("at most {limit} {what}"), "more")
        .with("no published checkpoint needs so many: do not trust the file")
}

struct Machine<'a, 'o> {
    reader: Reader<'a>,
    heap: Heap<'a>,
    stack: Vec<Id>,
    /// Heights of the stack at open marks.
    marks: Vec<usize>,
    memo: BTreeMap<u32, Id>,
    /// Places in containers that were filled or copied so far: what sharing could multiply.
    n_cells: u64,
    dialect: Dialect<'o>,
    limits: &'o Limits,
}

impl<'a> Machine<'a, '_> {
    /// Takes one step; the value that the pickle is about, at its end.
    fn step(&mut self, opcode: u8) -> Result<Option<Id>, Wrong> {
        match opcode {
            code::STOP => return self.pop().map(Some),
            code::PROTO => match self.reader.u8()? {
                2..=5 => {}
                other => return Err(Wrong::new("protocol 2 to 5", format!("protocol {other}"))),
            },
            code::FRAME => {
                self.reader.u64()?;
            }
            code::MARK => {
                if self.marks.len() == self.limits.depth {
                    return Err(beyond("open marks", self.limits.depth));
                }
                self.marks.push(self.stack.len());
            }
            code::POP => match self.marks.last() {
                Some(&height) if height == self.stack.len() => {
                    self.marks.pop();
                }
                _ => {
                    self.pop()?;
                }
            },
            code::POP_MARK => {
                self.pop_mark()?;
            }
            code::DUP => {
                let top = self.top()?;
                self.push_id(top)?;
            }
            code::REDUCE | code::NEWOBJ => self.call()?,
            code::BUILD => self.build()?,
            code::BINPERSID => {
                let id = self.pop()?;
                let storage = rebuild::storage(&self.heap, id)?;
                self.push(Node::Storage(storage))?;
            }
            code::GLOBAL => {
                let (module, name) = (self.reader.line()?, self.reader.line()?);
                self.push_global(module, name)?;
            }
            code::STACK_GLOBAL => {
                let (name, module) = (self.pop()?, self.pop()?);
                let (Node::Text(module), Node::Text(name)) = (self.heap.get(module), self.heap.get(name))
                else {
                    return Err(Wrong::new("the name of a global", "something else"));
                };
                let (module, name) = (*module, *name);
                self.push_global(module, name)?;
            }
            _ => return self.plain(opcode).map(|()| None),
        }
        Ok(None)
    }

    /// Opcodes of numbers, texts, containers and the memo.
    fn plain(&mut self, opcode: u8) -> Result<(), Wrong> {
        let node = match opcode {
            code::NONE => Node::None,
            code::NEWTRUE => Node::Bool(true),
            code::NEWFALSE => Node::Bool(false),
            code::BININT => Node::Int(i64::from(self.reader.i32()?)),
            code::BININT1 => Node::Int(i64::from(self.reader.u8()?)),
            code::BININT2 => Node::Int(i64::from(self.reader.u16()?)),
            code::LONG1 => {
                let n = u64::from(self.reader.u8()?);
                long(self.reader.take(n)?)
            }
            code::LONG4 => {
                let n = u64::from(self.reader.u32()?);
                long(self.reader.take(n)?)
            }
            code::BINFLOAT => Node::Float(self.reader.f64()?),
            code::SHORT_BINSTRING | code::SHORT_BINBYTES | code::SHORT_BINUNICODE => {
                let n = u64::from(self.reader.u8()?);
                self.sized(opcode == code::SHORT_BINUNICODE, n)?
            }
            code::BINSTRING | code::BINBYTES | code::BINUNICODE => {
                let n = u64::from(self.reader.u32()?);
                self.sized(opcode == code::BINUNICODE, n)?
            }
            code::BINUNICODE8 | code::BINBYTES8 | code::BYTEARRAY8 => {
                let n = self.reader.u64()?;
                self.sized(opcode == code::BINUNICODE8, n)?
            }
            code::EMPTY_TUPLE => Node::Tuple(Vec::new()),
            code::TUPLE1 => self.tuple(1)?,
            code::TUPLE2 => self.tuple(2)?,
            code::TUPLE3 => self.tuple(3)?,
            code::TUPLE => Node::Tuple(self.pop_mark()?),
            code::EMPTY_LIST | code::EMPTY_SET => Node::List(Vec::new()),
            code::LIST | code::FROZENSET => Node::List(self.pop_mark()?),
            code::EMPTY_DICT => Node::Dict(Vec::new()),
            code::DICT => Node::Dict(pairs(&self.pop_mark()?)?),
            _ => return self.memo_or_fill(opcode),
        };
        self.push(node)
    }

    fn memo_or_fill(&mut self, opcode: u8) -> Result<(), Wrong> {
        match opcode {
            code::BINPUT => {
                let key = u32::from(self.reader.u8()?);
                self.keep(key)
            }
            code::LONG_BINPUT => {
                let key = self.reader.u32()?;
                self.keep(key)
            }
            code::MEMOIZE => {
                let key = u32::try_from(self.memo.len()).map_err(|_| beyond("kept values", u32::MAX))?;
                self.keep(key)
            }
            code::BINGET => {
                let key = u32::from(self.reader.u8()?);
                self.recall(key)
            }
            code::LONG_BINGET => {
                let key = self.reader.u32()?;
                self.recall(key)
            }
            code::APPEND => {
                let item = self.pop()?;
                self.extend(&[item])
            }
            code::APPENDS | code::ADDITEMS => {
                let items = self.pop_mark()?;
                self.extend(&items)
            }
            code::SETITEM => {
                let (value, key) = (self.pop()?, self.pop()?);
                self.set_items(&[(key, value)])
            }
            code::SETITEMS => {
                let items = pairs(&self.pop_mark()?)?;
                self.set_items(&items)
            }
            other => Err(Wrong::new("an opcode that builds tensors and plain containers", format!("byte 0x{other:02x}"))
                .with("the file is damaged, no pickle of PyTorch, or of protocol 0 or 1: save it again with torch.save")),
        }
    }

    fn push_global(&mut self, module: &'a str, name: &'a str) -> Result<(), Wrong> {
        let global = globals::resolve(module, name, self.dialect.has_script, self.dialect.inert)?;
        self.push(Node::Global(global))
    }

    /// Calls what is below the arguments.
    fn call(&mut self) -> Result<(), Wrong> {
        let (args, callee) = (self.pop()?, self.pop()?);
        let Node::Global(global) = *self.heap.get(callee) else {
            return Err(Wrong::new("a global to call", self.heap.get(callee).kind()));
        };
        let Node::Tuple(args) = self.heap.get(args).clone() else {
            return Err(Wrong::new("the arguments of a call", self.heap.get(args).kind()));
        };
        self.charge(args.len())?;
        let value = rebuild::call(&mut self.heap, global, &args)?;
        self.push(value)
    }

    /// Sets the attributes of the object below. A dictionary's own attributes are not its items and are left out.
    fn build(&mut self) -> Result<(), Wrong> {
        let attributes = self.pop()?;
        let object = self.top()?;
        let given = self.heap.get(attributes);
        let (are_positional, kind) = (matches!(given, Node::Tuple(_)), given.kind());
        match self.heap.get_mut(object) {
            Node::Object { state, .. } => *state = Some(attributes),
            Node::Dict(_) | Node::Array | Node::Opaque => {}
            // Files before PyTorch 0.4 gave a tensor its storage so; the bytes would be others than those that are read.
            Node::Tensor(_) if are_positional => {
                return Err(Wrong::new("attributes of a tensor by name", kind)
                    .with("load it with PyTorch and save its tensors again"));
            }
            Node::Tensor(_) => {}
            other => return Err(Wrong::new("an object with attributes", other.kind())),
        }
        Ok(())
    }

    fn extend(&mut self, items: &[Id]) -> Result<(), Wrong> {
        self.charge(items.len())?;
        let list = self.top()?;
        match self.heap.get_mut(list) {
            Node::List(list) => list.extend_from_slice(items),
            Node::Opaque => {}
            other => return Err(Wrong::new("a list", other.kind())),
        }
        Ok(())
    }

    fn set_items(&mut self, items: &[(Id, Id)]) -> Result<(), Wrong> {
        self.charge(items.len())?;
        let dict = self.top()?;
        match self.heap.get_mut(dict) {
            Node::Dict(dict) => dict.extend_from_slice(items),
            Node::Opaque => {}
            other => return Err(Wrong::new("a dictionary", other.kind())),
        }
        Ok(())
    }

    fn sized(&mut self, is_text: bool, n: u64) -> Result<Node<'a>, Wrong> {
        let bytes = self.reader.take(n)?;
        Ok(match text(bytes) {
            Ok(text) => Node::Text(text),
            // Python 2 wrote bytes and text alike.
            Err(_) if !is_text => Node::Bytes(bytes),
            Err(wrong) => return Err(wrong),
        })
    }

    fn tuple(&mut self, n: usize) -> Result<Node<'a>, Wrong> {
        let mut items = (0..n).map(|_| self.pop()).collect::<Result<Vec<_>, _>>()?;
        items.reverse();
        Ok(Node::Tuple(items))
    }

    fn keep(&mut self, key: u32) -> Result<(), Wrong> {
        let top = self.top()?;
        if self.memo.len() >= self.limits.memo {
            return Err(beyond("kept values", self.limits.memo));
        }
        self.memo.insert(key, top);
        Ok(())
    }

    fn recall(&mut self, key: u32) -> Result<(), Wrong> {
        let kept = self.memo.get(&key).copied();
        self.push_id(kept.ok_or_else(|| Wrong::new(format!("a value kept as {key}"), "none"))?)
    }

    fn push(&mut self, node: Node<'a>) -> Result<(), Wrong> {
        self.charge(node.n_cells())?;
        let id = self.heap.put(node);
        self.push_id(id)
    }

    fn push_id(&mut self, id: Id) -> Result<(), Wrong> {
        if self.stack.len() == self.limits.stack {
            return Err(beyond("values on the stack", self.limits.stack));
        }
        self.stack.push(id);
        Ok(())
    }

    fn charge(&mut self, n: usize) -> Result<(), Wrong> {
        self.n_cells += n as u64;
        if self.n_cells > self.limits.cells {
            Err(beyond("places in containers", self.limits.cells))
        } else {
            Ok(())
        }
    }

    /// The top of the stack above the last mark, taken.
    fn pop(&mut self) -> Result<Id, Wrong> {
        let top = self.top()?;
        self.stack.pop();
        Ok(top)
    }

    fn top(&self) -> Result<Id, Wrong> {
        let floor = self.marks.last().copied().unwrap_or(0);
        match self.stack.last() {
            Some(&top) if self.stack.len() > floor => Ok(top),
            _ => Err(Wrong::new("a value on the stack", "none")),
        }
    }

    /// Everything above the last mark, and the mark.
    fn pop_mark(&mut self) -> Result<Vec<Id>, Wrong> {
        let height = self.marks.pop().ok_or_else(|| Wrong::new("an open mark", "none"))?;
        Ok(self.stack.split_off(height))
    }
}

fn pairs(items: &[Id]) -> Result<Vec<(Id, Id)>, Wrong> {
    if !items.len().is_multiple_of(2) {
        return Err(Wrong::new("keys and values in pairs", items.len().to_string()));
    }
    Ok(items.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect())
}

/// A whole number in two's complement, lowest byte first.
fn long(bytes: &[u8]) -> Node<'_> {
    if bytes.len() > 8 {
        return Node::Long(bytes);
    }
    let fill = if bytes.last().is_some_and(|&high| high >= 0x80) { 0xff } else { 0 };
    let mut whole = [fill; 8];
    whole[..bytes.len()].copy_from_slice(bytes);
    Node::Int(i64::from_le_bytes(whole))
}
