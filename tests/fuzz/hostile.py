#!/usr/bin/env python3
"""Runs the tools on files made to exhaust them, and on damaged documents of every kind, and prints what each took.

    python3 tests/fuzz/hostile.py build/release/tools [--damaged 40] [--seed 1]

Each run must end by itself with a documented exit code, within 1 s of processor time and 200 MB of memory; a file that
is refused must be named in the message. Exit code 1 if one does not. Needs nothing but Python.
"""
from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
MOST_SECONDS, MOST_BYTES = 1.0, 200e6
EXIT_CODES = range(6)


# --- The protobuf wire format ---

def varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def field(number: int, content: bytes | str) -> bytes:
    content = content.encode() if isinstance(content, str) else content
    return varint(number << 3 | 2) + varint(len(content)) + content


def number(field_number: int, value: int) -> bytes:
    return varint(field_number << 3) + varint(value)


def value_info(name: str) -> bytes:
    shape = field(1, number(1, 4))
    return field(1, name) + field(2, field(1, number(1, 1) + field(2, shape)))


def model(graph: bytes, more: bytes = b"", opset: int = 18) -> bytes:
    return number(1, 9) + field(7, graph) + field(8, field(1, "") + number(2, opset)) + more


def node(op: str, inputs: list[str], outputs: list[str], more: bytes = b"") -> bytes:
    return b"".join([*(field(1, i) for i in inputs), *(field(2, o) for o in outputs), field(4, op), more])


def one_node(op: str, more: bytes, opset: int = 18) -> bytes:
    return model(field(1, node(op, ["x"], ["y"], more)) + field(11, value_info("x")) + field(12, value_info("y")), b"", opset)


# --- Models that take much for their size ---

def chain_of_functions(count: int) -> bytes:
    """Each function calls the previous one twice: 2^count nodes when inlined."""
    functions = b""
    for i in range(count):
        inner, domain = ("Relu", b"") if i == 0 else (f"F{i - 1}", field(7, "l"))
        body = field(7, node(inner, ["x"], ["t"], domain)) + field(7, node(inner, ["t"], ["y"], domain))
        opsets = field(9, number(2, 18)) + field(9, field(1, "l") + number(2, 1))
        functions += field(25, field(1, f"F{i}") + field(4, "x") + field(5, "y") + body + opsets + field(10, "l"))
    graph = field(1, node(f"F{count - 1}", ["x"], ["y"], field(7, "l"))) + field(11, value_info("x")) + field(12, value_info("y"))
    return model(graph, functions + field(8, field(1, "l") + number(2, 1)))


def attribute(name: str, kind: int, content: bytes) -> bytes:
    return field(5, field(1, name) + content + number(20, kind))


def nested_loops(depth: int) -> bytes:
    """Loops within loops, each walked several times until its sizes settle."""
    body = b""
    for level in range(depth):
        x, y = f"x{level}", f"y{level}"
        inner = field(1, node("Concat", [x, x], [y], attribute("axis", 2, number(3, 0))))
        if body:
            inner = field(1, node("Loop", ["", "", x], [y], attribute("body", 5, field(6, body))))
        condition = field(1, node("Identity", [f"c{level}"], [f"d{level}"]))
        body = (condition + inner + field(11, field(1, f"i{level}")) + field(11, field(1, f"c{level}")) + field(11, field(1, x))
                + field(12, field(1, f"d{level}")) + field(12, field(1, y)))
    return model(field(1, node("Loop", ["", "", "x"], ["y"], attribute("body", 5, field(6, body)))) + field(11, value_info("x"))
                 + field(12, value_info("y")))


def nodes(count: int, rest: bytes = b"") -> bytes:
    return b"".join(field(1, rest + field(2, f"y{i}") + field(4, "Relu")) for i in range(count))


def random_entries(source: random.Random, count: int) -> bytes:
    return b"".join(field(11, source.randbytes(source.randint(0, 30))) for _ in range(count))


def two_million_inputs() -> bytes:
    return model(field(1, node("Relu", ["i0"], ["y"])) + b"".join(field(11, value_info(f"i{i}")) for i in range(2_000_000)))


