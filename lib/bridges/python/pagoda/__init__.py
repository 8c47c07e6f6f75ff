"""How much work an ONNX model is, how fast a machine could run it, and why.

    import pagoda

    model = pagoda.analyze("resnet50.onnx", batch=32, device="h200", precision="fp16")
    model.totals.flops              # exact integers; unknown numbers are None, never 0
    model.roofline.seconds          # no run by an engine that fuses is shorter
    model.fit.largest_batch         # what its memory holds
    pandas.DataFrame(model.nodes)   # one row a node, in the order of execution
    print(model)                    # the answer that onnx-estimate prints

Weights are never read. Sizes that nothing sets stay symbols:

    bert = pagoda.analyze("bert.onnx")
    bert.symbolic.macs                            # '18432*batch*sequence*(sequence + 4608)'
    bert.symbolic.macs(batch=8, sequence=384)     # 282662535168

What cannot be used raises pagoda.Error with the subject, what was found, what was expected and the remedy.
"""

from ._core import Error, __version__, device_ids as devices
from ._estimate import Estimate, Formula, Model, Record, analyze, compare, skeleton

__all__ = [
    "Error",
    "Estimate",
    "Formula",
    "Model",
    "Record",
    "__version__",
    "analyze",
    "compare",
    "devices",
    "skeleton",
]
