"""ONNX models and the data fed to them as lines in the grammar of tests/support/text_graph.h."""
import math
import re

import numpy as np
from onnx import AttributeProto, TensorProto, helper, numpy_helper

SHORT = {1: "f32", 2: "u8", 3: "i8", 4: "u16", 5: "i16", 6: "i32", 7: "i64", 8: "str", 9: "bool", 10: "f16", 11: "f64",
         12: "u32", 13: "u64", 14: "c64", 15: "c128", 16: "bf16", 17: "f8e4m3", 18: "float8e4m3fnuz", 19: "f8e5m2",
         20: "float8e5m2fnuz", 21: "u4", 22: "i4", 23: "f4", 24: "float8e8m0", 25: "u2", 26: "i2"}
REALS = {1, 10, 11, 16, 17, 18, 19, 20, 23, 24}
COMPLEX_OR_TEXT = {8, 14, 15}
# Limits up to which tensors keep their values when a model is loaded:
# kInlineIntegerElements, kInlineFloatElements of model.h.
MOST_INTEGERS, MOST_REALS = 1024, 16


class Data:
    """A value fed to or computed by a model: a tensor, a list (sequence), a map, or None (an empty optional)."""

    def __init__(self, element, shape, array=None):
        self.element, self.shape, self.array = element, [int(d) for d in shape], array


def data(value, declared=None):
    """`value` as Data, a list of Data, or None. `declared` is its TypeProto, needed for bfloat16 and strings."""
    kind = declared.WhichOneof("value") if declared is not None else None
    if kind == "optional_type":
        return None if value is None else data(value, declared.optional_type.elem_type)
    if isinstance(value, list) and kind in (None, "sequence_type"):
        member = declared.sequence_type.elem_type if kind else None
        return [data(v, member) for v in value]
    if value is None:
        return None
    if isinstance(value, TensorProto):
        array = numpy_helper.to_array(value) if value.data_type not in COMPLEX_OR_TEXT else None
        return Data(value.data_type, value.dims, array)
    array = np.asarray(value)
    if kind == "tensor_type" and declared.tensor_type.elem_type:
        element = declared.tensor_type.elem_type
    elif array.dtype.kind in "OUS":
        element = TensorProto.STRING
    else:
        element = helper.np_dtype_to_tensor_dtype(array.dtype)
    return Data(element, array.shape, array if element not in COMPLEX_OR_TEXT else None)


def tensor_text(element, shape):
    return SHORT[element] + ("" if shape is None else "[" + ",".join(map(str, shape)) + "]")


def proto_text(proto):
    """The text of a TypeProto."""
    kind = proto.WhichOneof("value")
    if kind == "sequence_type":
        return f"seq({proto_text(proto.sequence_type.elem_type)})"
    if kind == "optional_type":
        return f"optional({proto_text(proto.optional_type.elem_type)})"
    if kind == "map_type":
        return f"map({SHORT[proto.map_type.key_type]},{proto_text(proto.map_type.value_type)})"
    if kind not in ("tensor_type", "sparse_tensor_type"):
        return None
    tensor = getattr(proto, kind)
    if not tensor.elem_type:
        return None
    shape = None
    if tensor.HasField("shape"):
        shape = [d.dim_value if d.HasField("dim_value") else "?" for d in tensor.shape.dim]
    return tensor_text(tensor.elem_type, shape)


def type_text(value, declared=None):
    """The type of Data. For a sequence: only the sizes in which its members agree."""
    kind = declared.WhichOneof("value") if declared is not None else None
    if kind == "optional_type":
        inner = declared.optional_type.elem_type
        return f"optional({type_text(value, inner) if value is not None else proto_text(inner)})"
    if value is None:
        return proto_text(declared)
    if isinstance(value, list):
        if not value:
            return proto_text(declared)
        shapes = [v.shape for v in value]
        shape = None
        if len({len(s) for s in shapes}) == 1:
            shape = [d[0] if len(set(d)) == 1 else "?" for d in zip(*shapes)]
        return f"seq({tensor_text(value[0].element, shape)})"
    return tensor_text(value.element, value.shape)


def number(value):
    if isinstance(value, (bool, np.bool_, int, np.integer)):
        return str(int(value))
    value = float(value)
    if math.isnan(value):
        return "nan"
    if math.isinf(value):
        return "-inf" if value < 0 else "inf"
    return repr(value)