def models(source: random.Random) -> dict[str, Callable[[], bytes]]:
    million = 1_000_000
    made = {f"chain of {n} functions, each calling the previous one twice": lambda n=n: chain_of_functions(n)
            for n in (24, 40, 64, 128, 400)}
    made |= {
        "an attribute of 20 million packed integers": lambda: one_node("Unsqueeze", attribute("axes", 7, field(8, b"\1" * 20 * million)), 11),
        "an attribute of 20 million single integers": lambda: one_node("Unsqueeze", attribute("axes", 7, b"\x40\1" * 20 * million), 11),
        "an attribute of 20 million reals": lambda: one_node("Upsample", attribute("scales", 6, field(7, b"\0\0\x80\x3f" * 20 * million)), 9),
        "a constant of 20 million integers": lambda: one_node("Constant", attribute("value_ints", 7, field(8, b"\1" * 20 * million))),
        "a constant of 20 million reals": lambda: one_node("Constant", attribute("value_floats", 6, field(7, b"\0\0\x80\x3f" * 20 * million))),
        "an attribute of 20 million empty texts": lambda: one_node("Relu", attribute("texts", 8, b"\x4a\0" * 20 * million)),
        "a node of 10 million empty attributes": lambda: one_node("Relu", b"\x2a\0" * 10 * million),
        "a node of 10 million inputs": lambda: model(field(1, b"\x0a\0" * 10 * million + field(2, "y") + field(4, "Sum"))),
        "2 million inputs": two_million_inputs,
        "10 million empty inputs": lambda: model(b"\x5a\0" * 10 * million),
        "500,000 inputs of random bytes": lambda: model(random_entries(source, 500_000)),
        "10 million empty nodes": lambda: model(b"\x0a\0" * 10 * million),
        "4 million nodes without outputs": lambda: model(b"\x0a\3\x22\1A" * 4 * million),
        "4 million named nodes without outputs": lambda: model(b"\x0a\6\x22\1A\x1a\1n" * 4 * million),
        "a function of 4 million named nodes without outputs": lambda: model(b"", field(25, b"\x3a\6\x22\1A\x1a\1n" * 4 * million)),
        "10 million empty functions": lambda: model(b"", b"\xca\1\0" * 10 * million),
        "200 nodes of 30,000 empty attributes": lambda: model(nodes(200, b"\x2a\0" * 30_000)),
        "200 nodes of 30,000 empty outputs": lambda: model(nodes(200, b"\x12\0" * 30_000)),
        "100 nodes of 65,000 short texts": lambda: model(nodes(100, attribute("texts", 8, b"\x4a\1a" * 65_000))),
        "900,000 initializers of 60,000 nodes": lambda: model(nodes(60_000) + b"".join(field(5, field(8, f"w{i}")) for i in range(900_000))),
        "500,000 sparse initializers of 60,000 nodes": lambda: model(nodes(60_000) + b"".join(field(15, field(1, field(8, f"w{i}"))) for i in range(500_000))),
        "200 bodies of 60,000 empty initializers": lambda: model(b"".join(field(1, node("If", ["c"], [f"y{i}"]) + field(5, field(1, "then_branch") + field(6, b"\x2a\0" * 60_000))) for i in range(200))),
        "200 functions of 30,000 empty default attributes": lambda: model(b"", b"".join(field(25, field(1, f"F{i}") + b"\x5a\0" * 30_000) for i in range(200))),
        "1,000 functions of 1,000 opset imports": lambda: model(b"", b"".join(field(25, field(1, f"F{i}") + b"".join(field(9, field(1, f"d{j}")) for j in range(1000))) for i in range(1000))),
        "a function of 10 million empty nodes": lambda: model(b"", field(25, b"\x3a\0" * 10 * million)),
        "a function of 10 million inputs": lambda: model(b"", field(25, b"\x22\0" * 10 * million)),
        "10 million empty initializers": lambda: model(b"\x2a\0" * 10 * million),
        "10 million opset imports": lambda: model(b"", b"\x42\0" * 10 * million),
        "10 million metadata entries": lambda: model(b"", b"\x72\0" * 10 * million),
        "a shape of 5 million dims": lambda: model(field(11, field(1, "x") + field(2, field(1, number(1, 1) + field(2, b"\x0a\2\x08\2" * 5 * million))))),
        "40 loops within loops": lambda: nested_loops(40),
        "a million levels": lambda: b"\x3a\xff\xff\xff\x7f" * million,
        "20 MB of random bytes": lambda: source.randbytes(20 * million),
    }
    return made


# --- Texts that take much for their size ---

def texts() -> dict[str, Callable[[], bytes]]:
    million = 1_000_000
    return {
        "10 MB of open brackets": lambda: b"[" * 10 * million,
        "3 million empty lists": lambda: b"[" + b"[]," * 3 * million + b"1]",
        "a million members": lambda: b"{" + b",".join(b'"m%d":1' % i for i in range(million)) + b"}",
        "a million equal members": lambda: b"{" + b",".join([b'"m":1'] * million) + b"}",
        "a number of 5 million digits": lambda: b'{"schema": ' + b"9" * 5 * million + b"}",
        "a text of 20 MB": lambda: b'{"schema": "' + b"x" * 20 * million + b'"}',
        "20 MB of zero bytes": lambda: b"\0" * 20 * million,
        "5 million empty lines": lambda: b"\n" * 5 * million,
        "a line of 5 million cells": lambda: b"," * 5 * million,
        "a quoted cell without an end": lambda: b'a,b\n"' + b"x" * 5 * million,
    }


