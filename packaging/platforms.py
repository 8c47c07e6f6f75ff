#!/usr/bin/env python3
"""Builds wheels and archives of the tools for every platform on one Linux machine: zig, which pip installs, brings the
compiler and the C and C++ libraries of all of them.

    packaging/platforms.py list
    packaging/platforms.py wheels linux-x86_64 linux-aarch64 -o dist --python python3.11 --python python3.12
    packaging/platforms.py archives linux-aarch64 windows-x86_64 -o dist
    packaging/platforms.py check dist/*                  tags, libraries, versions of symbols, sizes

A new platform is a row of PLATFORMS. Builds stay in build/platforms: the library is compiled once per platform.
"""
import argparse
import os
import pathlib
import posixpath
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import typing
import zipfile

import binaries

PACKAGING = pathlib.Path(__file__).resolve().parent
ROOT = PACKAGING.parent
WORK = ROOT / "build/platforms"
TOOLS = ["onnx-estimate", "onnx-skeleton", "pagoda-import", "pagoda-report", "roofline-plot"]
ZIG = "ziglang==0.17.1"
MOST_WHEEL_BYTES = 6_000_000
LEAST_STABLE = (3, 12)  # Python from which a wheel is for all later ones, too; wheel.py-api in pyproject.toml


class Platform(typing.NamedTuple):
    target: str     # zig's
    system: str     # CMake's CMAKE_SYSTEM_NAME
    processor: str  # CMake's CMAKE_SYSTEM_PROCESSOR
    wheel: str      # the platform tag of wheels; empty: none are built
    archive: bool   # of tools that need no library of the system


PLATFORMS = {
    # name               zig's target               system     processor  wheels                    archive
    "linux-x86_64":    Platform("x86_64-linux-gnu.2.28", "Linux", "x86_64", "manylinux_2_28_x86_64", False),
    "linux-aarch64":   Platform("aarch64-linux-gnu.2.28", "Linux", "aarch64", "manylinux_2_28_aarch64", False),
    "musl-x86_64":     Platform("x86_64-linux-musl", "Linux", "x86_64", "musllinux_1_2_x86_64", True),
    "musl-aarch64":    Platform("aarch64-linux-musl", "Linux", "aarch64", "musllinux_1_2_aarch64", True),
    "windows-x86_64":  Platform("x86_64-windows-gnu", "Windows", "AMD64", "win_amd64", True),
    "macos-x86_64":    Platform("x86_64-macos.11.0", "Darwin", "x86_64", "macosx_11_0_x86_64", False),
    "macos-arm64":     Platform("aarch64-macos.11.0", "Darwin", "arm64", "macosx_11_0_arm64", False),
}


def run(*words, **options):
    words = [str(word) for word in words]
    print("+", " ".join(words), file=sys.stderr, flush=True)
    return subprocess.run(words, check=True, **options)


# --- zig ------------------------------------------------------------------------------------------------------------

def zig_program(given):
    """The file of zig: the one that is given, or pip's, installed once."""
    if given:
        return pathlib.Path(given).resolve()
    environment = WORK / "zig"
    if not (environment / "installed").exists():
        run(sys.executable, "-m", "venv", environment)
        run(environment / "bin/pip", "install", "-q", "--disable-pip-version-check", ZIG)
        (environment / "installed").touch()
    return next(environment.glob("lib/python3*/site-packages/ziglang/zig"))


