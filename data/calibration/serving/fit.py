#!/usr/bin/env python3
"""Fits llm-serving.json to kernels that others measured, and judges it on a device left out.

    venv/bin/pip install numpy scipy
    venv/bin/python data/calibration/serving/fit.py            # writes llm-serving.json beside this file
    venv/bin/python data/calibration/serving/fit.py --import DIR  # makes the CSV files from DIR/aic_*.csv first

The formulas are those of lib/core/predict/serving_time.cpp; a test evaluates the C++ on the same rows. Rates are those of
data/devices, so that coefficients have no unit: parts of a peak or bandwidth, and clock cycles.
"""
import argparse
import csv
import json
import pathlib

import numpy as np
from scipy.optimize import least_squares

HERE = pathlib.Path(__file__).resolve().parent
DEVICES = {"a100_sxm": "a100-80gb", "h100_sxm": "h100-sxm"}
SOURCE = ("ai-dynamo/aiconfigurator, commit 095f58a (Apache-2.0): kernels of TensorRT-LLM 1.0 and 1.3, vLLM 0.14 and 0.24, "
          "SGLang 0.5 and NCCL 2.27 and 2.29 on A100 SXM and H100 SXM")
# Kernels follow the instructions of a chip: mma.sync fed by cp.async up to Ada and on Blackwell's boards (FlashAttention-2
# in vLLM), wgmma or tcgen05 fed by TMA on Hopper and Blackwell's SXM modules (FlashAttention-3 on 9.0). A device takes
# the coefficients of the measured one of its kind.
KINDS_OF_CHIPS = {"a100-80gb": ["7.0", "7.5", "8.0", "8.6", "8.7", "8.9", "12.0", "12.1"],
                  "h100-sxm": ["9.0", "10.0", "10.3", "11.0"]}
# Power follows the process: what the measured device of a process draws for its products holds for other chips made in it
# (TSMC's 4 nm: Ada, Hopper, Blackwell), and is the least for older ones (8 and 12 nm beside A100's 7).
KINDS_OF_PROCESS = {"a100-80gb": ["7.0", "7.5", "8.0", "8.6", "8.7"], "h100-sxm": ["8.9", "9.0", "10.0", "10.3", "12.0", "12.1"]}
TILES = ((256, 128), (64, 0))  # 0: rows of the operand rounded up to 8, at most 64
LEAST_SIDE = 512  # of the weights of a decoder, split over 8 devices
SPLITS = (1, 2, 4, 8)
LEAST_DEPTH = 256  # of one part of a product whose contraction is split


