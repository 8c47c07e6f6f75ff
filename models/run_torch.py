#!/usr/bin/env python3
"""Runs an ONNX model operator by operator in PyTorch: starts the program among the workers of pagoda-bench.

run_torch.py --help says more; tools/bench/workers/run_torch.py is the program.
"""

import os
import runpy
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
# In the source tree, and beside this file's folder where Pagoda is installed.
for workers in (os.path.join(HERE, "../tools/bench/workers"), os.path.join(HERE, "../workers")):
    if os.path.exists(os.path.join(workers, "run_torch.py")):
        sys.path[0] = os.path.normpath(workers)
        runpy.run_path(os.path.join(workers, "run_torch.py"), run_name="__main__")
        sys.exit()
sys.exit(f"run_torch.py: no folder of workers beside {HERE}; expected tools/bench/workers or workers with run_torch.py")
