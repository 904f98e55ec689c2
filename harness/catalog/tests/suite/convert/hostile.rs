//! Files that mean harm: refused with words, without running anything, without much memory, without leaving anything.

use std::path::Path;

use specimen_catalog::convert::{
    Limits, Options, Recipe,
    recipe::{Names, Rule},
};

use crate::convert::{
    archive::{Archive, crc32, stored},
    pickle_writer::Pickle,
    support::{convert, fixture, plain},
};

/// Converts a file of these bytes and expects an error with all of `parts`.
#[track_caller]
fn refused(name: &str, bytes: &[u8], parts: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    let error = convert(&path, &plain()).map(|(report, _)| report).unwrap_err().to_string();
    for part in [&[name], parts].concat() {
        assert!(error.contains(part), "`{part}` is not in `{error}`");
    }
}

/// As [`refused`], of an archive of this pickle.
#[track_caller]
fn refused_pickle(pickle: Vec<u8>, parts: &[&str]) {
    refused("file.pt", &Archive::torch(pickle, &[0; 16]).bytes(), parts);
}

fn tensor(pickle: Pickle) -> Pickle {
    tensor_of(pickle, ("FloatStorage", "0", 4))
}

/// All of a storage: its type, its key, its elements.
fn tensor_of(pickle: Pickle, storage: (&str, &str, u64)) -> Pickle {
    pickle.tensor(storage, 0, &[storage.2], &[1])
}

#[test]
fn globals_that_would_run_something_are_refused_and_nothing_runs() {
    let folder = tempfile::tempdir().unwrap();
    let proof = folder.path().join("proof");
    let command = format!("touch {}", proof.display());
    for (module, name) in [
        ("os", "system"),
        ("posix", "system"),
        ("builtins", "eval"),
        ("__builtin__", "exec"),
        ("subprocess", "Popen"),
        ("torch", "load"),
        ("torch.storage", "_load_from_bytes"),
        ("torch._utils", "_rebuild_qtensor"),
        ("__torch__", "Net"),
    ] {
        let call = Pickle::dict().global(module, name).text(&command).op(0x85).op(b'R').end_dict();
        let full = format!("`{module}.{name}`");
        refused_pickle(call, &["opcode GLOBAL", &full, "nothing that a pickle names is ever run"]);
        let stacked = Pickle::dict().text(module).text(name).op(0x93).end_dict();
        refused_pickle(stacked, &["opcode STACK_GLOBAL", &full]);
    }
    assert!(!proof.exists());
}

#[test]
fn calls_of_what_is_no_function_are_refused() {
    let call = |pickle: Pickle| pickle.op(b')').op(b'R').end_dict();
    refused_pickle(call(Pickle::dict().text("f")), &["opcode REDUCE", "expected a global to call"]);
    refused_pickle(call(Pickle::dict().global("torch", "FloatStorage")), &["a call of storage of F32"]);
    refused_pickle(call(Pickle::dict().global("torch._utils", "_rebuild_tensor_v2")), &["4 arguments"]);
    refused_pickle(Pickle::dict().op(0x82).op(1).end_dict(), &["opcode EXT1", "plain containers"]);
    refused_pickle(Pickle::dict().op(b'P').end_dict(), &["opcode PERSID", "protocol 0 or 1"]);
    refused_pickle(vec![0x80, 9, b'.'], &["opcode PROTO", "protocol 2 to 5", "protocol 9"]);
}

#[test]
fn deep_nesting_is_refused_or_harmless_and_never_overflows_the_stack() {
    let marks = Pickle::dict().raw(&[b'('; 200_000]).end_dict();
    refused_pickle(marks, &["opcode MARK", "at most 128 open marks"]);
    let tuples = Pickle::dict().op(b')').raw(&vec![0x85; 1_000_000]);
    refused_pickle(tensor(tuples.text("y")).end_dict(), &["containers more than 128 deep"]);
    let dicts = (0..1000).fold(Pickle::new(), |pickle, _| pickle.op(b'}').text("a"));
    let dicts = (0..1000).fold(tensor(dicts), |pickle, _| pickle.op(b's'));
    refused_pickle(dicts.end(), &["containers more than 128 deep"]);
}

