#!/usr/bin/env python3
"""packaging/platforms.py without its builds: the table, and what its checks find in good and bad packages. What it reads
in programs is compared with objdump. platforms_test.py"""
import io
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "packaging"))
import binaries
import platforms


def own_programs():
    return [path for path in map(pathlib.Path, ["/bin/ls", "/bin/bash", sys.executable]) if path.exists()]


def wheel(folder, tag="cp312-abi3-manylinux_2_28_x86_64", inner=None, module="_core.abi3.so", tools=platforms.TOOLS, content=b""):
    path = pathlib.Path(folder) / f"pagoda_onnx-0.1.0-{tag}.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("pagoda_onnx-0.1.0.dist-info/WHEEL", f"Wheel-Version: 1.0\nTag: {inner or tag}\n")
        archive.writestr(f"pagoda/{module}", content)
        for tool in tools:
            archive.writestr(f"pagoda/bin/{tool}", content)
    return path


class Platforms(unittest.TestCase):
    def test_every_row_names_one_machine(self):
        for name, row in platforms.PLATFORMS.items():
            machine = row.target.split("-")[0]
            self.assertIn(row.processor, {"x86_64": ("x86_64", "AMD64"), "aarch64": ("aarch64", "arm64")}[machine], name)
            self.assertTrue(row.wheel or row.archive, name)
            if not row.wheel:
                continue
            self.assertTrue(row.wheel.endswith(row.processor.lower()), name)
            glibc = re.search(r"gnu\.([0-9.]+)$", row.target)
            if glibc:
                self.assertIn(f"manylinux_{glibc[1].replace('.', '_')}_", row.wheel)
            self.assertTrue(any(row.wheel.startswith(system) for system in platforms.SYSTEM_LIBRARIES), name)

    def test_libraries_and_versions_are_those_that_objdump_prints(self):
        if not shutil.which("objdump"):
            self.skipTest("no objdump; install binutils")
        for path in own_programs():
            found = binaries.read(path.read_bytes())
            text = subprocess.run(["objdump", "-p", path], capture_output=True, text=True, check=True).stdout
            self.assertEqual(found.libraries, re.findall(r"NEEDED +(\S+)", text), path)
            searched = re.findall(r"R(?:UN)?PATH +(\S+)", text)
            self.assertEqual(found.search, [folder for entry in searched for folder in entry.split(":")], path)
            versions = [tuple(map(int, version.split("."))) for version in re.findall(r"GLIBC_([0-9.]+)", text)]
            self.assertEqual(found.glibc, max(versions, default=()), path)
            names = subprocess.run(["objdump", "-T", path], capture_output=True, text=True, check=True).stdout
            undefined = {line.split()[-1] for line in names.splitlines() if "*UND*" in line}
            self.assertEqual(found.undefined, undefined, path)
            self.assertFalse(found.defined & undefined, path)
            self.assertTrue(path.name != "bash" or "shell_version_string" in found.defined, path)

    def test_a_good_wheel_has_no_problem(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(platforms.check_wheel(wheel(folder), set()), [])

    def test_each_fault_of_a_wheel_is_named(self):
        ls = pathlib.Path("/bin/ls").read_bytes()  # needs libselinux
        with tempfile.TemporaryDirectory() as folder:
            for arguments, said in [
                    (dict(tag="cp312-abi3-linux_x86_64"), "which say what a system has"),
                    (dict(tag="cp311-none-manylinux_2_28_x86_64", module="_core.cpython-311-x86_64-linux-gnu.so"), "expected abi3 or cp311"),
                    (dict(inner="cp312-abi3-linux_x86_64"), "its name says"),
                    (dict(module="_core.cpython-312-x86_64-linux-gnu.so"), "expected .abi3"),
                    (dict(tools=platforms.TOOLS[1:]), "tools: found"),
                    (dict(content=ls), "which not every system of"),
                    (dict(content=ls, tag="cp312-abi3-manylinux_2_28_aarch64"), "is for x86_64"),
                    (dict(content=ls, tag="cp312-abi3-manylinux_2_2_x86_64"), "needs glibc")]:
                problems = platforms.check_wheel(wheel(folder, **arguments), set())
                self.assertTrue(any(said in problem for problem in problems), (arguments.keys(), said, problems))

    def test_names_outside_of_the_stable_abi_are_found(self):
        with tempfile.TemporaryDirectory() as folder:
            ls = pathlib.Path("/bin/ls").read_bytes()
            # A name that is the end of another one does not stand by itself in the file.
            name = next(name for name in sorted(binaries.read(ls).undefined) if len(name) > 2 and b"\0" + name.encode() + b"\0" in ls)
            content = ls.replace(b"\0" + name.encode() + b"\0", b"\0" + (b"Py" + b"x" * 99)[:len(name)] + b"\0")
            problems = platforms.check_wheel(wheel(folder, content=content), {"PyLong_FromLong"})
            self.assertTrue(any("not in the stable ABI" in problem for problem in problems), problems)

    def test_an_unknown_platform_is_refused_with_the_known_ones(self):
        done = subprocess.run([sys.executable, ROOT / "packaging/platforms.py", "archives", "beos"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("expected one of musl-x86_64", done.stderr)


if __name__ == "__main__":
    unittest.main()
