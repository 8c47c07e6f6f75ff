#!/usr/bin/env python3
"""Walks the list of what the published study and its benchmark tools need (docs/study-checks.md): each row's command runs
as a person types it, and its output is looked at.

    tests/tools/study_walk.py SOURCE TOOLS…        TOOLS: folders of the tools; PAGODA_PYTHON: a Python with the frameworks
    tests/tools/study_walk.py --markdown           the table of docs/study-checks.md

A row needs nothing, or a framework (skipped where it is missing), or a GPU or a Jetson (then its reason stands there, and
what its test puts in place of one). Rows run in one folder, in order: later ones use the files of earlier ones.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

STUDY, CONV, GUIDE, COMPILE, PLATFORM = "The study", "Convolutions", "Engines and frameworks", "Compilers", "Platform"
NO_GPU, NO_JETSON, BY_TEST = "a GPU", "a Jetson", "its test"

# group, what, what it needs ("": the tools), command, a pattern of its output (of what needs a machine that is not here: what stands in for it)
ROWS = [
    (STUDY, "each network at its FLOPs over its measured time, below the roof", "",
     "onnx-estimate $M/resnet50.onnx --sweep batch=1,4,16,32,64 --device orin-agx -o r50.json; "
     "roofline-plot --device orin-agx --estimate r50.json --measured $D/resnet50.csv -o roofline.svg", r'data-kind="runs"'),
    (STUDY, "several models in one chart, each with its colour", "",
     "onnx-estimate $M/bert_large.onnx --sweep batch=1,4,8,16,32 --device orin-agx -o bert.json; roofline-plot --device orin-agx "
     "--estimate r50.json --measured $D/resnet50.csv --estimate bert.json --measured $D/bert_large.csv -o both.svg",
     r"path-name[^>]*>resnet50[\s\S]*path-name[^>]*>bert_large"),
    (STUDY, "measured batches beside their bounds: FLOP/s, B/s, J, FLOP/J, share of the bound", "",
     "onnx-estimate $M/resnet50.onnx --sweep batch=1,4,16,32,64 --device orin-agx --measured $D/resnet50.csv -o batches.csv",
     r"measured_flops_per_second,measured_bytes_per_second,measured_joules,measured_flops_per_joule,bound_share[\s\S]*\nresnet50,64,.*,10\.6"),
    (STUDY, "a run of pagoda-bench without layers, on the chart", "onnxruntime",
     "pagoda-bench run $M/conv_pw_160_960_7x7.onnx --backend ort --batch 1,2 --runs 3 --warmup-runs 1 -o ort; "
     "pagoda-report measured ort --where batch=1 -o run.json; onnx-estimate $M/conv_pw_160_960_7x7.onnx --batch 1 --device h200 -o conv.json; "
     "roofline-plot --device h200 --estimate conv.json --measured run.json -o run.svg", r'class="star measured"'),
    (STUDY, "the published figures and tables, all of them", "", "$S/examples/published_study.sh study; ls study",
     r"batch_study\.html[\s\S]*energy_roofline\.svg[\s\S]*time_roofline\.svg"),
    (STUDY, "constants of energy: of the published rows (8.65 pJ/FLOP, 133 pJ/B, 23.1 W), of a table of your own", "",
     "cat study/energy_constants.txt; pagoda-calibrate --energy batches.csv --device orin-agx", r"8\.65\d* pJ/FLOP[\s\S]*133\.\d pJ/B[\s\S]*23\.\d+ W[\s\S]*\n4 runs"),
    (STUDY, "energy roofline with the arch", "",
     "roofline-plot --device study/orin-agx.json --energy --estimate r50.json --measured $D/resnet50.csv -o energy.svg", r'id="arch"'),
    (STUDY, "the table of GFLOP/s, GB/s, J and GFLOP/J", "", "cat study/energy_table.csv", r"flops_per_second,bytes_per_second,watts,flops_per_joule"),
    (STUDY, "joules of a run, an item and a training step by a device's constants", "",
     "onnx-estimate $M/resnet50.onnx --batch 8 --training --device orin-agx --format json", r'"joules_per_item": ?0\.\d'),
    (STUDY, "several power modes in one chart", "",
     "roofline-plot --device orin-agx:maxn,orin-agx:50w,orin-agx:30w --estimate r50.json -o modes.svg", r"orin-agx:30w"),
    (STUDY, "free clocks", "", "onnx-estimate $M/resnet50.onnx --device orin-agx:gpu=918MHz,mem=2133MHz", r"time +2\.45 ms fused \(floor 2\.19; 3\.42 unfused\).*mode gpu=918mhz,mem=2133mhz"),
    (STUDY, "a sweep over power modes", "", "onnx-estimate $M/resnet50.onnx --batch 32 --device orin-agx --sweep mode=maxn,50w,30w,15w", r"orin-agx:15w"),
    (STUDY, "measured modes: the front of time and energy, the best within 5 %", "", "pagoda-report modes $D/resnet50.csv --slow-down 5%", r"front of batch=16"),
    (STUDY, "watts of a Jetson (INA3221, tegrastats)", NO_JETSON, "pagoda-bench run …", "tests/bench_runner/power_test.cpp reads file trees and lines made by hand"),
    (STUDY, "a training step as a chart", "", "onnx-estimate $M/resnet50.onnx --batch 32 --training --device orin-agx -o step.svg", r">Conv dw ×"),
    (STUDY, "training over batches, by the published rule of three times forward", "",
     "onnx-estimate $M/resnet50.onnx --count pagoda --training --sweep batch=1,32 --format csv", r"\nresnet50,32,.*,787806388224,"),
    (STUDY, "a training step by node: forward, dx, dw, optimizer", "",
     "onnx-estimate $M/resnet50.onnx --batch 32 --training --device orin-agx --format csv", r"forward_seconds,dx_seconds,dw_seconds[\s\S]*,optimizer,"),
    (STUDY, "counters of Nsight Compute alone: a table by kernel, FLOPs of tensor cores, totals of a run, how often kernels are launched", "",
     "pagoda-import $I/ncu_raw.csv --runs 1 --table", r"bfloat16\.tensor[\s\S]*one run[\s\S]*launched in a run"),
    (STUDY, "a profile beside the estimate, node by node and as a whole", "",
     "onnx-estimate $M/resnet50.onnx --batch 1 -o one.json; pagoda-import $I/ort_resnet50_basic.json --estimate one.json --csv nodes.csv",
     r"joined +342 ms, 100 % of the kernels' time[\s\S]*/layer1/layer1\.2/conv3/Conv"),
    (STUDY, "counted FLOPs and bytes beside those of the estimate: ratio and error by node and of the model", BY_TEST,
     "pagoda-import ncu.csv --estimate one.json", "tests/import/join_test.cpp"),
    (STUDY, "LSTM, FCN and single convolutions as files", "",
     "onnx-estimate $M/lstm.onnx; onnx-estimate $M/fcn.onnx; onnx-estimate $M/conv_bottleneck1_24_72_56x56.onnx", r"lstm\.onnx[\s\S]*fcn\.onnx[\s\S]*conv_bottleneck1"),
    (CONV, "ranges of sizes and batches, H×W, exact counts of runs", "",
     "pagoda-bench conv $M/conv_pw_160_960_7x7.onnx --input-size 7,14..28,7x14 --batch 1,2 --algorithm auto,gemm --runs 3 --warmup-runs 1 --overall all.csv",
     r"PASS"),
    (CONV, "one table of all combinations with mean, std, min, max, watts and joules", "", "cat all.csv", r"mean_seconds,std_seconds,min_seconds,max_seconds,.*energy_joules,watts"),
    (CONV, "models with convolutions; algorithms", "", "pagoda-bench conv $M --list-models; pagoda-bench conv --list-algorithms", r"resnet50\.onnx[\s\S]*winograd"),
    (CONV, "algorithms of cuDNN, the heuristic's guess, which layers take which", NO_GPU, "pagoda-bench conv FILE --device cuda --support",
     "compiled here; tests/gpu/conv.sh runs it. cuDNN itself implements no direct convolution"),
    (GUIDE, "after a run: latency, throughput, memory", "onnxruntime", "pagoda-bench run $M/conv_pw_160_960_7x7.onnx --backend ort --batch 1,2 --runs 3 --warmup-runs 1 -o ort",
     r"p50 +p95 +p99 +items/s +memory"),
    (GUIDE, "shape and type of each input in the record", "onnxruntime", "cat ort/results.jsonl", r'"inputs":\[\{"name":"input","shape":\[2,160,7,7\],"type":"float32"'),
    (GUIDE, "latency and throughput over the batch as a chart", "onnxruntime", "pagoda-report table ort -o batch.svg", r"<svg[\s\S]*[tT]hroughput"),
    (GUIDE, "the device chosen by itself", "onnxruntime", "pagoda-bench run $M/conv_pw_160_960_7x7.onnx --backend ort --device auto --runs 2 -o auto; cat auto/results.jsonl", r'"device":"(cpu|cuda)"'),
    (GUIDE, "lists and ranges of batches, H×W", "", "pagoda-bench run resnet50 --backend torch --batch 1,2,4..16 --input-size 224x320 --list -o none", r"batch=16 .*input_size=224x320"),
    (GUIDE, "models of JAX by name", "", "pagoda-bench run --backend jax --list-models", r"resnet50[\s\S]*vit_b_16"),
    (GUIDE, "class folders of ImageNet as inputs", BY_TEST, "pagoda-bench run … --data imagenet/val", "tests/bench_runner/workers_test.py makes such a folder"),
    (GUIDE, "PyTorch's modules join the nodes of an export", BY_TEST, "pagoda-bench run resnet50 --backend torch --layers", "tests/import/join_test.cpp; by hand, all 53 convolutions"),
    (GUIDE, "the runner as a C++ call", "", "cat $S/examples/08_run_a_study.cpp", r"run_study\("),
    (COMPILE, "a traced instance", "torchvision", "pagoda-bench run squeezenet1_1 --backend torch --compile trace --batch 1 --runs 2 --warmup-runs 1 -o trace; cat trace/results.jsonl", r'"status":"ok"'),
    (COMPILE, "graphs, breaks and guards as files", "torchvision",
     "pagoda-bench run squeezenet1_1 --backend torch --compile aot_eager --batch 1 --runs 2 --warmup-runs 1 --set graphs=true -o graphs; cat graphs/*/*-0.txt graphs/*/*-guards.txt",
     r"class GraphModule[\s\S]*Guard Types"),
    (COMPILE, "what the workers print", "",
     "pagoda-bench run --backend cmd --command 'date --debug' --batch 1 --runs 1 --print-subprocess -o printed", r"date: output format[\s\S]*p50"),
    (COMPILE, "lazy XLA; XLA's flags", "torch_xla",
     "pagoda-bench run squeezenet1_1 --backend torch --compile lazy --set xla_flags=--xla_cpu_enable_fast_math=false --batch 1 --runs 2 -o lazy; cat lazy/results.jsonl", r'"trace_seconds":'),
    (COMPILE, "lists of models: torchvision, timm, Hugging Face", "", "pagoda-bench run suite:timm --backend torch --compile eager,inductor --list -o none", r"timm:\S+ torch batch=1 compile=inductor"),
    (COMPILE, "reports of one accelerator, of training or of inference", "onnxruntime", "pagoda-report table ort --where accelerator=cpu,test=eval", r"p50"),
    (COMPILE, "dates on the axis of a history", "onnxruntime", "pagoda-report history ort auto -o history.svg", r">\d{4}-\d\d-\d\d ort<[\s\S]*>\d{4}-\d\d-\d\d auto<"),
    (PLATFORM, "compilers, Python's headers, Triton, a torch.compile that runs", "", "pagoda-doctor", r"Triton[\s\S]*compilers[\s\S]*headers of Python[\s\S]*torch\.compile"),
    (PLATFORM, "a torch.compile that runs, or why it does not", BY_TEST, "pagoda-doctor --need torch.compile", "tests/doctor; minutes, where g++ compiles PyTorch's headers for the first time"),
    (PLATFORM, "a container with everything, and the privileges that counters need", BY_TEST, "docker build -f Containerfile -t pagoda .", "tests/packages/containerfile.py runs the instructions in a bare Debian, then six commands in the image"),
    (PLATFORM, "machine code for V100 and Orin, PTX for chips to come", BY_TEST, "cmake --preset release", "tests/ceilings/cuda_configure.sh; docs/ceilings.md has the compiler for V100"),
    (PLATFORM, "ceilings of a machine, and where they are disturbed", "", "onnx-estimate $M/resnet50.onnx --device $S/data/measured/amd-epyc-zen5-2cpu-vm.json", r"(?i)contended|not converged"),
    (PLATFORM, "ceilings, watts and counters of a GPU", NO_GPU, "tests/gpu/all.sh", "tests/ceilings runs the host's path on a driver without a device, and an interpreter the kernels"),
]


def markdown():
    lines, group = [], ""
    for row in ROWS:
        if row[0] != group:
            group = row[0]
            lines += ["", f"## {group}", "", "| what | command | needs |", "|---|---|---|"]
        command = row[3].replace("|", "\\|")
        note = "" if not row[2] else f"{row[2]}: {row[4]}" if row[2] in (NO_GPU, NO_JETSON, BY_TEST) else row[2]
        lines.append(f"| {row[1]} | `$ {command}` | {note} |")
    return "\n".join(lines).strip() + "\n"


def output_of(command, folder, environment):
    """What it prints, and the last file that it names after -o."""
    run = subprocess.run(["bash", "-e", "-c", command], cwd=folder, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    text, files = run.stdout, re.findall(r" -o (\S+)", command)
    if files and (folder / files[-1]).is_file():
        text += (folder / files[-1]).read_text()
    return run.returncode, text


def walk(source, tools):
    python = os.environ.get("PAGODA_PYTHON", sys.executable)
    environment = {**os.environ, "PATH": os.pathsep.join([*tools, os.environ["PATH"]]), "PAGODA_PYTHON": python, "S": str(source),
                   "M": str(source / "models/skeletons"), "D": str(source / "data/measured/orin-agx"), "I": str(source / "tests/import/data")}
    found = {}
    counts = {"shown": 0, "skipped": 0, "elsewhere": 0, "failed": 0}
    with tempfile.TemporaryDirectory() as name:
        for group, what, needs, command, pattern in ROWS:
            if needs in (NO_GPU, NO_JETSON, BY_TEST):
                counts["elsewhere"] += 1
                continue
            if needs not in found:
                found[needs] = not needs or subprocess.run([python, "-c", f"import {needs}"], stderr=subprocess.DEVNULL).returncode == 0
            if not found[needs]:
                print(f"skipped  {what}: {python} has no {needs}")
                counts["skipped"] += 1
                continue
            start = time.time()
            code, text = output_of(command, pathlib.Path(name), environment)
            is_shown = code == 0 and re.search(pattern, text)
            counts["shown" if is_shown else "failed"] += 1
            print(f"{'shown ' if is_shown else 'FAILED'} {time.time() - start:5.1f} s  {group}: {what}", flush=True)
            if not is_shown:
                print(f"  {command}\n  exit {code}, expected /{pattern}/\n{text[-3000:]}")
    print(", ".join(f"{count} {what}" for what, count in counts.items()))
    return 1 if counts["failed"] else 0


def main():
    if sys.argv[1:] == ["--markdown"]:
        print(markdown(), end="")
        return 0
    if len(sys.argv) < 3:
        print(__doc__)
        return 2
    source = pathlib.Path(sys.argv[1]).resolve()
    page = source / "docs/study-checks.md"
    if markdown() not in page.read_text():
        print(f"FAILED  {page}: its table is not that of {__file__} --markdown; put that there")
        return 1
    return walk(source, [os.path.abspath(folder) for folder in sys.argv[2:]])


if __name__ == "__main__":
    sys.exit(main())
