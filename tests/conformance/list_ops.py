#!/usr/bin/env python3
"""Writes data/ops.csv: every operator that the installed onnx and onnxruntime define.

    python3 tests/conformance/list_ops.py > data/ops.csv

Needs: pip install onnx onnxruntime. conformance_test fails on a listed operator without a rule, so after a new release
of either package, this script and one run of ctest show what is missing.
"""
import collections

import onnx
import onnxruntime
from onnx import defs
from onnxruntime.capi.onnxruntime_pybind11_state import get_all_operator_schema

# ONNX Runtime adds com.microsoft; com.microsoft.nchwc and com.ms.internal.nhwc, which its layout transformations leave
# in saved models; and, in ONNX's own domain, experiments that ONNX withdrew before 1.3, TensorRT plugins and copies.
onnx_schemas = list(defs.get_all_schemas_with_history())
onnx_ops = {(s.domain, s.name) for s in onnx_schemas}
schemas = onnx_schemas + list(get_all_operator_schema())

versions = collections.defaultdict(dict)
for schema in schemas:
    deprecated = versions[schema.domain, schema.name].get(schema.since_version, False)
    versions[schema.domain, schema.name][schema.since_version] = deprecated or schema.deprecated

print(f"# onnx {onnx.__version__}, onnxruntime {onnxruntime.__version__}")
print("domain,op,since_versions,deprecated_since,defined_by")
for (domain, op), since in sorted(versions.items()):
    deprecated = min((v for v, is_deprecated in since.items() if is_deprecated), default="")
    source = "onnx" if (domain, op) in onnx_ops else "onnxruntime"
    print(f"{domain or 'ai.onnx'},{op},{' '.join(map(str, sorted(since)))},{deprecated},{source}")