def rows_of(name):
    with open(HERE / (name + ".csv")) as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def import_rows(directory):
    """The rows that are fitted, without what is the same in all."""
    def read(name):
        with open(directory / f"aic_{name}.csv") as file:
            return list(csv.DictReader(file))

    def write(name, columns, rows):
        with open(HERE / (name + ".csv"), "w") as file:
            file.write(f"# {SOURCE}\n" + ",".join(columns) + "\n")
            for row in sorted(rows):
                file.write(",".join(str(value) for value in row) + "\n")

    def base(row):
        return DEVICES[row["system"]], row["framework"]

    def seconds(row):
        return f"{float(row['latency_ms']) * 1e-3:.6g}"

    write("products", ["device", "engine", "precision", "m", "n", "k", "seconds"],
          [(*base(r), {"bfloat16": "bfloat16", "fp8": "float8"}[r["gemm_dtype"]], int(r["m"]), int(r["n"]), int(r["k"]),
            seconds(r)) for r in read("gemm")
           if r["gemm_dtype"] == "bfloat16" or (r["gemm_dtype"] == "fp8" and r["framework"] == "vllm")])
    columns = ["device", "engine", "batch", "tokens", "past", "heads", "kv_heads", "size", "window", "seconds"]

    def attention(r, tokens, past):
        return (*base(r), int(r["batch_size"]), tokens, past, int(r["num_heads"]), int(r["num_key_value_heads"]),
                int(r["head_dim"]), int(float(r["window_size"] or 0)), seconds(r))

    def plain(r):
        return r["attn_dtype"] == "bfloat16" == r["kv_cache_dtype"] and r["framework"] == "vllm"

    write("prefill_attention", columns,
          [attention(r, int(r["isl"]), 0) for r in read("attention_context") if plain(r)])
    write("decode_attention", columns,
          [attention(r, 1, int(r["step"])) for r in read("attention_generation") if plain(r)])
    write("mixtures", ["device", "engine", "tokens", "hidden", "inner", "experts", "k", "groups", "seconds"],
          [(*base(r), int(r["num_tokens"]), int(r["hidden_size"]), int(r["inter_size"]) // int(r["moe_tp_size"]),
            int(r["num_experts"]), int(r["topk"]), int(r["moe_ep_size"]), seconds(r))
           for r in read("moe") if r["moe_dtype"] == "bfloat16"])
    # Messages are counted in elements of two bytes. TensorRT-LLM's middle sizes run unfused: left out. NCCL's rings are
    # what engines run between more than two devices on PCIe.
    write("all_reduces", ["device", "engine", "devices", "bytes", "seconds"],
          [(*base(r), int(r["num_gpus"]), 2 * int(r["message_size"]), seconds(r)) for r in read("allreduce")
           if not r["kernel_source"].endswith("_eager")
           and not (r["framework"] == "trtllm" and 2e5 < int(r["message_size"]) < 2e7)])
    write("ring_all_reduces", ["device", "devices", "bytes", "seconds"],
          [(DEVICES[r["system"]], int(r["num_gpus"]), 2 * int(r["message_size"]), seconds(r)) for r in read("nccl")
           if r["nccl_dtype"] == "half" and r["op_name"] == "all_reduce"])
    write("collectives", ["device", "kind", "devices", "bytes", "seconds"],
          [(DEVICES[r["system"]], {"all_gather": "all_gather", "alltoall": "all_to_all"}[r["op_name"]],
            int(r["num_gpus"]), 2 * int(r["message_size"]), seconds(r)) for r in read("nccl")
           if r["nccl_dtype"] == "half" and r["op_name"] in ("all_gather", "alltoall")])


def rates(device):
    spec = json.loads((HERE.parents[1] / "devices" / (device + ".json")).read_text())
    def peak(precision):
        found = [p["flops_per_second"]["value"] for p in spec["peaks"]
                 if p["precision"] == precision and p["unit"] == "tensor"]
        return max(found) if found else float("nan")
    clock = spec.get("tensor_clock", spec["boost_clock"])["value"]
    nvlink = next(link for link in spec["links"] if link["name"] == "nvlink")
    return {"bfloat16": peak("bfloat16"), "float8": peak("float8"),
            "bandwidth": spec["levels"][0]["bytes_per_second"]["value"], "units": spec["units"]["value"],
            "clock": spec["boost_clock"]["value"], "watts": spec["power"]["value"],
            "flops_per_cycle": peak("bfloat16") / clock,
            "link": nvlink["bytes_per_second"]["value"], "sums_in_switch": "sums_in_switch" in nvlink}


RATES = {device: rates(device) for device in DEVICES.values()}


def column(rows, name):
    return np.array([float(row[name]) for row in rows])


def rate(rows, name):
    return np.array([RATES[row["device"]][name] for row in rows])


def longer(a, b, norm):
    most = np.maximum(a, b)
    return most * ((a / most) ** norm + (b / most) ** norm) ** (1 / norm)


def fed(c, f):
    """Over the peak's time: feeding a unit takes cycles that do not depend on how much it multiplies in one."""
    return 1 + c["feed"] * f["per_cycle"]