#[test]
fn a_dictionary_that_holds_itself_is_refused() {
    let cycle = Pickle::new().raw(b"}q\x01").text("a").raw(b"h\x01s").end();
    refused_pickle(cycle, &["containers more than 128 deep"]);
}

#[test]
fn memo_bombs_are_refused_with_little_memory() {
    // Thirty dictionaries, each with the one before under two names: a thousand million tensors.
    let bomb = (1..=30_u8).fold(tensor(Pickle::new().op(b'}').text("t")).raw(b"sq\0"), |pickle, n| {
        let (before, own) = ([b'h', n - 1], [b'q', n]);
        let half = |pickle: Pickle, name: &str| pickle.text(name).raw(&before).op(b's');
        half(half(pickle.op(b'}'), "a"), "b").raw(&own)
    });
    refused_pickle(bomb.end(), &["more than 200000 tensors"]);
    // Lists that are copied by calls, each a million times as long as its opcode.
    let long = (0..200_000).fold(Pickle::new().raw(b"]("), |pickle, _| pickle.op(b'N')).raw(b"eq\0");
    let copies = long.global("builtins", "list").raw(b"q\x01").raw(&b"h\x01h\0\x85R".repeat(200_000));
    refused_pickle(copies.end(), &["opcode REDUCE", "at most 16000000 places"]);
}

#[test]
fn counts_of_operations_kept_values_and_stack_are_bounded() {
    let mut options = plain();
    options.limits = Limits { operations: 500, memo: 10, stack: 100, ..Limits::PUBLISHED };
    let folder = tempfile::tempdir().unwrap();
    for (pickle, part) in [
        (Pickle::dict().raw(&b"N0".repeat(300)), "at most 500 operations"),
        (Pickle::dict().op(b'N').raw(&[0x94; 20]), "at most 10 kept values"),
        (Pickle::dict().raw(&[b'N'; 200]), "at most 100 values on the stack"),
    ] {
        let path = Archive::torch(pickle.end_dict(), &[]).write(folder.path());
        let error = convert(&path, &options).unwrap_err().to_string();
        assert!(error.contains(part), "`{part}` is not in `{error}`");
    }
}

#[test]
fn declared_sizes_are_held_against_the_file_before_anything_is_taken() {
    let huge = u64::MAX / 2;
    refused_pickle(
        Pickle::dict().raw(b"\x8d").raw(&huge.to_le_bytes()).end_dict(),
        &["BINUNICODE8", "more bytes"],
    );
    refused_pickle(
        Pickle::dict().raw(b"X\xff\xff\xff\xff").end_dict(),
        &["BINUNICODE", "4294967295 more bytes"],
    );
    let of = |n: u64, offset: u64, shape: &[u64], strides: &[u64]| {
        Pickle::dict().tensor(("FloatStorage", "0", n), offset, shape, strides).end_dict()
    };
    refused_pickle(of(huge, 0, &[4], &[1]), &["elements of 4 bytes", "16 bytes"]);
    refused_pickle(of(5, 0, &[4], &[1]), &["5 elements of 4 bytes", "found 16 bytes"]);
    refused_pickle(of(3, 0, &[3], &[1]), &["3 elements of 4 bytes", "found 16 bytes"]);
    refused_pickle(of(4, 1, &[4], &[1]), &["tensor `x`", "a storage of 4 F32", "offset 1"]);
    refused_pickle(of(4, 0, &[huge, huge], &[0, 0]), &["tensor `x`", "a storage of 4 F32"]);
    refused_pickle(of(4, 0, &[1 << 40], &[0]), &["more than 8 times the bytes of the file"]);
    refused_pickle(of(4, 0, &[2, 2], &[1]), &["2 axes and 1 strides"]);
    refused_pickle(of(4, 0, &[1; 70], &[1; 70]), &["at most 64 axes", "found 70"]);
}

