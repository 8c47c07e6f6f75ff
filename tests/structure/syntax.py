#!/usr/bin/env python3
"""Checks the sources of a build with another compiler: syntax.py COMPILER BUILD [BUILT].

Every C++ source of BUILD/compile_commands.json goes through COMPILER -fsyntax-only with its own flags, including
-Werror, except for those that BUILT/compile_commands.json compiles with it, alone or as part of a folder (PAGODA_UNITY).
"""
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys


def sources_of(entry):
    """The source of a command, or the sources that it compiles as one."""
    source = pathlib.Path(entry["file"])
    is_group = source.name.startswith("unity_")
    return re.findall(r'^#include "(.*)"', source.read_text(), re.MULTILINE) if is_group else [str(source)]


def commands(build):
    """{source: (folder, [argument])} without the compiler and its outputs."""
    found = {}
    for entry in json.loads(pathlib.Path(build, "compile_commands.json").read_text()):
        compiled = sources_of(entry)
        words = iter(shlex.split(entry["command"]))
        arguments = []
        for word in words:
            if word in ("-o", "-MT", "-MF"):
                next(words)
            elif word.startswith(("-", "@")) and word not in ("-c", "-MD"):
                arguments.append(word)
                if word in ("-isystem", "-include"):
                    arguments.append(next(words))
        found.update((source, (entry["directory"], arguments)) for source in compiled if source.endswith(".cpp"))
    return found


def sources(build):
    """The sources that a build compiles."""
    return {source for entry in json.loads(pathlib.Path(build, "compile_commands.json").read_text())
            for source in sources_of(entry)}


def main():
    compiler, build, *built = sys.argv[1:]
    done = set().union(*map(sources, built))
    todo = {source: how for source, how in commands(build).items() if source not in done}

    def complaint(item):
        source, (folder, arguments) = item
        run = subprocess.run([compiler, "-fsyntax-only", *arguments, source], cwd=folder, capture_output=True, text=True)
        return run.stderr if run.returncode else ""

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        complaints = [text for text in pool.map(complaint, todo.items()) if text]
    print("".join(complaints), end="")
    print(f"{compiler}: syntax of {len(todo)} sources, {len(complaints)} with errors")
    return len(complaints) > 0


if __name__ == "__main__":
    sys.exit(main())
