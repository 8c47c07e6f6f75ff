"""Runs examples/published_study.sh and compares its tables with the numbers published with Pagoda (arXiv 2509.20189 and
the notebooks of github.com/dream-lab/pagoda at 34dbe0f), which are listed below as published."""
import csv
import os
import pathlib
import re
import subprocess
import sys
import tempfile

script, *tools = sys.argv[1:]
failures = []


def check(what, got, expected, part=1e-9):
    if abs(float(got) - expected) > part * abs(expected):
        failures.append(f"{what}: got {got}, published {expected}")


def rows(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


# FLOPs and bytes are W0 + batch * W, Q0 + batch * Q: roofline_batch_size_expt.ipynb, batch 1 and 32 of every network.
LAWS = {
    "mobilenet_v3_large": (0, 449137560, 21805088, 81171584),
    "resnet50": (0, 8206316544, 102011648, 234659744),
    "yolov8n": (0, 8839855200, 12584704, 526761600),
    "lstm": (8486912, 120516608, 34360320, 962016),
    "bert_large": (0, 79136298142, 1213726720, 1387284352),
}
INTENSITY_1024 = {"mobilenet_v3_large": 5.5317, "resnet50": 34.9563, "yolov8n": 16.7811, "lstm": 121.0611, "bert_large": 56.9953}
# GFLOP and MB of a training step at batch 32.
TRAINING = {
    "mobilenet_v3_large": (43.12, 7858), "resnet50": (787.81, 22833), "yolov8n": (848.63, 50607), "lstm": (11.60, 195.4),
    "bert_large": (7597.1, 136820),
}
# batch: GFLOP/s, GB/s, J, GFLOP/J measured at MAXN, to the printed digits.
MEASURED = {
    "mobilenet_v3_large": {1: (25, 5.7, 0.376, 1.2), 4: (91, 17.5, 0.523, 3.4), 16: (256, 47, 1.08, 6.6), 32: (266, 48.5, 2.06, 7.0), 64: (282, 51, 4.03, 7.1)},
    "resnet50": {1: (534, 22, 0.414, 19.8), 4: (1703, 54, 0.798, 41.1), 16: (2547, 75, 2.76, 47.6), 64: (2741, 79, 10.6, 49.5)},
    "yolov8n": {1: (493, 30, 0.461, 19), 4: (1165, 70, 1.05, 34), 16: (1316, 79, 4.57, 31), 32: (1330, 79, 9.40, 30), 64: (1311, 78, 19.0, 30)},
    "lstm": {1: (105, 29, 0.036, 3.6), 4: (322, 25, 0.046, 11), 16: (1028, 26, 0.056, 35), 32: (1603, 27, 0.086, 45), 64: (2295, 29, 0.139, 55)},
    "bert_large": {1: (1279, 42, 3.52, 22.5), 4: (1373, 29, 14.6, 21.7), 8: (1426, 28, 28.2, 22.4), 16: (1376, 25, 58.4, 21.7), 32: (1320, 24, 119, 21.2)},
}


def check_batches(out):
    for name, (w0, w, q0, q) in LAWS.items():
        table = rows(out / f"batches_{name}.csv")
        if [int(row["batch"]) for row in table] != [2**i for i in range(11)]:
            failures.append(f"{name}: not the eleven batches")
        for row in table:
            batch = int(row["batch"])
            # bert's constants match the rules to within 158 FLOPs and 1920 bytes, which depend on the exporter.
            part = 1e-5 if name == "bert_large" else 0
            check(f"{name} {batch} FLOPs", row["flops"], w0 + batch * w, part)
            check(f"{name} {batch} bytes", row["bytes"], q0 + batch * q, part)
        check(f"{name} 1024 FLOP/B", table[-1]["ai"], INTENSITY_1024[name], 2e-5)


def check_measured(out):
    energy = {row["run"]: row for row in rows(out / "energy_table.csv")}
    if len(energy) != 24:
        failures.append(f"{len(energy)} rows with joules, published 24 good ones")
    for name, batches in MEASURED.items():
        file = "lstm_positions8" if name == "lstm" else name
        for batch, (gflops, gbytes, joules, efficiency) in batches.items():
            row = energy[f"{file} batch={batch}"]
            check(f"{name} {batch} GFLOP/s", float(row["flops_per_second"]) / 1e9, gflops, 0.02)
            check(f"{name} {batch} GB/s", float(row["bytes_per_second"]) / 1e9, gbytes, 0.03)
            check(f"{name} {batch} J", row["joules"], joules, 0.02)
            check(f"{name} {batch} GFLOP/J", float(row["flops_per_joule"]) / 1e9, efficiency, 0.05)
    # As published: 30 to 40 % too low for BERT-large.
    for run, row in energy.items():
        if run.startswith("bert_large") and not -0.405 < float(row["error"]) < -0.295:
            failures.append(f"{run}: the fit's error is {row['error']}")
    doubtful = [row for row in rows(out / "measured_resnet50.csv") if row["batch"] == "32"][0]
    if doubtful["measured_joules"] or not doubtful["measured_seconds"]:
        failures.append("the bad power sample of ResNet-50 at batch 32 was taken")


def check_constants(out):
    row = rows(out / "energy_constants.csv")[0]
    check("pJ/FLOP", float(row["joules_per_flop"]) * 1e12, 8.67, 0.005)
    check("pJ/B", float(row["joules_per_byte"]) * 1e12, 133.6, 0.005)
    check("W", row["constant_watts"], 23.1, 0.005)
    check("mean error", row["mean_error"], 0.165, 0.005)
    text = (out / "energy_constants.txt").read_text()
    for part in ("mean error 16.4", "time balance     26.0 FLOP/B", "\n  race to idle:"):
        if part not in text:
            failures.append(f"energy_constants.txt does not say \"{part}\"")


def check_training(out):
    for name, (gflop, mbytes) in TRAINING.items():
        row = rows(out / f"training_{name}.csv")[0]
        check(f"{name} step GFLOP", float(row["flops"]) / 1e9, gflop, 1e-3)
        check(f"{name} step MB", float(row["bytes"]) / 1e6, mbytes, 1e-3)
    nodes = rows(out / "training_nodes_resnet50.csv")
    if nodes[-1]["name"] != "optimizer" or not any(float(row["dw_seconds"] or 0) > 0 for row in nodes):
        failures.append("training_nodes_resnet50.csv: no optimizer or no time of dw")


def check_pictures(out):
    for name in ("time_roofline.svg", "batch_study.svg", "energy_roofline.svg", "training_resnet50.svg", "batch_study.html"):
        text = (out / name).read_text()
        if "<svg" not in text:
            failures.append(f"{name} is not a picture")
    # A model's name stands beside the last of its runs, at about its height: farther off, it would seem to be another's.
    named = re.findall(r'<g class="path" data-kind="runs"[^>]*>\n<path d="M[^"]* ([-0-9.]+)".*?</g>\n<text [^>]*y="([-0-9.]+)" class="halo path-name"[^>]*>([^<]+)<',
                       (out / "batch_study.svg").read_text(), re.S)
    if len(named) != len(LAWS):
        failures.append(f"batch_study.svg: names beside runs are {[name for _, _, name in named]}")
    for star, text, name in named:
        if abs(float(text) - 4 - float(star)) > 17:
            failures.append(f"batch_study.svg: {name} is at {text}, its last run at {star}")
    if 'id="arch"' not in (out / "energy_roofline.svg").read_text():
        failures.append("energy_roofline.svg has no arch")
    if ">Conv dw ×" not in (out / "training_resnet50.svg").read_text():
        failures.append("training_resnet50.svg shows no backward")
    if "orin-agx:15w" not in (out / "modes_resnet50.txt").read_text():
        failures.append("modes_resnet50.txt has no row of 15w")


def check_modes(out):
    """A made table: 1.3 GHz at 50 W, 1.2 GHz 4 % slower at 42 W, 0.6 GHz twice as slow at 24 W: 1, 0.8736 and 0.96."""
    row = rows(out / "chosen_resnet50.csv")
    chosen = [line for line in row if line["chosen"] == "yes"]
    if len(row) != 3 or len(chosen) != 1 or "1.2 GHz" not in chosen[0]["mode"]:
        failures.append(f"chosen mode: {chosen}")
    else:
        check("saved energy", chosen[0]["saving"], 1 - 1.04 * 42 / 50, 1e-9)
    if [line["front"] for line in row] != ["yes", "yes", "no"]:
        failures.append("front: " + str([line["front"] for line in row]))


def check_estimates(out, environment):
    """--estimate takes one file each time, so that a table after it is a table; estimates among the files are estimates."""
    table = pathlib.Path(script).parent.parent / "data/measured/orin-agx/resnet50.csv"
    estimate, other = out / "estimate_resnet50.json", out / "estimate_yolov8n.json"
    texts = []
    for arguments in ([table, "--estimate", estimate], ["--estimate", estimate, table], [estimate, table],
                      ["--estimate", other, estimate, table]):
        run = subprocess.run(["pagoda-calibrate", "--energy", *map(str, arguments)], env=environment, text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        texts.append(run.stdout)
    if "4 runs: energy = " not in texts[0] or len(set(texts)) != 1:
        failures.append("pagoda-calibrate --energy by the order of its files: " + "\n".join(sorted(set(texts))))
    run = subprocess.run(["pagoda-calibrate", "--energy", str(estimate)], env=environment, text=True,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if run.returncode != 1 or "name a table of runs" not in run.stdout:
        failures.append(f"an estimate without runs: exit {run.returncode}, {run.stdout}")


with tempfile.TemporaryDirectory() as folder:
    modes = pathlib.Path(folder) / "modes"
    modes.mkdir()
    (modes / "resnet50.csv").write_text(
        "cores,cpu,gpu,mem,observed_time(ms/batch),bs,observed_power(W)\n"
        "12,2201600,1300000000,3199000000,100,32,50\n12,2201600,1200000000,3199000000,104,32,42\n"
        "12,2201600,600000000,3199000000,200,32,24\n")
    path = os.pathsep.join(sorted({str(pathlib.Path(tool).parent) for tool in tools})) + os.pathsep + os.environ["PATH"]
    out = pathlib.Path(folder) / "out"
    environment = {**os.environ, "PATH": path, "MODES": str(modes)}
    run = subprocess.run([script, str(out)], env=environment, text=True,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if run.returncode:
        sys.exit(f"{script}: exit {run.returncode}\n{run.stdout}")
    for part in (check_batches, check_measured, check_constants, check_training, check_pictures, check_modes):
        part(out)
    check_estimates(out, environment)
if failures:
    sys.exit("\n".join(failures))
