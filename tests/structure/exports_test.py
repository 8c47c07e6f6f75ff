#!/usr/bin/env python3
"""Checks that a shared libpagoda exports exactly what public headers declare: exports_test.py LIBRARY [FOLDER…].

Each FOLDER contains object files of programs: the library must export every name that they use.
"""
import pathlib
import re
import subprocess
import sys

import layers

# Some names that every consumer uses.
NEEDED = ["analyze", "load_model", "make_estimate", "table_report", "Dim", "Error"]


def public_names(root):
    """Qualified names of the namespaces, types and functions of public headers."""
    tree = layers.Tree(root)
    names = {entry for path in tree.public.values() for entry in layers.declarations(path, tree.text[path])}
    constants = {f"{entry.namespace}::{name}" for entry in names
                 for name in re.findall(r"^inline constexpr [^=;{]*\b(k[A-Z]\w*)", tree.text[entry.path], re.M)}
    return {f"{entry.namespace}::{entry.name}" for entry in names} | constants, {entry.namespace for entry in names}


def exported(library):
    """Names in namespace pagoda, without arguments: "pagoda::Dim::to_string"."""
    text = subprocess.run(["nm", "-DC", "--defined-only", library], check=True, capture_output=True, text=True).stdout
    for line in text.splitlines():
        symbol = line.split(" ", 2)[2]
        symbol = re.sub(r"^(vtable|VTT|typeinfo|typeinfo name|guard variable) for ", "", symbol)
        while symbol != (symbol := re.sub(r"<[^<>]*>|\[abi:\w+\]", "", symbol)):
            pass
        found = re.match(r"(?:[^(]* )?(pagoda::[\w:~]+)", symbol.replace("(anonymous namespace)", "anonymous"))
        if found:
            yield found[1]


def is_public(name, names, namespaces):
    parts = name.split("::")
    prefixes = {"::".join(parts[:n]) for n in range(1, len(parts) + 1)}
    return bool(prefixes & names) or (parts[-1].startswith("operator") and "::".join(parts[:-1]) in namespaces)


def mangled(option, files):
    """Symbols of namespace pagoda, as the linker sees them."""
    text = subprocess.run(["nm", option, *files], check=True, capture_output=True, text=True).stdout
    return {line.split()[-1] for line in text.splitlines() if re.search(r" _ZN?[KVTSI]*N?K?6pagoda", line)}


def has_source(path, root):
    """Whether the source of an object file still exists: a build folder keeps the objects of files that moved."""
    target_folder, _, rest = str(path).partition("CMakeFiles/")
    if pathlib.Path(str(path).removesuffix(".o")).exists():  # several sources compiled as one
        return True
    source = rest.partition(".dir/")[2].removesuffix(".o")
    folders = ("tools", "examples", "lib/bridges")
    return any(any(root.glob(f"{folder}/**/{source}")) for folder in folders) or pathlib.Path(target_folder, source).exists()


def main():
    names, namespaces = public_names(pathlib.Path(__file__).parents[2])
    symbols = sorted(set(exported(sys.argv[1])))
    internal = [symbol for symbol in symbols if not is_public(symbol, names, namespaces)]
    for symbol in internal:
        print(f"{symbol} is exported, and no public header declares it")
    absent = [name for name in NEEDED if not any(name in symbol.split("::") for symbol in symbols)]
    for name in absent:
        print(f"{name} is declared by a public header and not exported")
    objects = [str(path) for folder in sys.argv[2:] for path in sorted(pathlib.Path(folder).rglob("*.o"))
               if has_source(path, pathlib.Path(__file__).parents[2])]
    lacking = set()
    if objects:
        lacking = mangled("--undefined-only", objects) - mangled("--defined-only", objects)
        lacking -= set(subprocess.run(["nm", "-D", "--defined-only", "-j", sys.argv[1]], check=True, capture_output=True,
                                      text=True).stdout.split())
    for name in sorted(lacking):
        print(f"the programs take {name} from the library, which does not export it")
    print(f"{len(symbols)} names exported, {len(internal)} of them internal; {len(objects)} objects of programs")
    return bool(internal or absent or lacking)


if __name__ == "__main__":
    sys.exit(main())