def zig_folder(zig, name):
    """The programs that packaging/zig.cmake names, each for the platform."""
    platform = PLATFORMS[name]
    folder = WORK / name / "zig"
    folder.mkdir(parents=True, exist_ok=True)
    cache = f'export ZIG_GLOBAL_CACHE_DIR="{WORK}/zig-cache" ZIG_LOCAL_CACHE_DIR="{WORK}/zig-cache"'
    # zig compiles the C++ library anew for other flags than these; CMake's own trials have them, too.
    flags = f"-target {platform.target} -O2 -s"
    # Versions of CMake differ in the order and the options of a resource compiler.
    resources = 'for word; do case $word in *.rc) source=$word ;; *.res | *.obj) output=$word ;; esac; done\n' \
        'set -- "$output" "$source"\n'
    for program, words in {"cc": f"cc {flags}", "c++": f"c++ {flags}", "ar": "ar",
                           "ranlib": "ranlib", "rc": "rc /:auto-includes none /:output-format coff /fo"}.items():
        text = f'#!/bin/sh\n# {ZIG}\n{cache}\n{resources if program == "rc" else ""}exec "{zig}" {words} "$@"\n'
        file = folder / f"zig-{program}"
        if not file.exists() or file.read_text() != text:  # a compiler cache looks at the time of change
            file.write_text(text)
            file.chmod(0o755)
    text = f"set(CMAKE_SYSTEM_NAME {platform.system})\nset(CMAKE_SYSTEM_PROCESSOR {platform.processor})\n"
    (folder / "target.cmake").write_text(text)
    return folder


def build_environment():
    # ccache would not know the wrapper for a compiler.
    return dict(os.environ, CCACHE_COMPILERTYPE="clang", CCACHE_COMPILERCHECK="content")


def settings(folder):
    return {"CMAKE_TOOLCHAIN_FILE": ROOT / "packaging/zig.cmake", "PAGODA_ZIG": folder, "CMAKE_BUILD_TYPE": "Release",
            "CMAKE_CXX_FLAGS_RELEASE": "-O2 -DNDEBUG", "PAGODA_UNITY": "ON", "PAGODA_TESTS": "OFF",
            "PAGODA_EXAMPLES": "OFF", "PAGODA_ONNX_BRIDGE": "OFF"}


# --- archives -------------------------------------------------------------------------------------------------------

def build_archive(zig, name, output):
    platform = PLATFORMS[name]
    build = WORK / name / "archive"
    definitions = settings(zig_folder(zig, name)) | {"PAGODA_PACKAGES": "ON", "CMAKE_SKIP_INSTALL_ALL_DEPENDENCY": "ON"}
    if platform.system == "Linux":
        definitions["CMAKE_EXE_LINKER_FLAGS"] = "-static"
    # The CMake that builds wheels: another orders options otherwise, and the compiler's cache would not know the objects.
    programs = python_environment(sys.executable)[1].parent
    environment = build_environment() | {"PATH": f"{programs}:{os.environ['PATH']}"}
    run(programs / "cmake", "-S", ROOT, "-B", build, "-G", "Ninja", *[f"-D{key}={value}" for key, value in definitions.items()],
        env=environment)
    run(programs / "cmake", "--build", build, "--target", "packaged_tools", env=environment)
    run(programs / "cpack", "-G", "ZIP" if platform.system == "Windows" else "TGZ", "-B", build / "packages", cwd=build)
    archive, = [file for file in (build / "packages").iterdir() if file.suffix in (".gz", ".zip")]
    return pathlib.Path(shutil.copy(archive, output))


# --- wheels ---------------------------------------------------------------------------------------------------------

