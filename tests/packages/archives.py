#!/usr/bin/env python3
"""Runs an archive that packaging/platforms.py built in a folder: one of another processor by qemu, one of Windows by wine.

    archives.py FOLDER PLATFORM|all MODEL [ONNX_ESTIMATE]

Every tool answers; the document of MODEL is the one that ONNX_ESTIMATE, built for this machine, writes. Each archive is
reported as run or as skipped with what is missing; exits with 77 if one was skipped."""
import os
import pathlib
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "packaging"))
from platforms import PLATFORMS, TOOLS

SKIPPED = 77


class Skip(Exception):
    """Why something was not run."""


def runner_of(system, processor):
    """The words before a program of another system or processor."""
    if system == "Windows":
        wine = shutil.which("wine64") or shutil.which("wine") or "/usr/lib/wine/wine64"
        if not os.path.exists(wine):
            raise Skip("no wine; install wine64")
        return [wine]
    if system != platform.system():
        raise Skip(f"nothing here runs programs of {system}")
    if processor == platform.machine():
        return []
    for program in (f"qemu-{processor}-static", f"qemu-{processor}"):
        if shutil.which(program):
            return [program]
    raise Skip(f"no qemu-{processor}; install qemu-user-static")


def wine_environment(folder):
    (folder / "wine").mkdir()
    return {**os.environ, "WINEDEBUG": "-all", "WINEPREFIX": str(folder / "wine"), "WINEDLLOVERRIDES": "mscoree,mshtml="}


def check_archive(folder, name, model, own):
    row = PLATFORMS[name]
    found = [path for path in folder.glob(f"pagoda-*-{row.system}-{row.processor}.*".lower()) if path.suffix in (".gz", ".zip")]
    if not found:
        raise Skip(f"no archive in {folder}; run packaging/platforms.py archives {name} -o {folder}")
    path, = found
    runner = runner_of(row.system, row.processor)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as work:
        folder = pathlib.Path(work)
        if path.suffix == ".zip":
            zipfile.ZipFile(path).extractall(folder)
        else:
            with tarfile.open(path) as archive:
                archive.extractall(folder)
        environment = wine_environment(folder)

        def run(tool, *words, code=0):
            file, = [*folder.glob(f"*/bin/{tool}"), *folder.glob(f"*/bin/{tool}.exe")]
            file.chmod(0o755)
            done = subprocess.run([*runner, file, *words], capture_output=True, cwd=folder, env=environment, timeout=600)
            assert done.returncode == code, f"{path.name}: {tool} {words}: {done.returncode}, expected {code}: {done.stderr.decode()}"
            return done

        for tool in TOOLS:
            said = run(tool, "--version").stdout
            assert said.endswith(b"\n") and b"\r" not in said, said
        # A name that no code page of one byte a letter has.
        shutil.copy(model, folder / "модель.onnx")
        request = ["модель.onnx", "--device", "h100-sxm", "--predict", "--format", "json"]
        document = run("onnx-estimate", *request).stdout
        if own:
            expected = subprocess.run([own, *request], capture_output=True, check=True, cwd=folder).stdout
            assert document == expected, f"{path.name}: its document differs from that of {own}"
        run("onnx-estimate", *request, "-o", "estimate.json")
        assert (folder / "estimate.json").read_bytes() == document
        run("roofline-plot", "--device", "h100-sxm", "--estimate", "estimate.json", "-o", "page.html")
        assert b"Content-Security-Policy" in (folder / "page.html").read_bytes()
        run("onnx-skeleton", "модель.onnx", "-o", "skeleton.onnx")
        assert run("onnx-estimate", "skeleton.onnx", "--format", "json").stdout
        run("onnx-estimate", "модель.onnx", "--annotate", "notes.onnx")
        assert (folder / "notes.onnx").stat().st_size > (folder / "модель.onnx").stat().st_size
        missing_file = run("onnx-estimate", "нет.onnx", code=1).stderr.decode()
        assert "нет.onnx" in missing_file and "No such file or directory" in missing_file, missing_file
    return f"{path.name}, {path.stat().st_size} B, run by {' '.join(runner) or 'this machine'}"


def report(names, check):
    """Prints what each check(name) says; the exit code."""
    skipped = 0
    for name in names:
        try:
            print(f"{name}: {check(name)}", flush=True)
        except Skip as reason:
            print(f"{name}: skipped: {reason}", flush=True)
            skipped += 1
    return SKIPPED if skipped else 0


def main():
    folder, name, model, *own = sys.argv[1:]
    names = [each for each, row in PLATFORMS.items() if row.archive] if name == "all" else [name]
    own = str(pathlib.Path(own[0]).resolve()) if own else ""
    return report(names, lambda each: check_archive(pathlib.Path(folder).resolve(), each, pathlib.Path(model).resolve(), own))


if __name__ == "__main__":
    sys.exit(main())