class Products:
    """A wave of tiles takes its multiplications, and cycles to fill and to drain. The ramp: units drift apart while they
    stream, by the square root of how long (a random walk)."""
    start = dict(launch_cycles=5200, feed=6e-5, bandwidth=.88, small=.8, norm=3, tile_cycles=1000, ramp_cycles=1000)

    def prepare(self, rows):
        m, n, k = (column(rows, c) for c in "mnk")
        width = np.array([{"bfloat16": 2, "float8": 1}[r["precision"]] for r in rows])
        peak = np.array([RATES[r["device"]][r["precision"]] for r in rows])
        units = rate(rows, "units")
        ways = []
        for a, b in TILES:
            for x, y in ((a, b), (b, a)) if b else ((8 * np.ceil(np.minimum(m, 64) / 8), a),):
                for parts in SPLITS:
                    waves = np.ceil(np.ceil(m / x) * np.ceil(n / y) * parts / units)
                    time = waves * units * x * y * 2 * (k / parts) / peak
                    ways.append((b == 0, np.where((parts == 1) | (k / parts >= LEAST_DEPTH), time, np.inf), waves))
        return {"ways": ways, "per_cycle": peak / units / rate(rows, "clock"), "cycle": 1 / rate(rows, "clock"),
                "memory": (width * (m * k + n * k) + 2 * m * n) / rate(rows, "bandwidth")}

    def seconds(self, c, f):
        each = fed(c, f)
        work = np.min([time * each / (c["small"] if is_small else 1) + waves * c["tile_cycles"] * f["cycle"]
                       for is_small, time, waves in f["ways"]], 0)
        memory = f["memory"] / c["bandwidth"] + np.sqrt(c["ramp_cycles"] * f["cycle"] * f["memory"])
        return c["launch_cycles"] * f["cycle"] + longer(work, memory, c["norm"])


def visible(tokens, past, window):
    """Pairs of a query and a key before it, within a window where there is one."""
    total = tokens + past
    reach = np.where((window > 0) & (window < total), window, total)
    first = np.clip(reach - past, 0, tokens)  # queries that see all before them
    return first * past + first * (first + 1) / 2 + (tokens - first) * reach, reach


class Attention:
    start = dict(launch_cycles=20000, feed=3e-4, bandwidth=.6, norm=2)

    def prepare(self, rows):
        b, s, p, h, g, d, w = (column(rows, c) for c in
                               ("batch", "tokens", "past", "heads", "kv_heads", "size", "window"))
        pairs, reach = visible(s, p, w)
        keys = np.minimum(s + p, reach + s - 1)
        units = rate(rows, "units")
        blocks = b * h * np.ceil(s / 128)
        return {"work": 4 * b * h * d * pairs / rate(rows, "bfloat16"), "cycle": 1 / rate(rows, "clock"),
                "memory": 2 * d * b * (2 * g * keys + 2 * h * s) / rate(rows, "bandwidth"),
                "per_cycle": rate(rows, "bfloat16") / units / rate(rows, "clock"),
                "waves": np.ceil(blocks / units) * units / blocks, "blocks": b * g / units}


class Prefill(Attention):
    def seconds(self, c, f):
        return c["launch_cycles"] * f["cycle"] + longer(f["work"] * f["waves"] * fed(c, f),
                                                        f["memory"] / c["bandwidth"], c["norm"])


class Decode(Attention):
    """FlashAttention-3: keys are split over the units, so that whole waves do not count; a block is a sequence and a key
    head, with all queries that share it."""
    start = dict(launch_cycles=20000, bandwidth=.8, per_block_cycles=4000)

    def seconds(self, c, f):
        return (c["launch_cycles"] + c["per_block_cycles"] * f["blocks"]) * f["cycle"] + f["memory"] / c["bandwidth"]


