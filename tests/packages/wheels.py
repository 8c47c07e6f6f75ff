#!/usr/bin/env python3
"""Installs the wheels that packaging/platforms.py built in a folder, and runs them:

    wheels.py FOLDER PLATFORM|all MODEL ONNX_ESTIMATE [--python PYTHON]… [--roots FOLDER]

Names, tags, sizes, needed libraries and taken symbols are those that an installer and a loader of the platform expect. The
document of MODEL from Python and from the wheel's onnx-estimate is the one that ONNX_ESTIMATE, built for this machine,
writes. PYTHON: interpreters of this machine; without any, those of PATH and of pyenv. --roots: a folder with root file
systems of other platforms with a Python in them, by python_root.py. Of a wheel for Windows the tools are run by wine, and
the module is loaded there beside a stand-in for Python's DLL. Nothing here runs wheels for macOS: they are only examined.
Each wheel is reported with what was done, or as skipped with what is missing; exits with 77 if one was skipped."""
import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

from archives import PLATFORMS, Skip, TOOLS, report, runner_of, wine_environment
import binaries
import platforms

# Prints the module's own document of a model, then checks what a document does not show.
SCRIPT = """
import sys, pagoda
model = pagoda.analyze(sys.argv[1], device="h200", advice=False)
print(model.to_json())
assert model.totals.macs == sum(model.nodes["macs"]), model.totals
assert "<svg" in model._repr_html_()
try:
    pagoda.analyze("missing.onnx")
    sys.exit("missing.onnx: expected pagoda.Error")
except pagoda.Error as error:
    assert "No such file or directory" in str(error), error
"""
REQUEST = ["--device", "h200", "--format", "json"]


def output(command, **options):
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, encoding="utf-8", timeout=900, **options)
    assert done.returncode == 0, f"{' '.join(map(str, command))}: {done.returncode}: {done.stdout}{done.stderr}"
    return done.stdout


def document(text):
    parsed = json.loads(text)
    del parsed["tool"]  # the name of the program
    return parsed


def version_of(python):
    done = subprocess.run([python, "-c", "import sys; print(*sys.version_info[:2])"], capture_output=True, text=True)
    return tuple(map(int, done.stdout.split())) if done.returncode == 0 else None


def pythons_here():
    names = [shutil.which(f"python3.{minor}") for minor in range(9, 20)]
    names += sorted(pathlib.Path.home().glob(".pyenv/versions/3.*/bin/python3"))
    found = {}
    for name in filter(None, names):
        version = version_of(name)
        if version and version not in found:
            found[version] = name
    return found


def accepts(wheel, version):
    """Whether the tags of a wheel's name allow a version of Python."""
    _, _, interpreter, abi, _ = wheel.name.removesuffix(".whl").split("-")
    least = tuple(map(int, re.fullmatch(r"cp(\d)(\d+)", interpreter).groups()))
    return version >= least if abi == "abi3" else version == least


def check_here(wheel, model, expected, pythons):
    fitting = {version: python for version, python in pythons.items() if accepts(wheel, version)}
    if not fitting:
        raise Skip(f"no Python for it; found {', '.join('.'.join(map(str, version)) for version in pythons) or 'none'}")
    for python in fitting.values():
        with tempfile.TemporaryDirectory() as name:
            venv = pathlib.Path(name)
            output([python, "-m", "venv", venv])
            output([venv / "bin/pip", "-q", "--disable-pip-version-check", "install", "--no-index", wheel])
            assert document(output([venv / "bin/python", "-c", SCRIPT, model.name], cwd=model.parent)) == expected, f"{wheel.name} by {python}"
            check_tools(lambda tool: [venv / "bin" / tool], wheel, model, expected)
    return "installed and run by Python " + ", ".join(".".join(map(str, version)) for version in fitting)


def check_roots(wheel, name, row, model, expected, roots):
    """By each fitting Python of a root of the platform."""
    found = [(path, re.fullmatch(r"python(\d)\.(\d+)", path.name)) for path in roots.glob(f"{name}-*/usr/*bin/python3.*")]
    fitting = [path for path, match in found if match and accepts(wheel, (int(match[1]), int(match[2])))]
    if not fitting:
        raise Skip(f"no Python of {name} for it in {roots}; run tests/packages/python_root.py {name} VERSION")
    runner = runner_of(row.system, row.processor)
    for path in fitting:
        check_root(wheel, row, model, expected, path.parents[2], path, runner)
    return f"run by {' and '.join(path.name for path in fitting)} of {name}" + (f" under {runner[0]}" if runner else "")


def check_root(wheel, row, model, expected, root, python, runner):
    """Without pip of the root: this machine's installer asks for the other's tags."""
    with tempfile.TemporaryDirectory() as target:
        output([sys.executable, "-m", "pip", "-q", "--disable-pip-version-check", "install", "--no-index", "--no-deps", "--target", target,
                "--platform", row.wheel, "--only-binary=:all:", "--python-version", python.name.removeprefix("python"), wheel])
        loader = sorted(root.glob("lib/ld-musl-*.so.1"))
        start = [*runner, "-L", root] if runner else loader
        environment = {**os.environ, "PYTHONPATH": target, "PYTHONDONTWRITEBYTECODE": "1"}
        if loader:
            environment["PYTHONHOME"] = str(root / "usr")
        text = output([*start, python, "-c", SCRIPT, model.name], env=environment, cwd=model.parent)
        assert document(text) == expected, f"{wheel.name} by {python}"
        check_tools(lambda tool: [*start, pathlib.Path(target) / "pagoda/bin" / tool], wheel, model, expected)


