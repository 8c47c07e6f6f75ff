#!/usr/bin/env python3
"""Draws new cases over attributes, ranks, element types and versions, runs them with ONNX Runtime and compares.

    python3 tests/conformance/random_cases.py build/dev/tests/conformance_test [--seed 7] [--samples 12] [--keep FILE]

Each operator gets `--samples` samples per version, each in all element types that input 0 may have; 12 give about
20,000 cases. conformance_test compares the types and element counts of all of them (PAGODA_CONFORMANCE names the file
of cases) and prints those that disagree. The same seed draws the same cases. Exit code: 0 if all agree.

Needs: pip install onnx onnxruntime ml_dtypes.
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile

import make_goldens
import ort_run


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("conformance_test")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--samples", type=int, default=12)
    parser.add_argument("--keep", metavar="FILE", help="write the cases there, too")
    given = parser.parse_args()
    lines = make_goldens.sampled(ort_run.onnx_samples(given.samples, given.seed, all_types=True))
    # NonZero of a scalar is wrong upstream, see exceptions.txt.
    lines = [entry for entry in lines if not re.search(r"x0:\w+\[\] -> y0 = NonZero", entry)]
    with tempfile.TemporaryDirectory() as folder:
        path = given.keep or os.path.join(folder, "random.golden")
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(f"{entry}\n" for entry in lines)
        print(f"seed {given.seed}: {len(lines)} cases", flush=True)
        test = [given.conformance_test, "--test-case=cases that were drawn*"]
        return subprocess.run(test, env={**os.environ, "PAGODA_CONFORMANCE": os.path.abspath(path)}).returncode


if __name__ == "__main__":
    sys.exit(main())