def python_environment(python):
    """A virtual environment with what builds the package, as pyproject.toml names it."""
    version = subprocess.run([python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"], check=True,
                             capture_output=True, text=True).stdout.strip()
    environment = WORK / f"python-{version}"
    if not (environment / "installed").exists():
        run(python, "-m", "venv", environment)
        run(environment / "bin/pip", "install", "-q", "--disable-pip-version-check", "scikit-build-core>=1.0,<2",
            "nanobind>=2.7", "cmake>=3.26", "ninja")
        (environment / "installed").touch()
    return version, environment / "bin/python"


# The names of the stable ABI, out of CPython's own test of them.
STABLE_NAMES = """
import ast, pathlib, test
tree = ast.parse((pathlib.Path(test.__path__[0]) / "test_stable_abi_ctypes.py").read_text())
for node in tree.body:
    if isinstance(node, ast.Assign) and node.targets[0].id == "SYMBOL_NAMES":
        print("\\n".join(ast.literal_eval(node.value)))
"""


def stable_names(python):
    """Empty for a Python older than the wheels are for, whose list is shorter."""
    if ask(python, f"sys.version_info[:2] < {LEAST_STABLE}") == "True":
        return set()
    done = subprocess.run([python, "-c", STABLE_NAMES], capture_output=True, text=True)
    return set(done.stdout.split()) if done.returncode == 0 else set()


def ask(python, expression):
    script = f"import sys, sysconfig; print({expression})"
    return subprocess.run([python, "-c", script], check=True, capture_output=True, text=True).stdout.strip()


def python_headers(python, folder, pyconfig):
    """A folder with the headers of this machine's Python beside the given pyconfig.h."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for header in pathlib.Path(ask(python, "sysconfig.get_path('include')")).iterdir():
        if header.name != "pyconfig.h":
            (folder / header.name).symlink_to(header)
    shutil.copy(pyconfig, folder / "pyconfig.h")
    return folder


def own_configuration(python):
    """The pyconfig.h of this machine's Python, whose sizes are those of every 64-bit Unix."""
    given = pathlib.Path(ask(python, "sysconfig.get_config_h_filename()"))
    # Debian's includes this one from a folder that a compiler for another system does not search.
    inner = given.parents[1] / ask(python, "sysconfig.get_config_var('MULTIARCH')") / given.parent.name / given.name
    return inner if inner.is_file() else given


def windows_library(zig, python, version, is_stable, folder):
    """The import library of Python's DLL, which is no more than its names."""
    if is_stable:
        dll, names = "python3.dll", stable_names(python)
        if not names:
            sys.exit(f"{python}: has no package `test`, whose list of the stable ABI becomes python3.lib; expected a "
                     "Python with it, such as pyenv's")
    else:  # those of this machine's Python; the few that the module takes exist on Windows, too
        dll, names = f"python{version.replace('.', '')}.dll", set()
        library = pathlib.Path(ask(python, "sysconfig.get_config_var('LIBDIR')"), ask(python, "sysconfig.get_config_var('INSTSONAME')"))
        for file in filter(pathlib.Path.is_file, (pathlib.Path(ask(python, "sys.executable")), library)):
            found = binaries.read(file.read_bytes())
            names |= {name for name in found.defined if re.match(r"_?Py", name)} if found else set()
    (folder / "names.def").write_text("\n".join([f"LIBRARY {dll}", "EXPORTS", *sorted(names)]) + "\n")
    library = folder / pathlib.Path(dll).with_suffix(".lib")
    run(zig, "dlltool", "-m", "i386:x86-64", "-d", folder / "names.def", "-D", dll, "-l", library)
    return library


def build_wheel(zig, name, python, output):
    platform = PLATFORMS[name]
    version, python = python_environment(python)
    build = WORK / name / "wheel"
    for stale in ["CMakeCache.txt", "CMakeInit.txt"]:  # of another Python; objects of the library stay
        (build / stale).unlink(missing_ok=True)
    for stale in build.glob("lib/bridges/python/_core*"):
        stale.unlink()
    major, minor = map(int, version.split("."))
    is_stable = (major, minor) >= LEAST_STABLE
    own = f"cp{major}{minor}"
    headers = WORK / name / f"python-{version}"
    definitions = settings(zig_folder(zig, name))
    if platform.system == "Windows":
        definitions["Python_INCLUDE_DIR"] = python_headers(python, headers, PACKAGING / "windows/pyconfig.h")
        definitions["Python_SABI_LIBRARY" if is_stable else "Python_LIBRARY"] = \
            windows_library(zig, python, version, is_stable, headers)
        suffix = f".{own}-{platform.wheel}.pyd"
    else:
        definitions["Python_INCLUDE_DIR"] = python_headers(python, headers, own_configuration(python))
        system = "darwin" if platform.system == "Darwin" else \
            f"{platform.processor}-linux-{'musl' if 'musl' in platform.target else 'gnu'}"
        suffix = f".cpython-{major}{minor}-{system}.so"
    if "musl" in platform.target:
        # zig's stand-in for musl's library has all data at one address. A program that takes stdout from there by a copy, as
        # those of a fixed address do, has stderr in its place.
        definitions |= {"CMAKE_POSITION_INDEPENDENT_CODE": "ON", "CMAKE_EXE_LINKER_FLAGS": "-pie"}
    # scikit-build-core would name the wheel for this machine.
    tag = f"cp{LEAST_STABLE[0]}{LEAST_STABLE[1]}-abi3" if is_stable else f"{own}-{own}"
    config = {f"cmake.define.{key}": str(value) for key, value in definitions.items()}
    config |= {"build-dir": str(build), "wheel.tags": f"{tag}-{platform.wheel}"}
    environment = build_environment() | {"SETUPTOOLS_EXT_SUFFIX": suffix}
    script = "import scikit_build_core.build as b, sys; print(b.build_wheel(sys.argv[1], eval(sys.argv[2])))"
    with tempfile.TemporaryDirectory() as made:
        run(python, "-c", script, made, repr(config), cwd=ROOT, env=environment)
        wheel, = pathlib.Path(made).glob("*.whl")
        return pathlib.Path(shutil.copy(wheel, output))


# --- checks ---------------------------------------------------------------------------------------------------------

# Libraries that every system of the platform has.
SYSTEM_LIBRARIES = {
    "manylinux": r"(libc|libm|libdl|libpthread|librt)\.so\.[0-9]+|ld-linux-(x86-64|aarch64)\.so\.[0-9]+",
    "musllinux": r"libc\.so|libc\.musl-.*\.so\.1",
    "win": r"(?i)(kernel32|ntdll|advapi32|shell32|user32|ws2_32|api-ms-win-.*|ucrtbase)\.dll",
    "macosx": r"/usr/lib/libSystem\.B\.dylib",
}


def finds(found, name, library, names):
    """Whether the loader finds a library of the wheel from the program or library `name` of the wheel."""
    folders = [re.sub(r"^(\$ORIGIN|@loader_path)", posixpath.dirname(name), folder) for folder in found.search]
    return any(posixpath.normpath(posixpath.join(folder, library)) in names for folder in folders)


def check_wheel(path, stable):
    """Problems of a wheel: what an installer or the loader of its platform would trip over."""
    problems = []
    distribution, version, interpreter, abi, tag = path.name.removesuffix(".whl").split("-")
    if path.stat().st_size > MOST_WHEEL_BYTES:
        problems.append(f"{path.stat().st_size} B, expected at most {MOST_WHEEL_BYTES}")
    if abi not in ("abi3", interpreter):
        problems.append(f"is for the ABI {abi}, expected abi3 or {interpreter}")
    system = next((known for known in SYSTEM_LIBRARIES if tag.startswith(known)), None)
    if system is None:
        problems.append(f"is for {tag}, expected a tag of {', '.join(SYSTEM_LIBRARIES)}, which say what a system has")
        system = "manylinux"
    glibc = tuple(map(int, tag.split("_")[1:3])) if tag.startswith("manylinux") else None
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        metadata = archive.read(f"{distribution}-{version}.dist-info/WHEEL").decode()
        if f"Tag: {interpreter}-{abi}-{tag}\n" not in metadata:
            problems.append(f"its name says {interpreter}-{abi}-{tag}, its WHEEL file {metadata}")
        own = {name.rsplit("/", 1)[-1] for name in names}
        programs = [name for name in names if name.startswith("pagoda/bin/")]
        if sorted(pathlib.PurePath(name).name.removesuffix(".exe") for name in programs) != TOOLS:
            problems.append(f"tools: found {programs}, expected {TOOLS}")
        modules = [name for name in names if re.fullmatch(r"pagoda/_core[^/]*\.(so|pyd)", name)]
        if len(modules) != 1:
            problems.append(f"modules: found {modules}, expected one")
        if abi == "abi3" and modules and not re.search(r"_core(\.abi3\.so|\.pyd)$", modules[0]):
            problems.append(f"{modules[0]}: is named for one version of Python, expected .abi3")
        for name in names:
            data = archive.read(name)
            found = binaries.read(data)
            if found is None:
                continue
            for library in found.libraries:
                if re.fullmatch(SYSTEM_LIBRARIES[system], library):
                    continue
                if library.rsplit("/", 1)[-1] in own:
                    if system != "win" and not finds(found, name, library.removeprefix("@rpath/"), names):
                        problems.append(f"{name}: looks for {library} in {found.search}, which does not lead to it")
                    continue
                if name in modules and re.fullmatch(r"python3(11)?\.dll", library):
                    if (library == "python3.dll") == (abi == "abi3"):
                        continue
                problems.append(f"{name}: needs {library}, which not every system of {tag} has")
            if found.machine not in tag and found.machine.replace("x86_64", "amd64") not in tag:
                problems.append(f"{name}: is for {found.machine}")
            if glibc and found.glibc > glibc:
                problems.append(f"{name}: needs glibc {found.glibc}, expected at most {glibc}")
            if system == "macosx" and found.least_system > tuple(map(int, tag.split("_")[1:3])):
                problems.append(f"{name}: needs macOS {found.least_system}")
            foreign = sorted(symbol for symbol in found.anywhere if not re.match(r"_?Py", symbol))
            if foreign:
                problems.append(f"{name}: takes {foreign} from whatever is loaded, expected Python's names alone")
            if name in modules and abi == "abi3" and stable:
                unstable = {symbol for symbol in found.undefined if re.match(r"_?Py", symbol)} - stable
                if unstable:
                    problems.append(f"{name}: uses {sorted(unstable)}, which are not in the stable ABI")
    return problems


def check_archive(path):
    problems = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        if path.suffix == ".zip":
            with zipfile.ZipFile(path) as archive:
                archive.extractall(folder)
        else:
            with tarfile.open(path) as archive:
                archive.extractall(folder)
        for tool in TOOLS:
            files = list(folder.glob(f"*/bin/{tool}")) + list(folder.glob(f"*/bin/{tool}.exe"))
            if len(files) != 1:
                problems.append(f"{tool}: found {files}, expected one")
                continue
            found = binaries.read(files[0].read_bytes())
            foreign = [library for library in found.libraries if not re.fullmatch(SYSTEM_LIBRARIES["win"], library)]
            if foreign:
                problems.append(f"{tool}: needs {foreign}, expected no library")
    return problems


def check(paths, python):
    stable = stable_names(python)
    if not stable:
        oldest = ".".join(map(str, LEAST_STABLE))
        print(f"{python}: has no list of the stable ABI of Python {oldest}; names in abi3 wheels are not checked; give "
              f"--python a Python from {oldest} on, with its package test", file=sys.stderr)
    failed = 0
    for path in map(pathlib.Path, paths):
        problems = check_wheel(path, stable) if path.suffix == ".whl" else check_archive(path)
        print(f"{path.name}: {path.stat().st_size} B" + "".join(f"\n  {problem}" for problem in problems))
        failed += bool(problems)
    return 1 if failed else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="the platforms")
    for command in ["wheels", "archives"]:
        builder = commands.add_parser(command)
        builder.add_argument("platforms", nargs="*", metavar="PLATFORM", help="all by default")
        builder.add_argument("-o", "--output", default="dist")
        builder.add_argument("--zig", help="the file of zig; pip installs one by default")
        if command == "wheels":
            builder.add_argument("--python", action="append", default=[],
                                 help="one wheel is built by each; from 3.12 on it is for all later versions, too")
    checker = commands.add_parser("check")
    checker.add_argument("files", nargs="+")
    checker.add_argument("--python", default=sys.executable, help="with the test package, which lists the stable ABI")
    arguments = parser.parse_args()
    if arguments.command == "list":
        for name, platform in PLATFORMS.items():
            print(f"{name:16} {platform.target:24} {platform.wheel:24} {'archive' if platform.archive else ''}".rstrip())
        return 0
    if arguments.command == "check":
        return check(arguments.files, arguments.python)
    able = [name for name, row in PLATFORMS.items() if (row.archive if arguments.command == "archives" else row.wheel)]
    for name in arguments.platforms:
        if name not in able:
            parser.error(f"{name}: no {arguments.command} are built for it; expected one of {', '.join(able)}")
    output = pathlib.Path(arguments.output)
    output.mkdir(parents=True, exist_ok=True)
    zig = zig_program(arguments.zig)
    made = []
    for name in arguments.platforms or able:
        if arguments.command == "archives":
            made.append(build_archive(zig, name, output))
        else:
            made += [build_wheel(zig, name, python, output) for python in arguments.python or [sys.executable]]
    for path in filter(None, made):
        print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
