#!/usr/bin/env python3
"""Makes a root file system of another platform with a Python in it, for tests/packages/wheels.py:

    python_root.py PLATFORM VERSION [FOLDER]       linux-aarch64 3.11, musl-x86_64 3.13 …; build/platforms/roots by default

Of glibc: the packages of the Debian that has this Python, unpacked. Of musl: that Debian's source of Python, compiled by
zig, beside Debian's musl; a Python of the same version must be on this machine. Needs root, debootstrap and Debian's archive."""
import os
import pathlib
import shutil
import subprocess
import sys

import wheels
from platforms import PLATFORMS, WORK, run, zig_folder, zig_program

SUITES = {(3, 11): "bookworm", (3, 13): "trixie"}
KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"
MIRROR = "http://deb.debian.org/debian"
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


def unpack(packages, root):
    for package in packages:
        run("dpkg-deb", "-x", package, root)


def debian(suite, processor, root):
    run("debootstrap", "--foreign", f"--arch={ARCHITECTURES[processor]}", "--variant=minbase", "--include=python3", suite, root, MIRROR)
    unpack((root / "var/cache/apt/archives").glob("*.deb"), root)


def fetch(suite, processor, source, folder):
    """Debian's package musl and the source of a package, without a change to this machine's lists."""
    state = folder / "apt"
    (state / "lists/partial").mkdir(parents=True, exist_ok=True)
    (state / "sources.list").write_text(f"deb [signed-by={KEYS}] {MIRROR} {suite} main\ndeb-src [signed-by={KEYS}] {MIRROR} {suite} main\n")
    architecture = ARCHITECTURES[processor]
    words = ["-qq", "-o", f"Dir::Etc::sourcelist={state}/sources.list", "-o", "Dir::Etc::sourceparts=/dev/null",
             "-o", f"Dir::State::lists={state}/lists", "-o", f"Dir::Cache={state}", "-o", f"APT::Architecture={architecture}",
             "-o", f"APT::Architectures={architecture}", "-o", "APT::Sandbox::User=root"]
    run("apt-get", *words, "update")
    run("apt-get", *words, "download", "musl", cwd=folder)
    run("apt-get", *words, "source", "--download-only", source, cwd=folder)
    return next(folder.glob("musl_*.deb")), next(folder.glob(f"{source}_*.orig.tar.?z"))


def musl(suite, name, version, root):
    row = PLATFORMS[name]
    own = wheels.pythons_here().get(version)
    if not own:
        sys.exit(f"Python {version[0]}.{version[1]}: not on this machine; expected, as it compiles the modules of its equal for {name}")
    work = WORK / "sources" / f"{name}-{version[0]}.{version[1]}"
    shutil.rmtree(work, ignore_errors=True)
    (work / "source").mkdir(parents=True)
    package, source = fetch(suite, row.processor, f"python{version[0]}.{version[1]}", work)
    run("tar", "-xf", source, "-C", work / "source", "--strip-components=1")
    (root / "usr/lib").mkdir(parents=True, exist_ok=True)
    (root / "lib").symlink_to("usr/lib")
    unpack([package], root)
    folder = zig_folder(zig_program(None), name)
    # Little optimisation, as its speed is of no interest, but some: without any, zig adds checks that need a library. It
    # takes the date of a build, which Python prints, for an error.
    environment = {**os.environ, "CC": f"{folder}/zig-cc", "CXX": f"{folder}/zig-c++", "AR": f"{folder}/zig-ar", "LDFLAGS": "-dynamic",
                   "RANLIB": f"{folder}/zig-ranlib", "READELF": "readelf", "OPT": "-O1 -DNDEBUG -Wno-date-time"}
    # What configure asks of a machine that it cannot run programs of.
    answers = ["ac_cv_file__dev_ptmx=yes", "ac_cv_file__dev_ptc=no", "ac_cv_buggy_getaddrinfo=no"]
    build = work / "build"
    build.mkdir()
    run(work / "source/configure", f"--host={row.processor}-linux-musl", "--build=x86_64-linux-gnu", f"--with-build-python={own}",
        "--disable-test-modules", "--prefix=/usr", *answers, cwd=build, env=environment)
    # The interpreter and the library of Python sources; pagoda needs no module of C beside those in the interpreter.
    run("make", f"-j{os.cpu_count()}", "python", cwd=build, env=environment)
    label = f"python{version[0]}.{version[1]}"
    (root / "usr/bin").mkdir(parents=True, exist_ok=True)
    shutil.copy(build / "python", root / "usr/bin" / label)
    shutil.copytree(work / "source/Lib", root / "usr/lib" / label, ignore=shutil.ignore_patterns("test", "idlelib", "ensurepip"))
    (root / "usr/lib" / label / "lib-dynload").mkdir()


def main():
    name, version = sys.argv[1], tuple(map(int, sys.argv[2].split(".")))
    roots = pathlib.Path(sys.argv[3] if len(sys.argv) > 3 else WORK / "roots").resolve()
    row = PLATFORMS[name]
    if row.system != "Linux" or version not in SUITES:
        sys.exit(f"{name} {sys.argv[2]}: no root is made for it; expected a platform of Linux, and one of Python "
                 f"{', '.join('.'.join(map(str, known)) for known in SUITES)}")
    root = roots / f"{name}-{sys.argv[2]}"
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)
    if "musl" in row.target:
        musl(SUITES[version], name, version, root)
    else:
        debian(SUITES[version], row.processor, root)
    print(root)


if __name__ == "__main__":
    main()