def check_tools(command, wheel, model, expected, **options):
    """The tools of the wheel, which `command` starts: the document, and that what the library throws reaches them."""
    assert document(output([*command("onnx-estimate"), model.name, *REQUEST], cwd=model.parent, **options)) == expected, wheel.name
    for tool in TOOLS:
        output([*command(tool), "--version"], **options)
    words = [*map(str, command("onnx-estimate")), "missing.onnx"]
    done = subprocess.run(words, capture_output=True, text=True, encoding="utf-8", cwd=model.parent, timeout=900, **options)
    assert done.returncode == 1 and "No such file or directory" in done.stderr, f"{wheel.name}: {words}: {done}"


# Loads a module as Python does, and prints whether it has Python's entry into it.
LOAD = """
#include <windows.h>
#include <stdio.h>
int main(int count, char** words) {
  HMODULE module = LoadLibraryExA(words[1], NULL, LOAD_LIBRARY_SEARCH_DEFAULT_DIRS | LOAD_LIBRARY_SEARCH_DLL_LOAD_DIR);
  if (!module) return printf("error %lu\\n", GetLastError()), 1;
  puts(GetProcAddress(module, "PyInit__core") ? "loaded" : "no PyInit__core");
  return 0;
}
"""


def load_module(folder, runner, environment):
    """By wine's loader, with a DLL that has Python's names and nothing behind them."""
    zig = next(platforms.WORK.glob("zig/lib/python3*/site-packages/ziglang/zig"), None)
    if not zig:
        return "the module was not loaded, for want of zig"
    module, = (folder / "pagoda").glob("_core*.pyd")
    read = binaries.read(module.read_bytes())
    dll, = (library for library in read.libraries if re.fullmatch(r"python3\d*\.dll", library))
    compiler = platforms.zig_folder(zig, "windows-x86_64") / "zig-cc"
    (folder / "python.c").write_text("".join(f"__declspec(dllexport) void* {name}[64];\n" for name in sorted(read.undefined) if re.match(r"_?Py", name)))
    (folder / "load.c").write_text(LOAD)
    output([compiler, "-shared", folder / "python.c", "-o", folder / "pagoda" / dll])
    output([compiler, folder / "load.c", "-o", folder / "load.exe"])
    said = output([*runner, folder / "load.exe", f"Z:{module}".replace("/", "\\")], env=environment)
    assert said.strip() == "loaded", f"{module.name}: {said}"
    return f"the module was loaded there beside a stand-in for {dll}, not run"


def check_windows(wheel, model, expected):
    runner = runner_of("Windows", "AMD64")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = pathlib.Path(name)
        zipfile.ZipFile(wheel).extractall(folder)
        environment = wine_environment(folder)
        environment["WINEPATH"] = f"Z:{folder}/pagoda"  # as pagoda_tools.py extends PATH
        check_tools(lambda tool: [*runner, folder / f"pagoda/bin/{tool}.exe"], wheel, model, expected, env=environment)
        return f"tools run by wine; {load_module(folder, runner, environment)}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("platform", choices=["all", *(name for name, row in PLATFORMS.items() if row.wheel)])
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("tool")
    parser.add_argument("--python", action="append", default=[])
    parser.add_argument("--roots", type=pathlib.Path, default=platforms.WORK / "roots")
    options = parser.parse_args()
    model = options.model.resolve()
    wheels = {}
    for name in PLATFORMS if options.platform == "all" else [options.platform]:
        found = sorted(options.folder.glob(f"*-{PLATFORMS[name].wheel}.whl")) if PLATFORMS[name].wheel else []
        wheels |= {path.name: (name, path.resolve()) for path in found}
    if not wheels:
        print(f"{options.platform}: skipped: no wheel in {options.folder}; run packaging/platforms.py wheels {options.platform} -o {options.folder}")
        return 77
    pythons = {version_of(python): python for python in options.python} or pythons_here()
    # The list of a later Python than the wheels are for has names too many.
    listed = max((version for version in pythons if version <= platforms.LEAST_STABLE), default=None)
    stable = platforms.stable_names(pythons[listed]) if listed else set()
    # All run in the model's folder with its name alone, as the document holds the path.
    expected = document(output([pathlib.Path(options.tool).resolve(), model.name, *REQUEST], cwd=model.parent))

    def check(file):
        name, wheel = wheels[file]
        problems = platforms.check_wheel(wheel, stable)
        assert not problems, f"{file}: {problems}"
        row = PLATFORMS[name]
        size = f"{wheel.stat().st_size} B, "
        if row.system == "Windows":
            return size + check_windows(wheel, model, expected)
        if row.system != "Linux":
            return f"{size}examined; nothing here runs programs of {row.system}"
        if name == "linux-x86_64":
            return size + check_here(wheel, model, expected, pythons)
        return size + check_roots(wheel, name, row, model, expected, options.roots.resolve())

    return report(wheels, check)


if __name__ == "__main__":
    sys.exit(main())
