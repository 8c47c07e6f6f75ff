#!/usr/bin/env python3
"""A compiler launcher for tests that build Pagoda again: same_objects.py COMPILER ARGUMENT….

PAGODA_BUILT names a finished build. An object that it compiled from the same source with the same options is copied,
unless a file that the source includes has changed since. Anything else is compiled, through ccache where there is one.
"""
import hashlib
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys


def key_of(arguments):
    """What decides an object's content: the command without the files that it writes; of a source that the build itself
    wrote, its content."""
    build = next((a.split("=")[1] for a in arguments if a.startswith("-ffile-prefix-map=")), "/nowhere") + "/"
    kept, words = [], iter(arguments)
    for word in words:
        if word in ("-o", "-MT", "-MF"):
            next(words)
        elif word.startswith(build):
            kept.append(pathlib.Path(word).read_text())
        elif word not in ("-MD", "-c") and not word.startswith("-ffile-prefix-map="):
            kept.append(word)
    return hashlib.sha256("\0".join(kept).encode()).hexdigest()


def write_index(built, index):
    """A file for each object of the build: its path and the files that it depends on."""
    listed = subprocess.run(["ninja", "-C", built, "-t", "deps"], capture_output=True, text=True, check=True).stdout
    depends = {}
    for block in listed.split("\n\n"):
        found = re.match(r"(\S+): #deps \d+, .*\(VALID\)\n", block)
        if found:
            depends[found[1]] = [str(pathlib.Path(built, line.strip())) for line in block[found.end():].splitlines()]
    new = index.with_name(f"{index.name}.{os.getpid()}")
    new.mkdir(parents=True)
    for entry in json.loads(pathlib.Path(built, "compile_commands.json").read_text()):
        words = shlex.split(entry["command"])
        while not words[0].endswith(("++", "cc", "clang")):
            words.pop(0)  # launchers
        object_name = words[words.index("-o") + 1]
        if object_name in depends:
            (new / key_of(words)).write_text("\n".join([str(pathlib.Path(built, object_name)), *depends[object_name]]))
    try:
        new.rename(index)
    except OSError:  # another launcher was faster
        shutil.rmtree(new)


def found_object(arguments):
    """(object, files it depends on) of the finished build, or nothing if it has none that is up to date."""
    built = os.environ.get("PAGODA_BUILT")
    if not built or "-o" not in arguments or "-c" not in arguments:
        return None
    log = pathlib.Path(built, ".ninja_deps")
    if not log.exists():
        return None
    index = pathlib.Path(built, "tests/same_objects", str(log.stat().st_mtime_ns))
    if not index.exists():
        write_index(built, index)
    entry = index / key_of(arguments)
    if not entry.exists():
        return None
    path, *depends = entry.read_text().splitlines()
    try:
        made = os.stat(path).st_mtime_ns
        return (path, depends) if all(os.stat(file).st_mtime_ns <= made for file in depends) else None
    except FileNotFoundError:
        return None


def main():
    command = sys.argv[1:]
    found = found_object(command)
    if found is None:
        cache = [shutil.which("ccache")] if shutil.which("ccache") else []
        os.execvp((cache + command)[0], cache + command)
    path, depends = found
    target = command[command.index("-o") + 1]
    shutil.copyfile(path, target)
    if "-MF" in command:
        escaped = [file.replace(" ", "\\ ") for file in depends]
        pathlib.Path(command[command.index("-MF") + 1]).write_text(f"{target}: " + " \\\n ".join(escaped) + "\n")


if __name__ == "__main__":
    main()
