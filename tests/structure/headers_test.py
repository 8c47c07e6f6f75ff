#!/usr/bin/env python3
"""Compiles every public header alone, and all together in several orders: headers_test.py COMPILER….

The first compiler compiles all of them together, the last one all in reverse and each alone: a missing include is missing
for all.

Only the installed include directories are searched, so that a header cannot depend on a private one.
"""
import concurrent.futures
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).parents[2]


def public_headers(root=ROOT):
    """{directory of the include path: [header as included]}; without bridges, which need third-party libraries."""
    return headers_in([root / "lib/include", *sorted(root.glob("lib/*/include")), *sorted(root.glob("tools/*/include"))])


def internal_headers(root=ROOT):
    """The same of headers that other layers include and nobody installs."""
    return headers_in(sorted(root.glob("lib/*/internal")))


def headers_in(tops):
    found = {}
    for top in tops:
        found[top] = sorted(path.relative_to(top).as_posix() for path in top.rglob("*.h"))
    return found


def compile_text(compiler, text, *flags, tops=None):
    """The compiler's complaints; empty if there are none. By default only the installed headers are found."""
    paths = [f"-I{top}" for top in tops or public_headers()]
    command = [compiler, "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", *flags, *paths, "-x", "c++", "-"]
    done = subprocess.run(command, input=text, text=True, capture_output=True)
    return done.stderr or (f"exit code {done.returncode}" if done.returncode else "")


def including(headers):
    return "".join(f'#include "{header}"\n' for header in headers)


def main():
    compilers = sys.argv[1:]
    headers = [header for found in public_headers().values() for header in found]
    rest = [header for header in headers if header != "pagoda/pagoda.h"]
    assert len(rest) > 40, f"expected more than 40 public headers, found {len(rest)}"
    units = [(compilers[-1], f"{header} alone", [header]) for header in headers]
    units.append((compilers[0], "pagoda.h first, the others after it", ["pagoda/pagoda.h", *rest]))
    units.append((compilers[-1], "pagoda.h last, the others in reverse", [*reversed(rest), "pagoda/pagoda.h"]))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        complaints = list(pool.map(lambda unit: compile_text(unit[0], including(unit[2])), units))
    failed = 0
    for (compiler, name, _), complaint in zip(units, complaints):
        if complaint:
            failed += 1
            print(f"{compiler}, {name}:\n{complaint}")
    # Test of the check itself: code that must not compile does not.
    for compiler in compilers:
        assert compile_text(compiler, "struct Twice {};\nstruct Twice {};\n"), f"{compiler} takes anything"
    print(f"{', '.join(compilers)}: {len(headers)} headers, {len(units)} units, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