#[test]
fn archives_that_lie_are_refused() {
    let good = || tensor(Pickle::dict()).end_dict();
    let with = |name: &str| Archive::torch(good(), &[0; 16]).with(name, "x").bytes();
    for name in ["../../evil", "/etc/passwd", "archive/../../x", "C:\\x", "archive/data/..", "a\\..\\b"] {
        refused("file.pt", &with(name), &["names of entries below one folder", "do not trust"]);
    }
    refused("file.pt", &with("archive/data/0"), &["every name once", "twice"]);
    // What says it is deflated may be a bomb; it is not unpacked to find out.
    let bomb = Archive::default().with("archive/data.pkl", good()).deflated().with("archive/data/0", [0; 16]);
    refused("file.pt", &bomb.bytes(), &["`archive/data.pkl` compressed", "torch.save"]);
    let bomb = Archive::torch(good(), &[0; 16]).deflated();
    refused("file.pt", &bomb.bytes(), &["`archive/data/0` compressed"]);
    let mut long = Archive::torch(good(), &[0; 16]);
    long.size_in_directory = Some(1 << 30);
    refused("file.pt", &long.bytes(), &["1073741824 bytes of `archive/data.pkl`", "found the end at byte"]);
    refused(
        "file.pt",
        &Archive::default().with("x/y", "z").bytes(),
        &["the entry data.pkl", "an archive of x/y"],
    );
    let lost = Archive::default().with("archive/data.pkl", good());
    refused("file.pt", &lost.bytes(), &["the entry `archive/data/0` for tensor `x`", "no such entry"]);
}

#[test]
fn entries_that_share_bytes_are_refused() {
    let [first, second] = ["0", "1"].map(|key| ("FloatStorage", key, 4));
    let pickle = || tensor_of(tensor_of(Pickle::dict(), first).text("y"), second).end_dict();
    let archive = |contents: &[u8]| Archive::torch(pickle(), contents);
    refused(
        "file.pt",
        &archive(&[7; 16]).alias("archive/data/1", None).bytes(),
        &["`archive/data/1` behind byte", "found it inside of `archive/data/0`", "do not trust"],
    );
    // A second entry with a header of its own, inside of the contents of the first.
    let inner = stored("archive/data/1", &[9; 16], 0, crc32(&[9; 16]));
    let pickle = tensor_of(Pickle::dict(), ("ByteStorage", "0", inner.len() as u64)).text("y");
    let outer = Archive::torch(tensor_of(pickle, second).end_dict(), &inner);
    refused(
        "file.pt",
        &outer.alias("archive/data/1", Some(0)).bytes(),
        &["found it inside of `archive/data/0`", "do not trust"],
    );
}

#[test]
fn a_changed_byte_of_an_entry_is_found_by_its_checksum() {
    let good = Archive::torch(tensor(Pickle::dict()).end_dict(), &[7; 16]);
    let mut bytes = good.bytes();
    let at = bytes.windows(16).position(|window| window == [7; 16]).unwrap();
    bytes[at + 3] = 6;
    let checksum = format!("`archive/data/0` with the checksum {:08x}", crc32(&[7; 16]));
    refused("file.pt", &bytes, &[&checksum, "fetch it again"]);
    // An entry that no tensor is read from is damaged: so may the others be.
    let mut bytes = good.with("archive/version", "3\n").bytes();
    let at = bytes.windows(2).position(|window| window == b"3\n").unwrap();
    bytes[at] = b'4';
    refused("file.pt", &bytes, &["`archive/version` with the checksum"]);
    for name in ["views.pt", "script.pt"] {
        let mut bytes = std::fs::read(fixture(name)).unwrap();
        let at = bytes.windows(4).position(|window| window == 1.29_f32.to_le_bytes());
        let at =
            at.or_else(|| bytes.windows(4).position(|window| window == (-1.3_f32).to_le_bytes())).unwrap();
        bytes[at] ^= 1;
        refused(name, &bytes, &["/data/", "with the checksum"]);
    }
}

