#!/usr/bin/env python3
"""The action without a tool, and pre-commit's hook onnx-budget: both build onnx-estimate from a checkout of these sources.
build_test.py ONNX_ESTIMATE SOURCE FOLDER: FOLDER takes the checkout, beside the environment with pre-commit."""
import os
import pathlib
import shutil
import subprocess
import sys

from ci_test import MODELS, SOURCE, TOOL, Action, expect, git

FOLDER = pathlib.Path(sys.argv[3])
# Neither the action nor the hook say how to compile; scikit-build-core reads this. Compiled as fast as can be, once for both.
os.environ |= {"SKBUILD_CMAKE_BUILD_TYPE": "Debug", "SKBUILD_CMAKE_DEFINE": "CMAKE_CXX_FLAGS_DEBUG=-O0", "CCACHE_BASEDIR": str(FOLDER)}


def fresh(name):
    shutil.rmtree(FOLDER / name, ignore_errors=True)
    (FOLDER / name).mkdir()
    return FOLDER / name


def checkout():
    """The sources as they are now, committed."""
    copy = fresh("checkout")
    for name in subprocess.run(["git", "ls-files", "-z"], cwd=SOURCE, check=True, capture_output=True, text=True).stdout.split("\0"):
        if name and (SOURCE / name).exists():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(SOURCE / name, copy / name, follow_symlinks=False)
    git("init", "-q", folder=copy)
    git("add", "-f", ".", folder=copy)
    git("commit", "-qm", "sources", folder=copy)
    return copy


def models(name):
    repository = fresh(name)
    git("init", "-q", folder=repository)
    for model in ("resnet50", "alexnet"):
        shutil.copy(MODELS / f"{model}.onnx", repository)
    git("add", ".", folder=repository)
    git("commit", "-qm", "models", folder=repository)
    return repository


def check_action(source):
    repository = models("models")
    action = Action(fresh("runner"), repository, source)
    given = dict(models="*.onnx", arguments="--device h200 --batch 1", budgets="--max-flops 10GFLOP")
    code, built, said = action.run(tool="", **given)
    expect(code == 0 and (FOLDER / "runner/pagoda/bin/onnx-estimate").exists(), said)
    code, expected, said = action.run(tool=TOOL, **given)
    expect(code == 0 and built == expected, f"{built}\nexpected {expected}\n{said}")
    print("the action built onnx-estimate, and its report is that of the given one")


def check_hook(source):
    repository = models("hooked")
    config = repository / ".pre-commit-config.yaml"
    revision = git("rev-parse", "HEAD", folder=source)
    environment = {**os.environ, "PRE_COMMIT_HOME": str(fresh("pre-commit"))}

    def run(most):
        config.write_text(f"repos:\n  - repo: file://{source}\n    rev: {revision}\n    hooks:\n"
                          f"      - id: onnx-budget\n        args: [--batch, '1', --max-flops, {most}]\n")
        git("add", config.name, folder=repository)
        done = subprocess.run([sys.executable, "-m", "pre_commit", "run", "--all-files", "--color", "never"], cwd=repository,
                              env=environment, capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr

    code, said = run("10GFLOP")
    expect(code == 0 and "Passed" in said, said)
    code, said = run("2GFLOP")
    expect(code == 1 and "exit code: 3" in said and "flops: exceeds 2GFLOP" in said, said)
    print("pre-commit built the hook's onnx-estimate: within and over budget")


def main():
    source = checkout()
    check_action(source)
    shutil.rmtree(source / "build")  # of pip: the hook's clone builds its own
    check_hook(source)


if __name__ == "__main__":
    main()