# --- Tools and the documents that they read ---

@dataclass
class Reader:
    document: str             # what is damaged
    seed: str | None          # a file of the repository; None: made by onnx-estimate
    command: list[str]        # FILE stands for the damaged file, MODEL, ESTIMATE and OUT for others


READERS = [
    Reader("model", "models/skeletons/linear_64_128.onnx", ["onnx-estimate", "FILE", "--format", "json"]),
    Reader("model", "models/skeletons/lstm.onnx", ["onnx-estimate", "FILE", "--device", "h100-sxm", "--predict"]),
    Reader("device", "data/devices/h200.json", ["onnx-estimate", "MODEL", "--device", "FILE"]),
    Reader("device", "data/devices/orin-agx.json", ["roofline-plot", "--device", "FILE", "-o", "OUT.svg"]),
    Reader("ceilings", "data/measured/amd-epyc-zen5-2cpu-vm.json", ["roofline-plot", "--ceilings", "FILE", "-o", "OUT.html"]),
    Reader("ceilings", "data/measured/amd-epyc-zen5-2cpu-vm.json", ["onnx-estimate", "MODEL", "--device", "FILE"]),
    Reader("estimate", None, ["roofline-plot", "--device", "h200", "--estimate", "FILE", "-o", "OUT.svg"]),
    Reader("estimate", None, ["pagoda-import", "PROFILE", "--estimate", "FILE"]),
    Reader("estimate", None, ["onnx-estimate", "MODEL", "--compare", "FILE"]),
    Reader("measured", "MEASURED", ["roofline-plot", "--device", "h200", "--measured", "FILE", "-o", "OUT.json"]),
    Reader("measured", "MEASURED", ["onnx-estimate", "MODEL", "--device", "h200", "--measured", "FILE"]),
    Reader("calibration", "data/calibration/rtx-3090-amp-nchw.json",
           ["onnx-estimate", "MODEL", "--predict", "--device", "rtx-3090", "--calibration", "FILE"]),
    Reader("runs as CSV", "data/measured/orin-agx/lstm.csv", ["pagoda-report", "modes", "FILE"]),
    Reader("power modes", "tests/import/data/jetson.csv", ["pagoda-import", "FILE"]),
    *(Reader("profile", f"tests/import/data/{name}", ["pagoda-import", "FILE", "-o", "OUT.json"])
      for name in ("ort_resnet50_all.json", "kineto_gpu.json", "ncu_raw.csv", "nsys_gpu_trace.csv", "rocprof_compute.csv",
                   "rocprofv3_trace.csv", "tensorrt_profile.json")),
    Reader("results", "RESULTS", ["pagoda-report", "table", "FILE"]),
    Reader("study", "STUDY", ["pagoda-bench", "run", "FILE", "--list"]),
]
RESULT = '{"schema": "pagoda.result/1", "key": "0", "status": "ok", "config": {"model": "m", "batch": 1}}\n'
STUDY = "name = 's'\nmodel = ['resnet18', 'a.onnx']\nbackend = 'torch'\ndevice = ['cpu', 'cuda:1']\nbatch = [1, 2, 4]\n"


def damages(source: random.Random, seed: bytes, count: int) -> list[bytes]:
    """The file cut, with bytes changed, removed and repeated, and with numbers and texts replaced by odd ones."""
    odd = [b"1e400", b"-1", b"99999999999999999999", b"null", b"[]", b"{}", b'""', b"true", b'"\\u0000"', b"0", b"nan"]
    made = [b"", seed[:1], seed[:-1]]
    while len(made) < count and seed:
        at, length = source.randrange(len(seed)), source.choice([1, 1, 2, 8, 64, 1024])
        kind = source.randrange(6)
        if kind == 0:
            made.append(seed[:at])
        elif kind == 1:
            made.append(seed[:at] + source.randbytes(length) + seed[at + length:])
        elif kind == 2:
            made.append(seed[:at] + seed[at + length:])
        elif kind == 3:
            made.append(seed[:at + length] + seed[at:])
        else:
            ends = [i for i in range(at, min(len(seed), at + 400)) if seed[i] in b",:;\n}]"]
            if len(ends) >= 2:
                made.append(seed[:ends[0] + 1] + source.choice(odd) + seed[ends[1]:])
    return made


# --- Running ---

@dataclass
class Outcome:
    code: int
    seconds: float
    bytes: int
    message: str


