#!/usr/bin/env python3
"""Runs the steps of action.yml and the hooks of .pre-commit-hooks.yaml as their runners do: ci_test.py ONNX_ESTIMATE SOURCE.

A step's `run` goes through bash with its `env`, whose ${{ … }} come from made-up contexts; a fake `gh` records its
requests. Exits 77, "skipped", without PyYAML or git.
"""
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

try:
    import yaml
except ImportError:
    print("skipped: no PyYAML (Debian package python3-yaml)")
    sys.exit(77)
if not shutil.which("git"):
    print("skipped: no git")
    sys.exit(77)

TOOL, SOURCE = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
MODELS = SOURCE / "models/skeletons"
GH = r"""#!/usr/bin/env python3
import json, os, pathlib, sys
state = pathlib.Path(os.environ["GH_STATE"])
words = sys.argv[1:]
if "--paginate" in words:
    comments = json.loads(state.read_text()) if state.exists() else []
    assert words[words.index("--jq") + 1] == '.[] | select(.body | startswith("<!-- pagoda -->")) | .id', words
    print(*[i for i, body in enumerate(comments, 1) if body.startswith("<!-- pagoda -->")], sep="\n")
    sys.exit()
assert os.environ["GH_TOKEN"] == "secret"
comments = json.loads(state.read_text()) if state.exists() else []
body = pathlib.Path(words[words.index("-F") + 1].removeprefix("body=@")).read_text()
method, path = words[words.index("--method") + 1], words[words.index("--method") + 2]
if method == "POST":
    assert path == "repos/me/models/issues/7/comments", path
    comments.append(body)
else:
    assert method == "PATCH" and path.startswith("repos/me/models/issues/comments/"), words
    comments[int(path.rsplit("/", 1)[1]) - 1] = body
state.write_text(json.dumps(comments))
"""


