#!/usr/bin/env python3
"""Compiles every public header alone, and all together in several orders: headers_test.py COMPILER….

Every compiler takes all of them together, the last takes each alone: what a header lacks, it lacks for all.

Only the include directories that are installed are searched, so that a header cannot lean on a private one.
"""
import concurrent.futures
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).parents[2]


def public_headers(root=ROOT):
    """{directory of the include path: [header as it is included]}; bridges need libraries of others and are left out."""
    found = {}
    for top in [root / "lib/include", *sorted(root.glob("lib/*/include")), *sorted(root.glob("tools/*/include"))]:
        found[top] = sorted(path.relative_to(top).as_posix() for path in top.rglob("*.h"))
    return found


def compile_text(compiler, text, *flags):
    """What the compiler complains about; empty: nothing."""
    paths = [f"-I{top}" for top in public_headers()]
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
    for compiler in compilers:
        units.append((compiler, "pagoda.h first, the others after it", ["pagoda/pagoda.h", *rest]))
        units.append((compiler, "pagoda.h last, the others in reverse", [*reversed(rest), "pagoda/pagoda.h"]))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        complaints = list(pool.map(lambda unit: compile_text(unit[0], including(unit[2])), units))
    failed = 0
    for (compiler, name, _), complaint in zip(units, complaints):
        if complaint:
            failed += 1
            print(f"{compiler}, {name}:\n{complaint}")
    # The check itself: what must not compile does not.
    for compiler in compilers:
        assert compile_text(compiler, "struct Twice {};\nstruct Twice {};\n"), f"{compiler} takes anything"
    print(f"{', '.join(compilers)}: {len(headers)} headers, {len(units)} units, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