#[test]
fn archives_with_two_pickles_or_more_bytes_at_their_end_are_refused() {
    let good = || Archive::torch(tensor(Pickle::dict()).end_dict(), &[0; 16]);
    let second = good().with("other/data.pkl", tensor(Pickle::dict()).end_dict());
    refused("file.pt", &second.bytes(), &["one data.pkl", "`archive/data.pkl` and `other/data.pkl`"]);
    let longer = [good().bytes(), vec![0]].concat();
    refused("file.pt", &longer, &["the directory of the archive at its end", "more bytes behind it"]);
    for name in ["flat_legacy.pth", "views_legacy.pt", "wrapped_module_legacy.pt"] {
        let whole = std::fs::read(fixture(name)).unwrap();
        let expected = format!("byte {}: expected the end of the file behind storage", whole.len());
        refused(name, &[&whole[..], b"abc"].concat(), &[&expected, "found 3 more bytes", "fetch it again"]);
    }
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("a.safetensors");
    specimen_catalog::convert::convert(&fixture("flat.pt"), &to, &plain(), &mut |_| {}).unwrap();
    let longer = [std::fs::read(to).unwrap(), vec![0]].concat();
    refused("a.safetensors", &longer, &["a whole safetensors file"]);
}

#[test]
fn tensors_whose_values_are_not_those_stored_are_refused_by_name() {
    for (file, bit, remedy) in [
        ("conjugate.pt", "the conjugate bit", "resolve_conj()"),
        ("conjugate_legacy.pt", "the conjugate bit", "resolve_conj()"),
        ("negative.pt", "the negative bit", "resolve_neg()"),
        ("negative_parameter.pt", "the negative bit", "resolve_neg()"),
        ("negative_tagged.pt", "the negative bit", "resolve_neg()"),
        ("negative_bytes.pt", "the negative bit", "resolve_neg()"),
    ] {
        refused(file, &std::fs::read(fixture(file)).unwrap(), &["tensor `odd.one`", bit, remedy]);
    }
    let script = std::fs::read(fixture("conjugate_script.pt")).unwrap();
    refused("script.pt", &script, &["tensor `one`", "the conjugate bit"]);
}

#[test]
fn notes_of_a_tensor_that_are_not_known_are_refused() {
    let noted = |note: fn(Pickle) -> Pickle| {
        let args = Pickle::dict().global("torch._utils", "_rebuild_tensor_v2").op(b'(');
        let args = args.storage("FloatStorage", "0", 4).int(0).ints(&[4]).ints(&[1]).op(0x89).op(b'N');
        Archive::torch(note(args).op(b't').op(b'R').end_dict(), &[7; 16])
    };
    let folder = tempfile::tempdir().unwrap();
    let plain_ones: [fn(Pickle) -> Pickle; 4] = [
        |args| args,
        |args| args.op(b'N'),
        |args| args.op(b'}'),
        |args| args.op(b'}').text("conj").op(0x89).op(b's'),
    ];
    for note in plain_ones {
        let (_, found) = convert(&noted(note).write(folder.path()), &plain()).unwrap();
        assert_eq!(found["x"].2, [7; 16]);
    }
    let odd = noted(|args| args.op(b'}').text("scale").int(2).op(b's'));
    refused("file.pt", &odd.bytes(), &["tensor `x`", "the text `scale` with the number 2"]);
    let odd = noted(|args| args.int(1));
    refused("file.pt", &odd.bytes(), &["tensor `x`", "the number 1 as its notes"]);
    let old = tensor(Pickle::dict()).op(b')').op(b'b');
    refused_pickle(old.end_dict(), &["opcode BUILD", "attributes of a tensor by name", "a tuple of 0"]);
}

#[test]
fn other_byte_orders_are_refused_with_words() {
    let big = Archive::torch(tensor(Pickle::dict()).end_dict(), &[0; 16]).with("archive/byteorder", "big");
    refused(
        "file.pt",
        &big.bytes(),
        &["expected the byte order `little`, found `big`", "little-endian machine"],
    );
    let mut legacy = std::fs::read(fixture("views_legacy.pt")).unwrap();
    let at = legacy.windows(13).position(|window| window == b"little_endian").unwrap();
    let truth = at + legacy[at..].iter().position(|&byte| byte == 0x88).unwrap();
    legacy[truth] = 0x89;
    refused("old.pt", &legacy, &["a file of a little-endian machine", "save it again"]);
}

