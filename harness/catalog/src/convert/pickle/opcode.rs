//! The opcodes of pickles by name, as Python's `pickletools` calls them.

/// The opcodes that [`super::machine`] knows by their byte.
pub(super) mod code {
    pub(crate) const MARK: u8 = b'(';
    pub(crate) const STOP: u8 = b'.';
    pub(crate) const POP: u8 = b'0';
    pub(crate) const POP_MARK: u8 = b'1';
    pub(crate) const DUP: u8 = b'2';
    pub(crate) const BININT: u8 = b'J';
    pub(crate) const BININT1: u8 = b'K';
    pub(crate) const BININT2: u8 = b'M';
    pub(crate) const NONE: u8 = b'N';
    pub(crate) const BINPERSID: u8 = b'Q';
    pub(crate) const REDUCE: u8 = b'R';
    pub(crate) const BINSTRING: u8 = b'T';
    pub(crate) const SHORT_BINSTRING: u8 = b'U';
    pub(crate) const BINUNICODE: u8 = b'X';
    pub(crate) const APPEND: u8 = b'a';
    pub(crate) const BUILD: u8 = b'b';
    pub(crate) const GLOBAL: u8 = b'c';
    pub(crate) const DICT: u8 = b'd';
    pub(crate) const APPENDS: u8 = b'e';
    pub(crate) const BINGET: u8 = b'h';
    pub(crate) const LONG_BINGET: u8 = b'j';
    pub(crate) const LIST: u8 = b'l';
    pub(crate) const BINPUT: u8 = b'q';
    pub(crate) const LONG_BINPUT: u8 = b'r';
    pub(crate) const SETITEM: u8 = b's';
    pub(crate) const TUPLE: u8 = b't';
    pub(crate) const SETITEMS: u8 = b'u';
    pub(crate) const EMPTY_DICT: u8 = b'}';
    pub(crate) const EMPTY_LIST: u8 = b']';
    pub(crate) const EMPTY_TUPLE: u8 = b')';
    pub(crate) const BINFLOAT: u8 = b'G';
    pub(crate) const BINBYTES: u8 = b'B';
    pub(crate) const SHORT_BINBYTES: u8 = b'C';
    pub(crate) const PROTO: u8 = 0x80;
    pub(crate) const NEWOBJ: u8 = 0x81;
    pub(crate) const TUPLE1: u8 = 0x85;
    pub(crate) const TUPLE2: u8 = 0x86;
    pub(crate) const TUPLE3: u8 = 0x87;
    pub(crate) const NEWTRUE: u8 = 0x88;
    pub(crate) const NEWFALSE: u8 = 0x89;
    pub(crate) const LONG1: u8 = 0x8a;
    pub(crate) const LONG4: u8 = 0x8b;
    pub(crate) const SHORT_BINUNICODE: u8 = 0x8c;
    pub(crate) const BINUNICODE8: u8 = 0x8d;
    pub(crate) const BINBYTES8: u8 = 0x8e;
    pub(crate) const EMPTY_SET: u8 = 0x8f;
    pub(crate) const ADDITEMS: u8 = 0x90;
    pub(crate) const FROZENSET: u8 = 0x91;
    pub(crate) const STACK_GLOBAL: u8 = 0x93;
    pub(crate) const MEMOIZE: u8 = 0x94;
    pub(crate) const FRAME: u8 = 0x95;
    pub(crate) const BYTEARRAY8: u8 = 0x96;
}

/// Every opcode of protocols 0 to 5, those that are refused included.
const NAMES: [(u8, &str); 68] = [
    (code::MARK, "MARK"),
    (code::STOP, "STOP"),
    (code::POP, "POP"),
    (code::POP_MARK, "POP_MARK"),
    (code::DUP, "DUP"),
    (b'F', "FLOAT"),
    (b'I', "INT"),
    (code::BININT, "BININT"),
    (code::BININT1, "BININT1"),
    (b'L', "LONG"),
    (code::BININT2, "BININT2"),
    (code::NONE, "NONE"),
    (b'P', "PERSID"),
    (code::BINPERSID, "BINPERSID"),
    (code::REDUCE, "REDUCE"),
    (b'S', "STRING"),
    (code::BINSTRING, "BINSTRING"),
    (code::SHORT_BINSTRING, "SHORT_BINSTRING"),
    (b'V', "UNICODE"),
    (code::BINUNICODE, "BINUNICODE"),
    (code::APPEND, "APPEND"),
    (code::BUILD, "BUILD"),
    (code::GLOBAL, "GLOBAL"),
    (code::DICT, "DICT"),
    (code::APPENDS, "APPENDS"),
    (b'g', "GET"),
    (code::BINGET, "BINGET"),
    (b'i', "INST"),
    (code::LONG_BINGET, "LONG_BINGET"),
    (code::LIST, "LIST"),
    (b'o', "OBJ"),
    (b'p', "PUT"),
    (code::BINPUT, "BINPUT"),
    (code::LONG_BINPUT, "LONG_BINPUT"),
    (code::SETITEM, "SETITEM"),
    (code::TUPLE, "TUPLE"),
    (code::SETITEMS, "SETITEMS"),
    (code::EMPTY_DICT, "EMPTY_DICT"),
    (code::EMPTY_LIST, "EMPTY_LIST"),
    (code::EMPTY_TUPLE, "EMPTY_TUPLE"),
    (code::BINFLOAT, "BINFLOAT"),
    (code::BINBYTES, "BINBYTES"),
    (code::SHORT_BINBYTES, "SHORT_BINBYTES"),
    (code::PROTO, "PROTO"),
    (code::NEWOBJ, "NEWOBJ"),
    (0x82, "EXT1"),
    (0x83, "EXT2"),
    (0x84, "EXT4"),
    (code::TUPLE1, "TUPLE1"),
    (code::TUPLE2, "TUPLE2"),
    (code::TUPLE3, "TUPLE3"),
    (code::NEWTRUE, "NEWTRUE"),
    (code::NEWFALSE, "NEWFALSE"),
    (code::LONG1, "LONG1"),
    (code::LONG4, "LONG4"),
    (code::SHORT_BINUNICODE, "SHORT_BINUNICODE"),
    (code::BINUNICODE8, "BINUNICODE8"),
    (code::BINBYTES8, "BINBYTES8"),
    (code::EMPTY_SET, "EMPTY_SET"),
    (code::ADDITEMS, "ADDITEMS"),
    (code::FROZENSET, "FROZENSET"),
    (0x92, "NEWOBJ_EX"),
    (code::STACK_GLOBAL, "STACK_GLOBAL"),
    (code::MEMOIZE, "MEMOIZE"),
    (code::FRAME, "FRAME"),
    (code::BYTEARRAY8, "BYTEARRAY8"),
    (0x97, "NEXT_BUFFER"),
    (0x98, "READONLY_BUFFER"),
];

/// The name of an opcode; `unknown` where it is none.
pub(super) fn name(opcode: u8) -> &'static str {
    NAMES.iter().find(|known| known.0 == opcode).map_or("unknown", |known| known.1)
}
