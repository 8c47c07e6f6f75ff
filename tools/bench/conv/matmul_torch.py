#!/usr/bin/env python3
"""Slopes of torch's matrix products for pagoda-bench matmul: one line of JSON a shape.

T(n) = n*t + c for n products one after the other, so (T(2n) - T(n)) / n is the time of one without launch and wait.
Usage: matmul_torch.py --type float32 --device cpu --threads 0 --budget 0.5 64x64x64 128x128x256 ...
"""
import argparse
import json
import sys
import time


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--type", default="float32")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--budget", type=float, default=0.5)
    parser.add_argument("shapes", nargs="+")
    options = parser.parse_args()
    try:
        import torch
    except ImportError:
        print(json.dumps({"unavailable": "torch is not installed: pip install torch"}))
        return 0
    if options.device.startswith("cuda") and not torch.cuda.is_available():
        print(json.dumps({"unavailable": "torch sees no GPU"}))
        return 0
    if options.threads > 0:
        torch.set_num_threads(options.threads)
    tf32 = options.type == "tf32"
    torch.backends.cuda.matmul.allow_tf32 = tf32
    kind = torch.float32 if tf32 else getattr(torch, options.type)

    def wait():
        if options.device.startswith("cuda"):
            torch.cuda.synchronize()

    for text in options.shapes:
        m, n, k = (int(size) for size in text.split("x"))
        generator = torch.Generator().manual_seed(1)
        # Multiples of 1/8: exact in every type, and so are their sums in float32.
        a, b = (torch.randint(-8, 8, size, generator=generator).float() / 8 for size in ((m, k), (k, n)))
        x, y = (t.to(kind).to(options.device) for t in (a, b))
        out = torch.matmul(x, y)

        def together(count):
            wait()
            start = time.perf_counter()
            for _ in range(count):
                torch.matmul(x, y, out=out)
            wait()
            return time.perf_counter() - start

        rows = sorted({0, m // 2, m - 1})
        expected = a[rows].double() @ b.double()
        error = (out[rows].double().cpu() - expected).abs().max().item()
        together(1)
        runs = 1
        while together(runs) < 0.01 and runs < 1 << 24:
            runs *= 2
        seconds, overhead, end = [], [], time.perf_counter() + options.budget
        while len(seconds) < 200 and (time.perf_counter() < end or len(seconds) < 7):
            if len(seconds) % 2 == 0:
                once, twice = together(runs), together(2 * runs)
            else:
                twice, once = together(2 * runs), together(runs)
            seconds.append((twice - once) / runs)
            overhead.append(2 * once - twice)
        print(json.dumps({"m": m, "n": n, "k": k, "runs": runs, "seconds": seconds, "overhead": overhead,
                          "error": error, "version": torch.__version__}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
