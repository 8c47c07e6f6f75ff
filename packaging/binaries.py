"""What the loader of a system finds in a program or library: ELF (Linux), PE (Windows) and Mach-O (macOS), all of 64
bits. Names of fields are those of the formats' specifications."""
import re
import struct
import typing


class Binary(typing.NamedTuple):
    machine: str
    libraries: list            # that it needs
    undefined: set             # names that it takes from them
    glibc: tuple = ()          # the latest version of a symbol that it needs
    least_system: tuple = ()   # of macOS
    defined: set = frozenset() # names that others can take from it; of ELF alone
    anywhere: set = frozenset() # of `undefined`, those that whatever is loaded may define; of Mach-O alone
    search: list = ()          # folders in which libraries are looked for; of ELF and Mach-O


def text_at(data, offset):
    return data[offset:data.index(b"\0", offset)].decode()


def read_elf(data):
    machine = {62: "x86_64", 183: "aarch64"}[struct.unpack_from("<H", data, 18)[0]]
    e_shoff, e_shentsize, e_shnum = struct.unpack_from("<Q", data, 40)[0], *struct.unpack_from("<2H", data, 58)
    sections = [struct.unpack_from("<2I4Q2I2Q", data, e_shoff + i * e_shentsize) for i in range(e_shnum)]
    libraries, undefined, defined, glibc, search = [], set(), set(), (), []
    for _, sh_type, _, _, offset, size, link, _, _, entry in sections:
        if sh_type == 6:  # SHT_DYNAMIC
            strings = sections[link][4]
            for at in range(offset, offset + size, 16):
                tag, value = struct.unpack_from("<2Q", data, at)
                if tag == 1:  # DT_NEEDED
                    libraries.append(text_at(data, strings + value))
                elif tag in (15, 29):  # DT_RPATH, DT_RUNPATH
                    search += text_at(data, strings + value).split(":")
        elif sh_type == 11:  # SHT_DYNSYM
            strings = sections[link][4]
            for at in range(offset, offset + size, entry):
                name, _, _, section = struct.unpack_from("<IBBH", data, at)
                if name:
                    (defined if section else undefined).add(text_at(data, strings + name))
        elif sh_type == 0x6FFFFFFE:  # SHT_GNU_verneed
            strings = sections[link][4]
            at = offset
            while True:
                _, count, _, first, following = struct.unpack_from("<2H3I", data, at)
                version = at + first
                for _ in range(count):
                    _, _, _, name, after = struct.unpack_from("<I2H2I", data, version)
                    found = re.fullmatch(r"GLIBC_([0-9.]+)", text_at(data, strings + name))
                    if found:
                        glibc = max(glibc, tuple(map(int, found[1].split("."))))
                    version += after
                if not following:
                    break
                at += following
    return Binary(machine, libraries, undefined, glibc, defined=defined, search=search)


def read_pe(data):
    header = struct.unpack_from("<I", data, 60)[0]
    machine = {0x8664: "x86_64", 0xAA64: "arm64"}[struct.unpack_from("<H", data, header + 4)[0]]
    count, optional_size = struct.unpack_from("<H", data, header + 6)[0], struct.unpack_from("<H", data, header + 20)[0]
    sections = [struct.unpack_from("<4I", data, header + 24 + optional_size + 40 * i + 8) for i in range(count)]

    def offset_of(address):
        for size, virtual, raw_size, raw in sections:
            if virtual <= address < virtual + max(size, raw_size):
                return raw + address - virtual
        raise ValueError(f"no section holds the address {address:#x}")

    imports = struct.unpack_from("<I", data, header + 24 + 112 + 8)[0]  # the second data directory
    libraries, undefined = [], set()
    at = offset_of(imports) if imports else None
    while at is not None:
        lookup, _, _, name, table = struct.unpack_from("<5I", data, at)
        if not name:
            break
        libraries.append(text_at(data, offset_of(name)))
        entry = offset_of(lookup or table)
        while (value := struct.unpack_from("<Q", data, entry)[0]) != 0:
            if not value >> 63:
                undefined.add(text_at(data, offset_of(value) + 2))
            entry += 8
        at += 20
    return Binary(machine, libraries, undefined)


def read_macho(data):
    machine = {0x01000007: "x86_64", 0x0100000C: "arm64"}[struct.unpack_from("<I", data, 4)[0]]
    commands = struct.unpack_from("<I", data, 16)[0]
    libraries, undefined, anywhere, search, least = [], set(), set(), [], ()
    at = 32
    for _ in range(commands):
        command, size = struct.unpack_from("<2I", data, at)
        if command & 0x7FFFFFFF in (0x0C, 0x18, 0x1F):  # LC_LOAD_DYLIB, and the weak and the re-exported ones
            libraries.append(text_at(data, at + struct.unpack_from("<I", data, at + 8)[0]))
        elif command == 0x02:  # LC_SYMTAB
            symbols, count, strings, _ = struct.unpack_from("<4I", data, at + 8)
            for i in range(count):
                name, kind, _, description = struct.unpack_from("<IBBH", data, symbols + 16 * i)
                if kind & 0x0F == 0x01:  # undefined and external
                    undefined.add(text_at(data, strings + name)[1:])
                    if description >> 8 in (0x00, 0xFE):  # DYNAMIC_LOOKUP_ORDINAL, for which zig writes that of the file itself
                        anywhere.add(text_at(data, strings + name)[1:])
        elif command == 0x8000001C:  # LC_RPATH
            search.append(text_at(data, at + struct.unpack_from("<I", data, at + 8)[0]))
        elif command == 0x32:  # LC_BUILD_VERSION
            version = struct.unpack_from("<I", data, at + 12)[0]
            least = (version >> 16, version >> 8 & 0xFF)
        at += size
    return Binary(machine, libraries, undefined, (), least, anywhere=anywhere, search=search)


def read(data):
    """Of a file's bytes; None: it is no program or library."""
    if data[:5] == b"\x7fELF\x02":
        return read_elf(data)
    if data[:2] == b"MZ" and data[struct.unpack_from("<I", data, 60)[0]:][:4] == b"PE\0\0":
        return read_pe(data)
    if data[:4] == b"\xcf\xfa\xed\xfe":
        return read_macho(data)
    return None