def elements_text(element, shape, array):
    """`=[1,2]`, `=3` for a scalar, or `=const` for values that a loaded model does not keep."""
    if array is None or array.size > (MOST_REALS if element in REALS else MOST_INTEGERS):
        return "=const"
    array = np.asarray(array).reshape(-1)
    array = array.astype(np.float64) if element in REALS else array.astype(object)
    if element not in REALS and any(int(v) >= 2**63 for v in array):
        return "=const"
    values = [number(v) for v in array.tolist()]
    return "=" + (values[0] if not shape else "[" + ",".join(values) + "]")


def quoted(text):
    result = ""
    for byte in text if isinstance(text, bytes) else text.encode():
        c = chr(byte)
        result += "\\" + c if c in "'\\" else c if 32 <= byte < 127 else f"\\x{byte:02x}"
    return "'" + result + "'"


class Writer:
    """Writes one model. Long names of intermediate values are replaced by short ones."""

    def __init__(self, model):
        self.model = model
        self.names = {}

    def name(self, name):
        if name not in self.names:
            plain = re.fullmatch(r"[A-Za-z0-9_./]{1,16}", name) and not re.fullmatch(r"v\d+", name)
            self.names[name] = name if plain or not name else f"v{len(self.names)}"
        return self.names[name]

    def write(self, feeds, arguments):
        """`feeds`: graph inputs by name as Data; those in `arguments` become initializers with their value."""
        graph = self.model.graph
        values = []
        for entry in graph.input:
            fed = feeds.get(entry.name)
            if entry.name not in feeds:
                continue
            text = f"{self.name(entry.name)}:{type_text(fed, entry.type)}"
            if entry.name in arguments:
                text += elements_text(fed.element, fed.shape, fed.array)
            values.append(text)
        fed = set(feeds)
        values += [self.initializer(t) for t in graph.initializer if t.name not in fed]
        versions = {o.domain or "opset": o.version for o in self.model.opset_import}
        used = {n.domain for n in self.nodes(graph)}
        prefix = " ".join(f"{d}={v}" for d, v in versions.items() if d == "opset" or d in used)
        return f"{prefix}: {', '.join(values)} -> {self.body(graph)}"

    def nodes(self, graph):
        for node in graph.node:
            yield node
            for attribute in node.attribute:
                for inner in [attribute.g] * (attribute.type == AttributeProto.GRAPH) + list(attribute.graphs):
                    yield from self.nodes(inner)

    def initializer(self, tensor):
        text, array = tensor_text(tensor.data_type, tensor.dims), None
        if tensor.data_type not in COMPLEX_OR_TEXT and tensor.data_location != TensorProto.EXTERNAL:
            array = numpy_helper.to_array(tensor)
        return f"{self.name(tensor.name)}:{text}{elements_text(tensor.data_type, tensor.dims, array)}"

    def body(self, graph):
        outputs = ", ".join(self.name(o.name) for o in graph.output)
        return "; ".join(self.node(n) for n in graph.node) + (f" => {outputs}" if outputs else "")

    def node(self, node):
        op = f"{node.domain}.{node.op_type}" if node.domain else node.op_type
        text = f"{', '.join(map(self.name, node.output))} = {op}({', '.join(map(self.name, node.input))})"
        attributes = ", ".join(f"{a.name}={self.attribute(a)}" for a in node.attribute)
        return text + (f" {{{attributes}}}" if attributes else "")

    def graph(self, graph):
        values = []
        for entry in graph.input:
            values.append(f"{self.name(entry.name)}:{proto_text(entry.type) or 'undefined'}")
        values += [self.initializer(t) for t in graph.initializer]
        return f"({', '.join(values)} -> {self.body(graph)})"

    def attribute(self, attribute):
        value, kind = helper.get_attribute_value(attribute), attribute.type
        if kind == AttributeProto.INT:
            return str(value)
        if kind == AttributeProto.FLOAT:
            return number(value)
        if kind == AttributeProto.STRING:
            return quoted(value)
        if kind == AttributeProto.INTS:
            return "[" + ",".join(map(str, value)) + "]"
        if kind == AttributeProto.FLOATS:
            return "[" + ",".join(map(number, value)) + "]"
        if kind == AttributeProto.STRINGS:
            return "[" + ",".join(map(quoted, value)) + "]"
        if kind == AttributeProto.TENSOR:
            return self.initializer(value).split(":", 1)[1]
        if kind == AttributeProto.SPARSE_TENSOR:
            return tensor_text(value.values.data_type, value.dims) + "=const"
        if kind == AttributeProto.GRAPH:
            return self.graph(value)
        if kind == AttributeProto.GRAPHS:
            return "[" + ",".join(map(self.graph, value)) + "]"
        if kind == AttributeProto.TYPE_PROTO:
            return proto_text(value)
        raise ValueError(f"attribute {attribute.name} of type {kind}")
