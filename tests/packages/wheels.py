#!/usr/bin/env python3
"""Installs the wheels that packaging/platforms.py built in a folder, and runs them:

    wheels.py FOLDER MODEL ONNX_ESTIMATE [--python PYTHON]… [--root PLATFORM=FOLDER]…

The document of MODEL from Python and from the wheel's onnx-estimate is the one that ONNX_ESTIMATE, built for this
machine, writes. PYTHON: interpreters of this machine; without any, those of PATH and of pyenv. --root: a root file system
of another platform with a Python in it, such as a Debian made by `debootstrap --foreign --arch=arm64`, whose packages are
unpacked. Of a wheel for Windows only the tools are run, by wine. Each wheel is reported as run or as skipped with what is
missing; exits with 77 if one was skipped."""
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
            assert document(output([venv / "bin/onnx-estimate", model.name, *REQUEST], cwd=model.parent)) == expected, wheel.name
            for tool in TOOLS:
                output([venv / "bin" / tool, "--version"])
    return "installed and run by Python " + ", ".join(".".join(map(str, version)) for version in fitting)


def check_root(wheel, name, row, model, expected, root):
    """By a Python of another root, without its pip: the installer of this machine asks for the other's tags."""
    runner = runner_of(row.system, row.processor)
    found = [(path, re.fullmatch(r"python(\d)\.(\d+)", path.name)) for path in root.glob("usr/*bin/python3.*")]
    found = [(path, (int(match[1]), int(match[2]))) for path, match in found if match]
    fitting = [path for path, version in found if accepts(wheel, version)]
    if not fitting:
        raise Skip(f"{root} has no Python for it; found {', '.join(path.name for path, _ in found) or 'none'}")
    with tempfile.TemporaryDirectory() as target:
        version = fitting[0].name.removeprefix("python")
        output([sys.executable, "-m", "pip", "-q", "--disable-pip-version-check", "install", "--no-index", "--no-deps", "--target", target,
                "--platform", row.wheel, "--only-binary=:all:", "--python-version", version, wheel])
        emulator = [*runner, "-L", root] if runner else []
        loader = [] if runner or not (root / "lib").is_dir() else sorted(root.glob("lib/ld-musl-*.so.1"))[:1]
        environment = {**os.environ, "PYTHONPATH": target, "PYTHONDONTWRITEBYTECODE": "1"}
        text = output([*emulator, *loader, fitting[0], "-c", SCRIPT, model.name], env=environment, cwd=model.parent)
        assert document(text) == expected, f"{wheel.name} by {fitting[0]}"
        own = pathlib.Path(target) / "pagoda/bin/onnx-estimate"
        assert document(output([*emulator, *loader, own, model.name, *REQUEST], cwd=model.parent)) == expected, wheel.name
    return f"run by {fitting[0]}" + (f" under {runner[0]}" if runner else "")


def check_windows(wheel, model, expected):
    runner = runner_of("Windows", "AMD64")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = pathlib.Path(name)
        zipfile.ZipFile(wheel).extractall(folder)
        environment = wine_environment(folder)
        environment["WINEPATH"] = f"Z:{folder}/pagoda"  # as pagoda/_tools.py extends PATH
        text = output([*runner, folder / "pagoda/bin/onnx-estimate.exe", model.name, *REQUEST], env=environment, cwd=model.parent)
        assert document(text) == expected, wheel.name
        for tool in TOOLS:
            output([*runner, folder / f"pagoda/bin/{tool}.exe", "--version"], env=environment)
    return "tools run by wine; the module was not, for want of a Python of Windows"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("tool")
    parser.add_argument("--python", action="append", default=[])
    parser.add_argument("--root", action="append", default=[], help="PLATFORM=FOLDER")
    options = parser.parse_args()
    pythons = {version_of(python): python for python in options.python} or pythons_here()
    roots = {name: pathlib.Path(folder).resolve() for name, folder in (entry.split("=", 1) for entry in options.root)}
    model = options.model.resolve()
    # All run in the model's folder with its name alone, as the document holds the path.
    expected = document(output([pathlib.Path(options.tool).resolve(), model.name, *REQUEST], cwd=model.parent))
    wheels = {wheel.name: wheel.resolve() for wheel in sorted(options.folder.glob("*.whl"))}
    if not wheels:
        print(f"skipped: no wheels in {options.folder}; run packaging/platforms.py wheels -o {options.folder}")
        return 77

    def check(name):
        wheel = wheels[name]
        platform, = [each for each, row in PLATFORMS.items() if row.wheel and name.endswith(f"-{row.wheel}.whl")]
        row = PLATFORMS[platform]
        size = f"{wheel.stat().st_size} B, "
        if row.system == "Windows":
            return size + check_windows(wheel, model, expected)
        if row.system != "Linux":
            raise Skip(f"{size}nothing here runs programs of {row.system}")
        if platform in roots:
            return size + check_root(wheel, platform, row, model, expected, roots[platform])
        if platform == "linux-x86_64":
            return size + check_here(wheel, model, expected, pythons)
        raise Skip(f"{size}no Python of {platform}; give one by --root {platform}=FOLDER")

    return report(wheels, check)


if __name__ == "__main__":
    sys.exit(main())
