#!/usr/bin/env python3
"""Runs the archives of packaging/platforms.py in a folder: those of another processor by qemu, those of Windows by wine.

    foreign.py FOLDER MODEL [ONNX_ESTIMATE]

Every tool answers; the document of MODEL is the one that ONNX_ESTIMATE, built for this machine, writes. Archives that
nothing here can run are named. Exits with 77 if none was run."""
import os
import pathlib
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile

TOOLS = ["onnx-estimate", "onnx-skeleton", "pagoda-import", "pagoda-report", "roofline-plot"]
SKIPPED = 77


def runner_of(name):
    """The words before a program of the archive, or None with what is missing."""
    if "windows" in name:
        wine = shutil.which("wine64") or shutil.which("wine") or "/usr/lib/wine/wine64"
        return ([wine], "") if os.path.exists(wine) else (None, "wine; install wine64")
    processor = "aarch64" if "aarch64" in name else "x86_64"
    if processor == platform.machine():
        return [], ""
    for program in (f"qemu-{processor}-static", f"qemu-{processor}"):
        if shutil.which(program):
            return [program], ""
    return None, f"qemu-{processor}; install qemu-user-static"


def check_archive(path, model, own):
    runner, missing = runner_of(path.name)
    if runner is None:
        print(f"{path.name}: not run without {missing}")
        return False
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        if path.suffix == ".zip":
            zipfile.ZipFile(path).extractall(folder)
        else:
            with tarfile.open(path) as archive:
                archive.extractall(folder)
        (folder / "wine").mkdir()
        environment = {**os.environ, "WINEDEBUG": "-all", "WINEPREFIX": str(folder / "wine"), "WINEDLLOVERRIDES": "mscoree,mshtml="}

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
    print(f"{path.name}: {path.stat().st_size} B, run by {' '.join(runner) or 'this machine'}")
    return True


def main():
    folder, model, *own = sys.argv[1:]
    archives = [path for path in sorted(pathlib.Path(folder).glob("pagoda-*")) if path.suffix in (".gz", ".zip")]
    if not archives:
        print(f"skipped: no archives in {folder}; run packaging/platforms.py archives -o {folder}")
        return SKIPPED
    own = str(pathlib.Path(own[0]).resolve()) if own else ""
    done = [check_archive(path, pathlib.Path(model), own) for path in archives]
    return 0 if any(done) else SKIPPED


if __name__ == "__main__":
    sys.exit(main())
