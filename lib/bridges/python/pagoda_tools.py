"""Entry points of the command-line tools: each becomes the program that the package `pagoda` carries. Not inside of it, so
that a tool does not wait for the import of the library that the program loads again."""

import os
import sys


def _run(name: str) -> None:
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "pagoda")
    program = os.path.join(folder, "bin", name)
    if os.name == "nt":  # programs find pagoda.dll by PATH
        import subprocess

        path = f"{folder}{os.pathsep}{os.environ.get('PATH', '')}"
        sys.exit(subprocess.call([program + ".exe", *sys.argv[1:]], env={**os.environ, "PATH": path}))
    os.execv(program, [program, *sys.argv[1:]])


def onnx_estimate() -> None:
    _run("onnx-estimate")


def onnx_skeleton() -> None:
    _run("onnx-skeleton")


def roofline_plot() -> None:
    _run("roofline-plot")


def pagoda_import() -> None:
    _run("pagoda-import")


def pagoda_report() -> None:
    _run("pagoda-report")
