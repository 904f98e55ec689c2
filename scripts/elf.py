"""What ELF programs and libraries say of the libraries they need, and where these are looked for.

Only 64-bit files in little-endian order are read; numbers and names are those of the ELF specification and of `elf.h`.
"""

import struct

#: Entries of the dynamic section.
NULL, NEEDED, STRTAB, SYMTAB, SONAME, RPATH, RUNPATH = 0, 1, 5, 6, 14, 15, 29
VERNEED, VERNEEDNUM = 0x6FFFFFFE, 0x6FFFFFFF
#: Segments that are loaded, and the one that has the dynamic section.
LOAD, DYNAMIC = 1, 2
#: The section of the symbols that are looked up while a program starts.
DYNSYM = 11


class NotFitting(Exception):
    """Why a library path cannot be written into a program."""


def is_elf(program):
    """Whether these bytes begin as a 64-bit ELF file in little-endian order."""
    return program[:6] == b"\x7fELF\x02\x01"


def without_library_path(program):
    """An ELF program without DT_RPATH and DT_RUNPATH; anything else as it is.

    The loader then takes libraries from LD_LIBRARY_PATH and the system only.
    """
    place = dynamic_place(program) if is_elf(program) else None
    if place is None:
        return program
    at, size = place
    entries = [program[here : here + 16] for here in range(at, at + size, 16)]
    kept = [entry for entry in entries if struct.unpack_from("<q", entry)[0] not in (RPATH, RUNPATH)]
    return program[:at] + b"".join(kept).ljust(size, b"\0") + program[at + size :]


def with_library_path(program, path):
    """An ELF program whose one library path is `path`, as a DT_RPATH, in the place of the one that it has.

    A DT_RPATH of the program is searched before LD_LIBRARY_PATH, and for the libraries of its libraries too.
    """
    entries = dynamic_entries(program)
    found = [(at, value) for at, tag, value in entries if tag in (RPATH, RUNPATH)]
    if len(found) != 1:
        raise NotFitting(f"it has {len(found)} library paths, expected 1")
    (at, offset), table = found[0], string_table(program, entries)
    old, new = text_at(program, table + offset), path.encode("ascii")
    if len(new) > len(old):
        raise NotFitting(f"its library path `{old.decode()}` is shorter than `{path}`")
    # A linker may let another text be the end of this one.
    others = [value for _, tag, value in entries if tag in (NEEDED, SONAME)] + symbol_names(program)
    if any(offset <= other <= offset + len(old) for other in others):
        raise NotFitting(f"its library path `{old.decode()}` is part of another name too")
    changed = bytearray(program)
    changed[at : at + 8] = struct.pack("<q", RPATH)
    changed[table + offset : table + offset + len(old)] = new.ljust(len(old), b"\0")
    return bytes(changed)


def library_paths(program):
    """The texts of DT_RPATH and DT_RUNPATH."""
    return texts(program, (RPATH, RUNPATH))


def needed(program):
    """The names of the libraries that a program or library needs."""
    return texts(program, (NEEDED,))


def glibc(program):
    """The newest version of glibc of which a symbol is needed, as numbers; () without one."""
    entries = dynamic_entries(program)
    values = {tag: value for _, tag, value in entries}
    newest, table = (), string_table(program, entries)
    if VERNEED not in values:
        return newest
    at = file_offset(program, values[VERNEED])
    for _ in range(values[VERNEEDNUM]):
        # Verneed: version, count, file name, first version, next. Vernaux: hash, flags, other, name, next.
        n, _, first, following = struct.unpack_from("<2xHIII", program, at)
        here = at + first
        for _ in range(n):
            name, step = struct.unpack_from("<8xII", program, here)
            text = text_at(program, table + name).decode("ascii")
            numbers = text.removeprefix("GLIBC_").split(".")
            if text.startswith("GLIBC_") and all(number.isdigit() for number in numbers):
                newest = max(newest, tuple(map(int, numbers)))
            here += step
        at += following
    return newest


def texts(program, tags):
    """The texts of the entries of these kinds, in their order."""
    entries = dynamic_entries(program)
    table = string_table(program, entries) if entries else 0
    return [text_at(program, table + value).decode("utf-8") for _, tag, value in entries if tag in tags]


def segments(program):
    """The program headers: type, flags, offset, two addresses, bytes in the file, bytes in memory, alignment."""
    start, size, n = struct.unpack_from("<Q14xHH", program, 32)
    return [struct.unpack_from("<IIQQQQQQ", program, start + at * size) for at in range(n)]


def dynamic_place(program):
    """Offset and size of the dynamic section; `None` for a static program."""
    found = next((segment for segment in segments(program) if segment[0] == DYNAMIC), None)
    return found and (found[2], found[5])


def dynamic_entries(program):
    """Offset, kind and value of each entry of the dynamic section, without the closing ones."""
    place = dynamic_place(program)
    if place is None:
        return []
    at, size = place
    entries = [(here, *struct.unpack_from("<qQ", program, here)) for here in range(at, at + size, 16)]
    return [entry for entry in entries if entry[1] != NULL]


def string_table(program, entries):
    """Offset of the texts that the dynamic section names."""
    return file_offset(program, next(value for _, tag, value in entries if tag == STRTAB))


def file_offset(program, address):
    """Where in the file an address is."""
    for kind, _, offset, start, _, size, _, _ in segments(program):
        if kind == LOAD and start <= address < start + size:
            return address - start + offset
    raise NotFitting(f"no segment has the address {address:#x}")


def symbol_names(program):
    """Offsets of the names of the dynamic symbols in the table of texts."""
    start, size, n = struct.unpack_from("<Q10xHH", program, 40)
    sections = [struct.unpack_from("<IIQQQQ", program, start + at * size) for at in range(n)]
    found = next((section for section in sections if section[1] == DYNSYM), None)
    if found is None:
        raise NotFitting("it has no list of dynamic symbols")
    return [struct.unpack_from("<I", program, at)[0] for at in range(found[4], found[4] + found[5], 24)]


def text_at(program, at):
    """The bytes up to the next zero."""
    return bytes(program[at : program.find(b"\0", at)])