#[test]
fn files_that_are_no_weights_are_named_for_what_they_are() {
    refused("empty.pt", b"", &["found an empty file"]);
    refused("page.pt", b"<!DOCTYPE html>", &["an error page or a pointer of Git LFS"]);
    refused("plain.pkl", b"\x80\x02K\x01.", &["the magic number of torch.save", "the number 1"]);
    refused("cut.safetensors", b"\x10\0\0\0\0\0\0\0{\"a\":", &["a whole safetensors file", "fetch it again"]);
    let nothing = Pickle::new().op(b'}').end();
    refused_pickle(nothing, &["expected tensors by name", "a dictionary of 0"]);
    let error = convert(Path::new("nowhere.pt"), &plain()).unwrap_err().to_string();
    assert!(error.contains("nowhere.pt: cannot read it"), "{error}");
    let error = convert(fixture("").as_path(), &plain()).unwrap_err().to_string();
    assert!(error.contains("it is a folder"), "{error}");
}

#[test]
fn an_index_stays_in_its_folder_and_is_complete() {
    let index = |map: &str| format!("{{\"weight_map\": {{{map}}}}}").into_bytes();
    for shard in ["../x.bin", "/etc/passwd", "a/b.bin", "..", "", "x.index.json"] {
        let map = format!("\"x\": {}", serde_json::json!(shard));
        refused("w.index.json", &index(&map), &["names of files beside the index", "do not trust"]);
    }
    refused("w.index.json", &index(""), &["expected shards"]);
    refused("w.index.json", b"{}", &["weight_map"]);
    let folder = tempfile::tempdir().unwrap();
    std::fs::copy(fixture("cast.pt"), folder.path().join("a.bin")).unwrap();
    for (map, part) in [
        ("\"x\": \"a.bin\", \"y\": \"a.bin\"", "expected tensor `y` in `a.bin`"),
        ("\"y\": \"a.bin\"", "`x` in `a.bin`"),
        ("\"x\": \"b.bin\"", "b.bin: cannot read it"),
    ] {
        let path = folder.path().join("w.index.json");
        std::fs::write(&path, index(map)).unwrap();
        let error = convert(&path, &plain()).unwrap_err().to_string();
        assert!(error.contains(part), "`{part}` is not in `{error}`");
    }
}

/// A name that clears a terminal, begins a line of its own and turns the rest of it around.
const EVIL: &str = "w\u{1b}[2J\n\u{202e}x\u{9b}";

/// A file of `torch.save` before 1.6: objects, the keys of its storages, and their contents.
fn legacy(objects: Pickle, keys: &[&str], contents: &[u8]) -> Vec<u8> {
    let magic = Pickle::new().raw(b"\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19").end();
    let version = Pickle::new().raw(b"M\xe9\x03").end();
    let machine = Pickle::new().raw(b"}(").text("little_endian").raw(b"\x88u").end();
    let keys = keys.iter().fold(Pickle::new().raw(b"]("), |list, key| list.text(key)).raw(b"e").end();
    [magic, version, machine, objects.end_dict(), keys, contents.to_vec()].concat()
}

fn safetensors(header: &str, n_data: usize) -> Vec<u8> {
    [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &vec![0; n_data]].concat()
}

