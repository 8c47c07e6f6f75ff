#!/usr/bin/env python3
"""Tests the documents: links lead somewhere, commands run, and outputs match the tools'.

    docs_test.py links|commands|site SOURCE_DIR [FOLDERS_OF_TOOLS…]

Commands come from ```sh and ```console blocks, and from table cells that begin with the name of a tool.
They run in one folder per page, with the tools on PATH, the repository's data/, examples/, models/ and lib/, and a
few models (MODELS). A command that ends in "# exit N" must exit with N, every other one with 0. A console block
shows what the tool prints; a line "…" stands for any lines, "…" within a line for any text. A block preceded by the
line `<!-- not run: REASON -->` is not run, but counted with its reason.
"""
import collections
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path()
MODELS = {"model.onnx": "resnet50", "bert.onnx": "bert_base", "decoder.onnx": "mistral_7b", "old.onnx": "resnet50",
          "new.onnx": "resnet50_qdq_int8"}
TOOL = re.compile(r"(onnx-estimate|onnx-skeleton|roofline-plot|pagoda-[a-z]+|ert-ceilings) ")
PLACEHOLDER = re.compile(r"…|\b[A-Z][A-Z_]{2,}\b(?!\.)")
NOT_RUN = re.compile(r"<!-- not run: (.+) -->")