class DecodeInWaves(Attention):
    """FlashAttention-2: blocks run in waves of BLOCKS_PER_UNIT a unit. A block takes its own cycles and those of its bytes,
    however few blocks run; a wave takes its bytes at the bandwidth, if that is longer. Keys of one sequence and key head are
    split as num_splits_heuristic() of Dao-AILab/flash-attention 2 does, and a second kernel adds up the parts."""
    start = dict(launch_cycles=10000, bandwidth=.8, per_block_cycles=10000, block_cycles_per_byte=.06, split_cycles=15000)
    BLOCKS_PER_UNIT = 2  # what that function counts on
    FULL, MOST = .8, 128  # no splits from this part of a wave on; most splits
    GOOD = .85  # of the best part of whole waves is good enough

    @classmethod
    def splits(cls, blocks, slots, key_blocks):
        if blocks >= cls.FULL * slots:
            return 1
        parts = {}
        for n in range(1, int(min(cls.MOST, slots, key_blocks)) + 1):
            if n == 1 or np.ceil(key_blocks / n) != np.ceil(key_blocks / (n - 1)):
                waves = blocks * n / slots
                parts[n] = waves / np.ceil(waves)
        return next(n for n, part in parts.items() if part >= cls.GOOD * max(parts.values()))

    def prepare(self, rows):
        features = super().prepare(rows)
        total, size, window = column(rows, "past") + 1, column(rows, "size"), column(rows, "window")
        key_blocks = np.ceil(total / np.where(size <= 64, 256, np.where(size <= 128, 128, 64)))
        units = rate(rows, "units")
        slots = self.BLOCKS_PER_UNIT * units
        heads = column(rows, "batch") * column(rows, "kv_heads")
        # Only groups of queries on one key head are split, and only without a window.
        may_split = (column(rows, "heads") > column(rows, "kv_heads")) & (window == 0)
        splits = np.array([self.splits(b, s, k) if may else 1 for b, s, k, may in zip(heads, slots, key_blocks, may_split)])
        blocks = heads * splits
        return features | {"is_split": splits > 1, "full": blocks // slots, "slots": slots, "rest": blocks % slots,
                           "each": features["memory"] / blocks, "bandwidth": rate(rows, "bandwidth")}

    def seconds(self, c, f):
        block = (c["per_block_cycles"] + c["block_cycles_per_byte"] * f["each"] * f["bandwidth"]) * f["cycle"]
        def wave(blocks):
            return np.maximum(block, blocks * f["each"] / c["bandwidth"])
        return ((c["launch_cycles"] + c["split_cycles"] * f["is_split"]) * f["cycle"]
                + f["full"] * wave(f["slots"]) + np.where(f["rest"] > 0, wave(f["rest"]), 0))


class Mixtures:
    start = dict(launch_cycles=40000, feed=1e-3, bandwidth=.7, norm=2)

    def prepare(self, rows):
        t, h, i, e, k, g = (column(rows, c) for c in ("tokens", "hidden", "inner", "experts", "k", "groups"))
        distinct = e / g * (1 - (1 - k / e) ** t)
        per_expert = t * k / g / np.maximum(distinct, 1e-9)
        padded = np.ceil(per_expert / 64) * 64 / per_expert
        return {"per_cycle": rate(rows, "bfloat16") / rate(rows, "units") / rate(rows, "clock"),
                "work": 6 * t * k / g * h * i * padded / rate(rows, "bfloat16"), "cycle": 1 / rate(rows, "clock"),
                "memory": 2 * (distinct * 3 * h * i + 2 * t * h) / rate(rows, "bandwidth")}

    def seconds(self, c, f):
        return c["launch_cycles"] * f["cycle"] + longer(f["work"] * fed(c, f), f["memory"] / c["bandwidth"], c["norm"])


class AllReduces:
    """The fastest of: each device reads all others' tensors; each sums its part and passes it on; the switches sum."""
    start = dict(one_shot_cycles=6500, one_shot=.5, two_shot_cycles=16000, two_shot=.7)

    def prepare(self, rows):
        n, b = column(rows, "devices"), column(rows, "bytes")
        return {"one": (n - 1) * b / rate(rows, "link"), "two": 2 * (n - 1) / n * b / rate(rows, "link"),
                "switch": b / rate(rows, "link"), "sums": (n > 2) & (rate(rows, "sums_in_switch") > 0),
                "cycle": 1 / rate(rows, "clock")}

    def seconds(self, c, f):
        time = np.minimum(c["one_shot_cycles"] * f["cycle"] + f["one"] / c["one_shot"],
                          c["two_shot_cycles"] * f["cycle"] + f["two"] / c["two_shot"])
        if "in_switch" not in c:
            return time
        return np.where(f["sums"], np.minimum(time, c["in_switch_cycles"] * f["cycle"] + f["switch"] / c["in_switch"]),
                        time)


class AllReducesInSwitch(AllReduces):
    start = AllReduces.start | dict(in_switch_cycles=20000, in_switch=.5)