def git(*words, folder):
    base = ["git", "-c", "user.name=t", "-c", "user.email=t@t", "-c", "init.defaultBranch=main"]
    return subprocess.run([*base, *words], cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


class Action:
    """The composite action of a checkout, `source`, on a repository."""

    def __init__(self, folder, repository, source=SOURCE):
        self.definition = yaml.safe_load((source / "action.yml").read_text())
        self.folder, self.repository, self.source = folder, repository, source
        (folder / "bin").mkdir()
        (folder / "bin/gh").write_text(GH)
        (folder / "bin/gh").chmod(0o755)

    def value(self, expression, inputs, outputs):
        if expression.startswith("inputs."):
            return inputs[expression.removeprefix("inputs.")]
        if found := re.fullmatch(r"steps\.(\w+)\.outputs\.(\w+)", expression):
            return outputs[found[1]][found[2]]
        return {"github.action_path": str(self.source), "github.repository": "me/models", "github.token": "secret",
                "github.event.pull_request.number": "7"}[expression]

    def run(self, **given):
        inputs = {}
        for name, field in self.definition["inputs"].items():
            assert name in given or "default" in field or not field.get("required"), f"{name} is required"
            inputs[name] = given.pop(name, field.get("default", ""))
        assert not given, f"no inputs: {given}"
        outputs = {}
        expand = lambda text: re.sub(r"\$\{\{ *(.*?) *\}\}", lambda m: self.value(m[1], inputs, outputs), str(text))
        inputs = {name: expand(text) for name, text in inputs.items()}
        summary = self.folder / "summary.md"
        summary.write_text("")
        said = ""
        for step in self.definition["runs"]["steps"]:
            assert step["shell"] == "bash", "a composite step names its shell"
            assert "${{" not in step["run"], "inputs reach scripts by their environment alone, or they could inject code"
            if condition := step.get("if"):
                assert condition == "inputs.comment == 'true' && inputs.base != '' && github.event.pull_request.number"
                if inputs["comment"] != "true" or not inputs["base"]:
                    continue
            output = self.folder / "output.txt"
            output.write_text("")
            environment = {**os.environ, "PATH": f"{self.folder}/bin:{os.environ['PATH']}",
                           "GITHUB_OUTPUT": str(output), "GITHUB_STEP_SUMMARY": str(summary),
                           "RUNNER_TEMP": str(self.folder), "GH_STATE": str(self.folder / "comments.json"),
                           **{name: expand(text) for name, text in step.get("env", {}).items()}}
            done = subprocess.run(["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
                                  cwd=self.repository, env=environment, capture_output=True, text=True)
            said += done.stdout + done.stderr
            if done.returncode != 0:
                return done.returncode, summary.read_text(), said
            if "id" in step:
                outputs[step["id"]] = dict(line.split("=", 1) for line in output.read_text().splitlines())
        report = self.definition["outputs"]["report"]["value"]
        assert pathlib.Path(expand(report)).read_text() == summary.read_text()
        return 0, summary.read_text(), said

    def comments(self):
        state = self.folder / "comments.json"
        return json.loads(state.read_text()) if state.exists() else []


def expect(condition, what):
    if not condition:
        raise AssertionError(what)


def check_action(folder):
    repository = folder / "models"
    repository.mkdir()
    git("init", "-q", folder=repository)
    shutil.copy(MODELS / "resnet50.onnx", repository / "net.onnx")
    shutil.copy(MODELS / "alexnet.onnx", repository / "same.onnx")
    git("add", ".", folder=repository)
    git("commit", "-qm", "models", folder=repository)
    base = git("rev-parse", "HEAD", folder=repository)
    shutil.copy(MODELS / "resnet50_fp16.onnx", repository / "net.onnx")
    shutil.copy(MODELS / "vgg16.onnx", repository / "new model.onnx")
    action = Action(folder, repository)

    code, summary, said = action.run(models="*.onnx", arguments="--device h200 --batch 1", budgets="--max-flops 40GFLOP", tool=TOOL)
    expect(code == 0, said)
    for model in ("net.onnx", "same.onnx", "new model.onnx"):
        expect(f"## `{model}`" in summary, summary)
    expect("flops: fits 40GFLOP" in summary and "time" in summary, summary)
    expect(action.comments() == [], "without a base there is no comment")

    # What a pull request changes: work, bytes, memory, time. The second push must rewrite the comment of the first.
    for _ in range(2):
        code, summary, said = action.run(models="*.onnx\n", arguments="--device h200 --batch 1", base=base, tool=TOOL)
        expect(code == 0, said)
        expect(len(action.comments()) == 1 and action.comments()[0] == summary, action.comments())
    before, after, saved = (float(x) for x in re.search(
        r"\| bytes \| ([\d.]+) MB \| ([\d.]+) MB \| -([\d.]+) MB \|", summary).groups())
    expect(abs(after / before - 0.5) < 0.01 and abs(before - after - saved) < 1.5, summary)
    for total in ("macs", "param bytes", "activation peak", "time ≥", "memory of a run"):
        expect(f"| {total} |" in summary, f"no {total} in {summary}")
    expect("## `same.onnx`\n\nunchanged" in summary, summary)
    expect(f"new: not in `{base}`" in summary, summary)

    code, summary, said = action.run(models="net.onnx", arguments="--batch 1", budgets="--max-flops 1GFLOP", base=base, tool=TOOL)
    expect(code == 3, f"{code}: {said}")
    expect("flops: exceeds 1GFLOP" in summary and "| macs |" in summary, summary)
    expect(action.comments()[0] == summary, "a job over budget comments, too")
    count = len(action.comments())
    code, summary, said = action.run(models="net.onnx", base="nope", tool=TOOL)
    expect(code == 1 and "nope: is no commit of this clone" in said, f"an unknown base is no reason to call models new: {code} {said}")

    code, summary, _ = action.run(models="net.onnx", base=base, comment="false", tool=TOOL)
    expect(code == 0 and len(action.comments()) == count and action.comments()[0] != summary, "comment: false")
    expect(action.run(models="none.onnx", tool=TOOL)[0] == 1, "a model that is not there fails")
    expect(action.run(models="net.onnx", arguments="--nonsense", tool=TOOL)[0] == 2, "a wrong option fails")
    # Text in inputs must not run as code.
    code, _, _ = action.run(models="net.onnx; touch hacked", arguments="--device 'h200'", tool=TOOL)
    expect(code == 1 and not (repository / "hacked").exists(), "an input was run")
    print("the action's steps: budgets, comparison, comment")


def check_hooks(folder):
    hooks = yaml.safe_load((SOURCE / ".pre-commit-hooks.yaml").read_text())
    expect([hook["id"] for hook in hooks] == ["onnx-budget", "onnx-budget-system"], hooks)
    environment = {**os.environ, "PATH": f"{TOOL.parent}:{os.environ['PATH']}"}
    for hook in hooks:
        for missing in {"id", "name", "language", "entry", "files"} - hook.keys():
            raise AssertionError(f"{hook['id']} has no {missing}")
        expect(re.search(hook["files"], "models/a.onnx") and not re.search(hook["files"], "a.onnx.txt"), hook["files"])

        def run(*words):
            return subprocess.run([*shlex.split(hook["entry"]), *map(str, words)], env=environment, cwd=folder,
                                  capture_output=True, text=True)
        shutil.copy(MODELS / "resnet50.onnx", folder / "with space.onnx")
        within = run("--batch", "1", "--max-flops", "10GFLOP", "with space.onnx", MODELS / "alexnet.onnx")
        expect(within.returncode == 0, within.stderr)
        over = run("--batch", "1", "--max-flops", "2GFLOP", "with space.onnx", MODELS / "alexnet.onnx")
        expect(over.returncode == 3 and "flops: exceeds 2GFLOP" in over.stderr, over)
        expect(run("--strict", "missing.onnx", MODELS / "alexnet.onnx").returncode == 1, "a missing model passes")
    print("the hooks: within and over budget")


def main():
    for check in (check_action, check_hooks):
        with tempfile.TemporaryDirectory() as name:
            check(pathlib.Path(name))


if __name__ == "__main__":
    main()