def pages():
    top = [SOURCE / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")]
    return top + sorted((SOURCE / "docs").glob("*.md"))


def all_markdown():
    folders = ("data", "models", "tests", "tools")
    return pages() + sorted(path for folder in folders for path in (SOURCE / folder).rglob("*.md"))


def without_code(text):
    return re.sub(r"```.*?```", "", text, flags=re.S)


def anchors(path):
    """The anchors that GitHub derives from headings."""
    found = set()
    for heading in re.findall(r"^#+ (.+)$", without_code(path.read_text()), flags=re.M):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
        found.add(re.sub(r"[^\w\- ]", "", plain.lower()).strip().replace(" ", "-"))
    return found


class Links(unittest.TestCase):
    def test_every_relative_link_leads_to_a_file_and_a_heading(self):
        broken = []
        for page in all_markdown():
            text = re.sub(r"`[^`\n]*`", "", without_code(page.read_text()))
            for target in re.findall(r"\]\(([^)\s]+)\)", text):
                if re.match(r"[a-z]+:", target):
                    continue
                name, _, anchor = target.partition("#")
                file = (page.parent / name) if name else page
                if not file.exists():
                    broken.append(f"{page.relative_to(SOURCE)}: {target}: no such file")
                elif anchor and anchor not in anchors(file):
                    broken.append(f"{page.relative_to(SOURCE)}: {target}: no such heading")
        self.assertEqual(broken, [])

    def test_every_page_is_in_the_index_and_in_the_site(self):
        index = (SOURCE / "docs/index.md").read_text()
        site = (SOURCE / "mkdocs.yml").read_text()
        for page in (SOURCE / "docs").glob("*.md"):
            if page.name != "index.md":
                self.assertIn(f"({page.name})", index, page.name)
            self.assertIn(page.name, site, page.name)

    def test_quoted_rows_are_those_of_the_sources(self):
        page = SOURCE / "CONTRIBUTING.md"
        linked = re.findall(r"\]\(([\w/]+\.cpp)\)", page.read_text())
        sources = {line.strip() for file in linked for line in (SOURCE / file).read_text().split("\n")}
        quoted = [line.strip() for kind, lines, _, _ in blocks(page) if kind == "cpp" for line in lines]
        self.assertGreater(len(quoted), 5)
        self.assertEqual([line for line in quoted if line not in sources], [])

    def test_the_readme_fits_120_lines(self):
        self.assertLessEqual(len((SOURCE / "README.md").read_text().splitlines()), 120)


def blocks(page):
    """(kind, lines, reason for not running or None, line number) of each fenced block."""
    lines = page.read_text().split("\n")
    at = 0
    while at < len(lines):
        fence = re.match(r"```(\w*)$", lines[at])
        if not fence:
            at += 1
            continue
        reason = None
        if at and (mark := NOT_RUN.fullmatch(lines[at - 1].strip())):
            reason = mark.group(1)
        start = at + 1
        at = start
        while lines[at] != "```":
            at += 1
        yield fence.group(1), lines[start:at], reason, start
        at += 1


def commands(lines):
    """Shell commands, with continued lines joined."""
    command = ""
    for line in lines:
        command += line
        if line.endswith("\\"):
            command += "\n"
            continue
        if command.strip() and not command.lstrip().startswith("#"):
            yield command
        command = ""


def cells(page):
    """Commands in the tables of a page."""
    for number, line in enumerate(page.read_text().split("\n"), 1):
        if line.startswith("|"):
            for code in re.findall(r"`([^`]+)`", line.replace("\\|", "|")):
                if TOOL.match(code):
                    yield code, number


def pattern(expected):
    """A regular expression for the output that a console block shows."""
    parts = []
    for line in expected:
        parts.append("(?:.*\n)*?" if line.strip() == "…" else
                     ".*".join(re.escape(part) for part in line.rstrip().split("…")) + " *\n")
    return "".join(parts)


class Commands(unittest.TestCase):
    folders = []
    counts = collections.Counter()

    def workspace(self, folder):
        for name in ("models", "data", "examples", "lib", "tests", "docs", "packaging"):
            os.symlink(SOURCE / name, folder / name)
        for name, skeleton in MODELS.items():
            os.symlink(SOURCE / f"models/skeletons/{skeleton}.onnx", folder / name)
        subprocess.run(["onnx-estimate", "bert.onnx", "-o", "bert.json"], cwd=folder, env=self.env, check=True,
                       capture_output=True)

    def setUp(self):
        path = os.pathsep.join([*map(str, self.folders), os.environ["PATH"]])
        self.env = {**os.environ, "PATH": path, "LC_ALL": "C.UTF-8", "COLUMNS": "200"}

    def execute(self, command, folder, where):
        expected = re.search(r"# exit (\d)(?: or (\d), as measured)?\s*$", command)
        codes = {str(code) for code in expected.groups() if code} if expected else {"0"}
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", command], cwd=folder, env=self.env, text=True,
                              capture_output=True, timeout=300, stdin=subprocess.DEVNULL)
        with self.subTest(where):
            self.assertIn(str(done.returncode), codes, f"{where}: {command}\n{done.stderr}{done.stdout[-2000:]}")
        return done.stdout

    def run_page(self, page, folder):
        name = page.name
        for kind, lines, reason, number in blocks(page):
            if kind not in ("sh", "console"):
                continue
            if reason:
                self.counts[f"not run: {reason}"] += sum(1 for _ in commands(lines))
                continue
            if kind == "sh":
                for command in commands(lines):
                    self.execute(command, folder, f"{name}:{number}")
                    self.counts["run"] += 1
                continue
            shown = [at for at, line in enumerate(lines) if line.startswith("$ ")] + [len(lines)]
            for begin, end in zip(shown, shown[1:]):
                printed = self.execute(lines[begin][2:], folder, f"{name}:{number}")
                expected = lines[begin + 1:end]
                while expected and not expected[-1].strip():
                    expected.pop()
                with self.subTest(f"{name}:{number}"):
                    self.assertRegex(printed, re.compile(r"\A" + pattern(expected) + r"\s*\Z"),
                                     f"{name}:{number}: {lines[begin]}")
                self.counts["run and compared"] += 1
        for command, number in cells(page):
            if PLACEHOLDER.search(command.split("=")[0] if "=" not in command else command):
                self.counts["named with a placeholder"] += 1
                continue
            self.execute(command, folder, f"{name}:{number}")
            self.counts["run"] += 1

    def test_every_command_runs(self):
        for page in pages():
            with tempfile.TemporaryDirectory() as folder:
                self.workspace(pathlib.Path(folder))
                self.run_page(page, pathlib.Path(folder))
        print("commands:", ", ".join(f"{count} {what}" for what, count in sorted(self.counts.items())))

    def test_every_example_of_help_runs(self):
        help_text = subprocess.run(["onnx-estimate", "--help"], env=self.env, check=True, capture_output=True,
                                   text=True).stdout
        examples = re.findall(r"^\w.*:  (onnx-estimate .+)$", help_text, flags=re.M)
        self.assertGreater(len(examples), 10)
        with tempfile.TemporaryDirectory() as folder:
            self.workspace(pathlib.Path(folder))
            for example in examples:
                self.execute(example, pathlib.Path(folder), "--help")

    def test_the_reference_of_operators_is_that_of_the_tool(self):
        made = subprocess.run([sys.executable, SOURCE / "tools/docs/operators.py"], env=self.env, check=True,
                              capture_output=True, text=True).stdout
        self.assertEqual(made, (SOURCE / "docs/operators.md").read_text(),
                         "docs/operators.md is not that of the tool: tools/docs/operators.py > docs/operators.md")


class Site(unittest.TestCase):
    def test_the_site_and_the_api_build_without_a_warning(self):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([SOURCE / "tools/docs/build.sh", folder], text=True, capture_output=True)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            for name in ("index.html", "operators/index.html", "api/index.html"):
                self.assertTrue((pathlib.Path(folder) / name).exists(), name)


def main():
    global SOURCE
    what, SOURCE = sys.argv[1], pathlib.Path(sys.argv[2])
    Commands.folders = sys.argv[3:]
    if what == "site" and not (shutil.which("mkdocs") and shutil.which("doxygen")):
        print("skipped: the site needs mkdocs and doxygen (apt-get install mkdocs doxygen)")
        sys.exit(77)
    case = {"links": Links, "commands": Commands, "site": Site}[what]
    suite = unittest.defaultTestLoader.loadTestsFromTestCase(case)
    sys.exit(0 if unittest.TextTestRunner(verbosity=1).run(suite).wasSuccessful() else 1)


if __name__ == "__main__":
    main()