def run(command: list[str], folder: Path) -> Outcome:
    with open(folder / "stderr", "w+b") as errors:
        # Forked, not sharing memory until exec: the peak of this process would count as the tool's.
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors, stdin=subprocess.DEVNULL, cwd=folder,
                                   preexec_fn=lambda: None)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        errors.seek(0)
        lines = errors.read().decode(errors="replace").strip().splitlines()
    return Outcome(process.returncode, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024, lines[-1] if lines else "")


def fault(outcome: Outcome) -> str:
    if outcome.code not in EXIT_CODES:
        return f"ends with {outcome.code}"
    if outcome.seconds > MOST_SECONDS:
        return f"takes {outcome.seconds:.2f} s"
    if outcome.bytes > MOST_BYTES:
        return f"takes {outcome.bytes / 1e6:.0f} MB"
    return "gives no reason" if outcome.code != 0 and not outcome.message else ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tools", type=Path, help="folder of built tools")
    parser.add_argument("--damaged", type=int, default=40, help="damaged files for each row of readers (default: 40)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="where to keep files that show a fault")
    options = parser.parse_args()
    source = random.Random(options.seed)
    faults = 0

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        places = {"MODEL": str(SOURCE / "models/skeletons/linear_64_128.onnx"),
                  "PROFILE": str(SOURCE / "tests/import/data/ort_resnet50_all.json"),
                  "ESTIMATE": str(folder / "estimate.json"), "MEASURED": str(folder / "measured.json"),
                  "RESULTS": str(folder / "results.jsonl"), "STUDY": str(folder / "study.toml")}

        def tool(command: list[str]) -> list[str]:
            found = next((p for p in (options.tools / command[0], *options.tools.glob(f"*/{command[0]}")) if p.is_file()), None)
            if found is None:
                sys.exit(f"{options.tools}: no {command[0]}; build the tools first")
            return [str(found.resolve()), *(places.get(a, a.replace("OUT", str(folder / "out"))) for a in command[1:])]

        def judge(what: str, make: Callable[[], bytes], suffix: str, command: list[str]) -> Outcome:
            nonlocal faults
            file = folder / f"hostile{suffix}"
            file.write_bytes(make())
            places["FILE"] = str(file)
            outcome = run(tool(command), folder)
            outcome.message = outcome.message.replace(str(file), "FILE")
            if wrong := fault(outcome):
                faults += 1
                print(f"FAULT  {what}: {wrong}: {outcome.message[:160]}", flush=True)
                if options.keep:
                    options.keep.mkdir(exist_ok=True)
                    (options.keep / f"fault{faults}").write_bytes(file.read_bytes())
            return outcome

        for made in (["onnx-estimate", "MODEL", "--format", "json", "-o", "ESTIMATE"], ["pagoda-import", "PROFILE", "-o", "MEASURED"]):
            if run(tool(made), folder).code != 0:
                sys.exit(f"{' '.join(made)} failed")
        (folder / "results.jsonl").write_text(RESULT)
        (folder / "study.toml").write_text(STUDY)

        print(f"{'file':62} {'code':>4} {'seconds':>8} {'MB':>5}  message")
        for what, make in models(source).items():
            outcome = judge(what, make, ".onnx", ["onnx-estimate", "FILE"])
            print(f"{what:62} {outcome.code:4} {outcome.seconds:8.2f} {outcome.bytes / 1e6:5.0f}  {outcome.message[:120]}", flush=True)
        for what, make in texts().items():
            for command in (["onnx-estimate", "MODEL", "--device", "FILE"], ["pagoda-import", "FILE"],
                            ["roofline-plot", "--device", "h200", "--estimate", "FILE", "-o", "OUT.svg"]):
                outcome = judge(f"{what}, {command[0]}", make, ".json", command)
                print(f"{what + ', ' + command[0]:62} {outcome.code:4} {outcome.seconds:8.2f} {outcome.bytes / 1e6:5.0f}  "
                      f"{outcome.message[:120]}", flush=True)
        for reader in READERS:
            seed = Path(places.get(reader.seed or "ESTIMATE", SOURCE / (reader.seed or "")))
            outcomes = [judge(f"damaged {reader.document}, {reader.command[0]}", lambda c=content: c, seed.suffix, reader.command)
                        for content in damages(source, seed.read_bytes(), options.damaged)]
            what = f"{len(outcomes)} damaged: {reader.document}, {reader.command[0]}"
            print(f"{what:62} {sum(o.code != 0 for o in outcomes):4} {max(o.seconds for o in outcomes):8.2f} "
                  f"{max(o.bytes for o in outcomes) / 1e6:5.0f}  refused, slowest, largest", flush=True)
    print(f"{faults} faults; the limits are {MOST_SECONDS:g} s of processor time and {MOST_BYTES / 1e6:.0f} MB")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