#[test]
fn control_characters_of_a_name_are_escapes_in_every_message_of_every_reader() {
    let evil = || Pickle::new().op(b'}').op(b'(').text(EVIL);
    let of_storage = |key: &str, n: u64| tensor_of(evil(), ("FloatStorage", key, n));
    let whole = || of_storage("0", 4).end_dict();
    let torch = |pickle: Vec<u8>| Archive::torch(pickle, &[0; 16]).bytes();
    let path = format!("a/{EVIL}");
    let alone = |name: &str| Archive::default().with(name, "z");
    let pickle = format!("{EVIL}/data.pkl");
    let two = |n: usize| [&n.to_le_bytes()[..], &vec![0; 4 * n]].concat();
    let short = Archive::default().with("archive/data.pkl", of_storage(EVIL, 5).end_dict());
    let header = |kind: &str, [from, to]: [u32; 2]| {
        let name = serde_json::to_string(EVIL).unwrap();
        format!("{{{name}:{{\"dtype\":\"{kind}\",\"shape\":[1],\"data_offsets\":[{from},{to}]}}}}")
    };
    let index = |tensor: &str, shard: &str| {
        serde_json::to_vec(&serde_json::json!({ "weight_map": { "x": "a.pt", tensor: shard } })).unwrap()
    };
    let files: Vec<(&str, Vec<u8>)> = vec![
        ("path.pt", alone(&format!("../{EVIL}")).bytes()),
        ("other.pt", alone(&path).bytes()),
        ("aliased.pt", alone(&path).alias("a/b", None).bytes()),
        ("two.pt", alone(&pickle).with("y/data.pkl", "z").bytes()),
        ("packed.pt", Archive::default().with(&pickle, whole()).deflated().bytes()),
        ("lost.pt", Archive::default().with(&pickle, whole()).bytes()),
        ("storage.pt", torch(of_storage(EVIL, 4).end_dict())),
        ("short.pt", short.with(&format!("archive/data/{EVIL}"), [0; 16]).bytes()),
        ("view.pt", torch(evil().tensor(("FloatStorage", "0", 4), 1, &[4], &[1]).end_dict())),
        ("keys.pt", torch(evil().op(b'N').end_dict())),
        ("twice.pt", torch(tensor(of_storage("0", 4).text(EVIL)).end_dict())),
        ("global.pt", torch(evil().text(EVIL).text(EVIL).op(0x93).end_dict())),
        ("text.pt", torch(evil().text(EVIL).op(b')').op(b'R').end_dict())),
        ("order.pt", Archive::torch(whole(), &[0; 16]).with("archive/byteorder", EVIL).bytes()),
        ("none.pth", legacy(of_storage(EVIL, 4), &[], &[])),
        ("cut.pth", legacy(of_storage(EVIL, 4), &[EVIL], &two(3))),
        ("again.pth", legacy(of_storage(EVIL, 4), &[EVIL, EVIL], &[two(4), two(4)].concat())),
        ("unknown.pth", legacy(of_storage("0", 4), &[EVIL], &[])),
        ("types.pth", legacy(tensor_of(of_storage(EVIL, 4).text("y"), ("FloatStorage", EVIL, 5)), &[], &[])),
        ("kind.safetensors", safetensors(&header("F8_E8M0", [0, 1]), 1)),
        ("place.safetensors", safetensors(&header("F32", [1, 5]), 5)),
        ("shard.index.json", index("x", &path)),
        ("absent.index.json", index("x", EVIL)),
        ("tensor.index.json", index(EVIL, "a.pt")),
    ];
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.pt"), torch(tensor(Pickle::dict()).end_dict())).unwrap();
    let one = Rule { from: "y".into(), to: Names::One("y".into()), unpair_heads: None, optional: false };
    let recipe = Recipe { name: "m".into(), drop: Vec::new(), keep: Vec::new(), rename: vec![one] };
    let sound = ("recipe.pt", torch(whole()));
    let check = |(name, bytes): &(&str, Vec<u8>), options: &Options<'_>| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        let error = convert(&path, options).map(|(report, _)| report).unwrap_err().to_string();
        let steers = |c: char| c.is_control() || c == '\u{202e}';
        assert!(!error.contains(steers) && error.contains("\\u{1b}"), "{name}: {}", error.escape_debug());
    };
    files.iter().for_each(|file| check(file, &plain()));
    check(&sound, &Options { recipe: Some(&recipe), ..plain() });
    check(&sound, &Options { key: Some("state_dict"), ..plain() });
}