class Rings:
    start = dict(launch_cycles=10000, hop_cycles=3000, bandwidth=.7)

    def prepare(self, rows):
        n = column(rows, "devices")
        return {"hops": n - 1, "sent": 2 * (n - 1) / n * column(rows, "bytes") / rate(rows, "link"),
                "cycle": 1 / rate(rows, "clock")}

    def seconds(self, c, f):
        return (c["launch_cycles"] + c["hop_cycles"] * f["hops"]) * f["cycle"] + f["sent"] / c["bandwidth"]


class Collectives:
    start = dict(launch_cycles=20000, bandwidth=.5)

    def prepare(self, rows):
        n = column(rows, "devices")
        return {"sent": (n - 1) / n * column(rows, "bytes") / rate(rows, "link"), "cycle": 1 / rate(rows, "clock")}

    def seconds(self, c, f):
        return c["launch_cycles"] * f["cycle"] + f["sent"] / c["bandwidth"]


# The kinds of kernels of one device, where its chips run others than the rest.
OWN_KINDS = {"a100-80gb": {"decode_attention": DecodeInWaves()}, "h100-sxm": {"all_reduces": AllReducesInSwitch()}}
KINDS = {"products": Products(), "prefill_attention": Prefill(), "decode_attention": Decode(), "mixtures": Mixtures(),
         "all_reduces": AllReduces(), "ring_all_reduces": Rings(), "collectives": Collectives()}
# GDDR6 of these boards keeps the codes of its error correction, which is on by default, in the memory itself: 1/16 of the
# capacity is missing where it is on (exafunction.com/blog/ecc-gpu: 15 of T4's 16 GB), so that at most 15 of 16 bytes that
# the memory moves are data. HBM has its own bits for them, GDDR7 corrects on the die.
INLINE_CODES = ["a40", "l20", "l4", "l40", "l40s", "t4"]
SHORTEST = 3  # products of a device and engine, whose mean is what any kernel takes at least


def fit(kind, rows):
    """Logarithms of the coefficients, by the absolute relative error: a few odd rows do not count twice."""
    names = list(kind.start)
    features, measured = kind.prepare(rows), np.log(column(rows, "seconds"))
    def residual(x):
        c = dict(zip(names, np.exp(x)))
        if "norm" in c:
            c["norm"] = 1 + c["norm"]
        return np.log(kind.seconds(c, features)) - measured
    start = [np.log(kind.start[n] - (1 if n == "norm" else 0)) for n in names]
    # No kernel beats a rate; from a norm of 20 on the longer of two times is all that counts.
    most = [0 if n in ("bandwidth", "small", "in_switch") else np.log(19) if n == "norm" else np.inf for n in names]
    found = np.exp(least_squares(residual, start, loss="soft_l1", f_scale=.1, bounds=(-np.inf, most)).x)
    c = dict(zip(names, found))
    if "norm" in c:
        c["norm"] += 1
    return {name: float(f"{value:.4g}") for name, value in c.items()}


def ratios(kind, coefficients, rows):
    return column(rows, "seconds") / kind.seconds(coefficients, kind.prepare(rows))


def shortest(rows):
    """Seconds that a kernel takes whatever it does: norms and activations of few tokens."""
    runs = {}
    for row in rows:
        runs.setdefault((row["device"], row["engine"]), []).append(float(row["seconds"]))
    return float(np.mean([sorted(times)[:SHORTEST] for times in runs.values()]))


def all_rows():
    """By kind of kernel; products as decoders have them."""
    rows = {name: rows_of(name) for name in KINDS}
    products = rows["products"]
    rows["small"] = [r for r in products if r["precision"] == "bfloat16"]
    for name, precision in ("products", "bfloat16"), ("products_float8", "float8"):
        rows[name] = [r for r in products if r["precision"] == precision and min(int(r["n"]), int(r["k"])) >= LEAST_SIDE]
    return rows


def kernels(rows, devices):
    """Of rows of these devices; 8-bit products of the one that has them."""
    own = {name: [r for r in some if r["device"] in devices] for name, some in rows.items()}
    result = {"small": {"seconds": float(f"{shortest(own['small']):.4g}")},
              "products_float8": fit(KINDS["products"], rows["products_float8"])}
    return result | {name: fit(kind_of(name, devices), own[name]) for name in KINDS}


def kind_of(name, devices):
    return OWN_KINDS.get(devices[0], {}).get(name, KINDS[name]) if len(devices) == 1 else KINDS[name]


def per_cycle(device, of):
    """Of a rate what each unit does in a cycle."""
    return RATES[device][of] / (RATES[device]["units"] * RATES[device]["clock"])


def carry(sets):
    """The best part of the bandwidth that any kernel reaches is what memory gives; what others take beyond it is time of
    the units for each byte. That is carried to chips of A100's kind, all of which have less bandwidth for each unit and
    cycle. Chips of H100's kind have as much or more, for which nothing was measured: their parts stay as fitted."""
    best = max(kernel["decode_attention"]["bandwidth"] for kernel in sets.values())
    for device, kernel in sets.items():
        for name, of in ("decode_attention", device), ("products", device), ("products_float8", "h100-sxm"):
            c = kernel[name]
            c["unit_cycles_per_byte"] = 0
            if device == "a100-80gb":
                unit = (1 / c["bandwidth"] - 1 / best) / per_cycle(of, "bandwidth")
                c["unit_cycles_per_byte"] = float(f"{unit:.4g}")
                c["bandwidth"] = best


def power(device, kernel):
    """What long products do: all that their operand supply, or the device's power, lets them do."""
    rate = RATES[device]["bfloat16"] / (1 + kernel["products"]["feed"] * per_cycle(device, "bfloat16"))
    return {"device": device, "compute_capabilities": KINDS_OF_PROCESS[device], "watts": RATES[device]["watts"],
            "flops_per_second": float(f"{rate:.6g}"), "flops_per_cycle": RATES[device]["flops_per_cycle"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--import", dest="directory", type=pathlib.Path)
    args = parser.parse_args()
    if args.directory:
        import_rows(args.directory)
    rows = all_rows()
    devices = sorted(DEVICES.values())
    sets = {device: kernels(rows, [device]) for device in devices}
    everything = kernels(rows, devices)
    for name in "decode_attention", "products", "products_float8":
        everything[name]["unit_cycles_per_byte"] = 0
    document = {"schema": "pagoda.serving-calibration/1", "id": "llm-serving",
                "regime": "kernels of serving engines (TensorRT-LLM, vLLM, SGLang) in CUDA graphs, bfloat16 and fp8",
                "source": SOURCE, "devices": devices, "inline_codes": INLINE_CODES, "kernels": everything,
                "sets": [{"device": device, "compute_capabilities": KINDS_OF_CHIPS[device], "kernels": sets[device]}
                         for device in devices],
                "powers": [power(device, sets[device]) for device in devices], "fitted": {}, "left_out": []}
    weighed = []
    for name in KINDS:
        errors = []
        for judged in devices:
            own = [r for r in rows[name] if r["device"] == judged]
            errors += list(np.abs(1 / ratios(kind_of(name, [judged]), sets[judged][name], own) - 1))
            for other in devices:
                if other == judged:
                    continue
                # A device left out has kernels of its own kind: it is judged by what is common to both.
                common = sets[other][name] if kind_of(name, [other]) is KINDS[name] else fit(
                    KINDS[name], [r for r in rows[name] if r["device"] == other])
                ratio = ratios(KINDS[name], common, own)
                error = np.abs(1 / ratio - 1)
                document["left_out"].append(
                    {"kernels": name, "judged": judged, "rows": len(own), "mean_error": round(float(error.mean()), 3),
                     "median_error": round(float(np.median(error)), 3),
                     "bias": round(float((1 / ratio - 1).mean()), 3)})
                if name == "products":
                    weighed += list(ratio[column(own, "seconds") > 2e-5])
                print(document["left_out"][-1])
        document["fitted"][name] = {"rows": len(errors), "mean_error": round(float(np.mean(errors)), 3)}
        print(name, document["fitted"][name])
    # A step is a sum of products above all: measured over predicted of those longer than 20 us, on a device left out.
    low, high = np.quantile(weighed, [.05, .95])
    document["interval"] = {"coverage": 0.9, "low": round(float(low), 3), "high": round(float(high), 3)}
    carry(sets)
    print(document["interval"])
    (HERE / "llm-serving.json").write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
