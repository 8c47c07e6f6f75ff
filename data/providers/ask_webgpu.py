"""Learns the kernels of a provider that does not print them, from its own words about single operators.

ask_registry.py uses it for WebGPU, in less than a minute. onnxruntime-webgpu needs a GPU or, on Linux, a Vulkan driver
for the CPU, such as SwiftShader of Debian's `chromium`:

    VK_ICD_FILENAMES=/usr/lib/chromium/vk_swiftshader_icd.json LD_LIBRARY_PATH=/usr/lib/chromium

A model has one version of one operator, a node for each combination of types, and inputs without shapes. In the log of
a session, the provider names each node that it has no kernel for, before anything else can refuse the model:

    webgpu kernel not found in registries for Op type: Abs node name: N7

The other nodes have a kernel. Nodes that break a rule of the operator itself are left out, one by one, as the runtime
names them. Which operands a kernel keeps in host memory shows in copies: a node on the provider writes the input, or
reads the output.
"""
import itertools
import os
import re
import tempfile

PROBES = "float float16 int32 uint32 int64 bool uint8 int8".split()  # tried in all combinations, the others one by one
ELEMENTS = PROBES + "double int16 uint16 uint64 bfloat16 string int4 uint4 float8e4m3fn float8e5m2".split()
FIRST_OPSET = 7  # the runtime gives no node of an older model to a provider that has a layout of its own
OPSET_BESIDE = 17  # ai.onnx beside other domains
NOT_ASKED = {"Constant", "MemcpyFromHost", "MemcpyToHost"}  # the first is a weight before any provider is asked
MOST_INVALID = 400  # nodes of a model that may break the operator's rules before it counts as not asked
WORDS = {"direction": "LEFT", "equation": "...->..."}  # for attributes that a node must have
TYPE_ATTRIBUTES = {"to", "dtype", "output_dtype", "output_datatype"}


class Runtime:
    """Sessions of one provider and their logs."""

    def __init__(self, provider):
        import onnxruntime
        self.ort, self.provider = onnxruntime, provider
        self.log = tempfile.TemporaryFile()

    def ask(self, model):
        """The log of a session for the model, and the error that ended it or None."""
        options = self.ort.SessionOptions()
        options.log_severity_level, options.log_verbosity_level, options.intra_op_num_threads = 0, 0, 1
        options.graph_optimization_level = self.ort.GraphOptimizationLevel.ORT_DISABLE_ALL
        self.log.seek(0)
        self.log.truncate()
        kept, error = [os.dup(1), os.dup(2)], None
        os.dup2(self.log.fileno(), 1)
        os.dup2(self.log.fileno(), 2)
        try:
            providers = [self.provider, "CPUExecutionProvider"]
            self.ort.InferenceSession(model.SerializeToString(), options, providers=providers)
        except Exception as failure:  # the runtime's own words are the answer
            error = str(failure)
        finally:
            for number, copy in zip((1, 2), kept):
                os.dup2(copy, number)
                os.close(copy)
        self.log.seek(0)
        log = self.log.read().decode(errors="replace")
        if "Falling back to" in log:
            raise SystemExit("the provider did not start: " + log[log.find("EP Error"):][:400])
        return log, error


def value(name, type_name):
    """A tensor or sequence of no known shape."""
    from onnx import TensorProto, TypeProto, ValueInfoProto
    inner = re.fullmatch(r"(seq\()?tensor\((\w+)\)\)?", type_name)
    proto = TypeProto()
    tensor = (proto.sequence_type.elem_type if inner[1] else proto).tensor_type
    tensor.elem_type = TensorProto.DataType.Value(inner[2].upper())
    return ValueInfoProto(name=name, type=proto)


def element_of(type_name):
    return re.search(r"(\w+)\)*$", type_name)[1]


def type_of(operand):
    """Its constraint, or its only type. The two packages name it differently."""
    return operand.typeStr if hasattr(operand, "typeStr") else operand.type_str


def operands(listed, wanted):
    """Types or constraints of operands, a variadic one once; of the optional ones only those that are `wanted`."""
    def is_optional(each):
        return str(each.option).endswith("Optional")

    return [None if is_optional(each) and not wanted(each) else type_of(each) for each in listed]


class Operator:
    """A version of an operator and the node that a combination of its types makes."""

    def __init__(self, schema):
        self.schema = schema
        self.name, self.domain, self.version = schema.name, schema.domain, schema.since_version
        self.allowed = {}
        for each in schema.type_constraints:
            name = each.type_param_str
            known = re.compile(rf"(seq\()?tensor\(({'|'.join(ELEMENTS)})\)\)?")
            self.allowed[name] = sorted(filter(known.fullmatch, each.allowed_type_strs),
                                        key=lambda t: (t.startswith("seq"), ELEMENTS.index(element_of(t))))
        self.set_operands("new")

    def set_operands(self, optional):
        """Which of the optional operands a node has: those with a `new` constraint, `none`, all `inputs` or `all`."""
        both = list(self.schema.inputs) + list(self.schema.outputs)
        seen = {type_of(each) for each in both if not str(each.option).endswith("Optional")}

        def is_new(each):
            return optional == "new" and type_of(each) not in seen and (seen.add(type_of(each)) or True)
        self.inputs = operands(self.schema.inputs, lambda each: optional in ("inputs", "all") or is_new(each))
        self.outputs = operands(self.schema.outputs, lambda each: optional == "all" or is_new(each))
        while optional != "new" and self.outputs and not self.outputs[-1]:  # rules of some operators count them
            self.outputs.pop()
        self.constraints = [c for c in self.allowed if c in self.inputs + self.outputs and self.allowed[c]]

    def attributes(self, types):
        """Those that it must have, and those that say the type of an output."""
        from onnx import TensorProto, helper

        def number(constraint):
            return TensorProto.DataType.Value(element_of(types.get(constraint, "tensor(float)")).upper())
        out = {}
        output = next(filter(None, self.outputs), None)
        inputs = set(self.inputs)
        for name, each in self.schema.attributes.items():
            kind = str(each.type).rsplit(".")[-1]
            if name in TYPE_ATTRIBUTES and output not in inputs:
                out[name] = "FLOAT" if kind == "STRING" else number(output)
            elif name == "value" and kind == "TENSOR" and output not in inputs and output in types:
                zero = b"" if number(output) == TensorProto.STRING else 0
                out[name] = helper.make_tensor("", number(output), [1], [zero])
            elif each.required:
                out[name] = self.body(name, types) if kind == "GRAPH" else {
                    "INT": 1, "FLOAT": 1.0, "STRING": WORDS.get(name, "linear"), "INTS": [1, 1], "FLOATS": [1.0, 1.0],
                    "STRINGS": ["a"], "TENSOR": helper.make_tensor("", 1, [1], [0.0])}.get(kind)
        return out

    def body(self, name, types):
        """A graph for If, Loop, Scan or SequenceMap: it returns its inputs, or of If a tensor or sequence of type V."""
        from onnx import TensorProto, helper
        if self.name == "If":
            number = TensorProto.DataType.Value(element_of(types["V"]).upper())
            is_raw = number != TensorProto.STRING
            empty = helper.make_tensor("", number, [0], b"" if is_raw else [], raw=is_raw)
            last = "SequenceConstruct" if "seq" in types["V"] else "Identity"
            nodes = [helper.make_node("Constant", [], [name + "_c"], value=empty),
                     helper.make_node(last, [name + "_c"], [name])]
            return helper.make_graph(nodes, name, [], [value(name, types["V"])])
        types = ["tensor(int64)", "tensor(bool)", "tensor(float)"] if self.name == "Loop" else ["tensor(float)"]
        inputs = [value(f"{name}_i{place}", each) for place, each in enumerate(types)]
        outputs = [value(f"{name}_o{place}", each) for place, each in enumerate(types)][self.name == "Loop":]
        nodes = [helper.make_node("Identity", [o.name.replace("_o", "_i")], [o.name]) for o in outputs]
        return helper.make_graph(nodes, name, inputs, outputs)

    def node(self, number, types):
        """The node of these types by constraint, its inputs and its outputs."""
        from onnx import helper

        def named(listed, letter):
            for place, each in enumerate(listed):
                known = types.get(each, each) if each else None
                yield known and value(f"N{number}_{letter}{place}", known if "tensor(" in known else "tensor(float)")
        inputs, outputs = list(named(self.inputs, "i")), list(named(self.outputs, "o"))
        names = [[each.name if each else "" for each in side] for side in (inputs, outputs)]
        node = helper.make_node(self.name, *names, name=f"N{number}", domain=self.domain)
        for name, made in self.attributes(types).items():
            node.attribute.append(helper.make_attribute(name, made))
        return node, [i for i in inputs if i], [o for o in outputs if o]

    def model(self, nodes, inputs, inner, outputs):
        """A model of its operator version."""
        from onnx import helper
        graph = helper.make_graph(nodes, "g", inputs, outputs, value_info=inner)
        opsets = [helper.make_opsetid("", max(self.version, FIRST_OPSET) if self.domain == "" else OPSET_BESIDE)]
        if self.domain:
            opsets.append(helper.make_opsetid(self.domain, self.version))
        return helper.make_model(graph, opset_imports=opsets, ir_version=8 if opsets[0].version < 21 else 10)

    def taken(self, runtime, combinations):
        """Of the combinations, those with a kernel, and the number of those that are valid."""
        made = {}
        for number, types in enumerate(combinations):
            made[number] = self.node(number, dict(zip(self.constraints, types)))
        error = None
        for _ in range(MOST_INVALID):
            if not made:
                break
            rows = list(made.values())
            log, error = runtime.ask(self.model([r[0] for r in rows], sum((r[1] for r in rows), []),
                                                sum((r[2] for r in rows[1:]), []), rows[0][2][:1]))
            if "cannot be used with this model" in log:
                return [], 0, "the provider refuses the opset"
            if "GetCapability]" in log or error is None:
                words = r"not found in registries for Op type: \S+ node name: N(\d+)\b"
                refused = {int(number) for number in re.findall(words, log)}
                return [combinations[n] for n in made if n not in refused], len(made), error
            broken = re.search(r"\bN(\d+)\b", error or "") or re.search(r"\bN(\d+)_", error or "")
            if not broken or int(broken[1]) not in made:
                break
            del made[int(broken[1])]
        return [], 0, error


def products(tuples, width):
    """The tuples as few products of sets: [[set, …], …]."""
    tuples = set(tuples)
    if not tuples:
        return []
    if width == 0:
        return [[]]
    rests = {}
    for first in {t[0] for t in tuples}:
        rests.setdefault(frozenset(t[1:] for t in tuples if t[0] == first), set()).add(first)
    return [[firsts] + product for rest, firsts in rests.items() for product in products(rest, width - 1)]


def kernels_of(operator, runtime):
    """The products of types that have a kernel; None and the error if the operator cannot be asked about."""
    error = None
    for optional in ("new", "none", "inputs"):
        operator.set_operands(optional)
        listed = [operator.allowed[c] for c in operator.constraints]
        common = [[t for t in types if element_of(t) in PROBES] or types[:1] for types in listed]
        some = list(itertools.product(*common))
        taken, valid, error = operator.taken(runtime, some[:4096])
        if valid:
            break
    else:
        return None, error
    if not taken:
        return [], None
    asked = set(some)
    while True:  # the other types, one in place of another
        rest = {t[:place] + (other,) + t[place + 1:] for t in taken for place, types in enumerate(listed)
                for other in types if other not in common[place]} - asked
        if not rest:
            break
        asked |= rest
        taken += operator.taken(runtime, sorted(rest)[:4096])[0]
    return products(taken, len(operator.constraints)), None


def learn(schemas, provider):
    """The provider's kernels by operator, as rows of its file; the operands in host memory, inputs and outputs; the
    versions that could not be asked about, with the runtime's words. `schemas`: by operator and version."""
    runtime = Runtime(provider)
    kernels, hosts, errors = {}, ({}, {}), {}
    for key in sorted(schemas):
        rows, known = [], sorted(schemas[key])
        for version, following in zip(known, known[1:] + [None]):
            schema = schemas[key][version]
            is_gone = schema.domain == "" and following and following <= FIRST_OPSET  # no model that it accepts has it
            if schema.deprecated or is_gone or schema.name in NOT_ASKED:
                continue
            operator = Operator(schema)
            found, error = kernels_of(operator, runtime)
            if error and "Current official support" not in error:
                errors[f"{key} {version}"] = error
            if not found:
                continue
            listed = [{c: sorted(types) for c, types in zip(operator.constraints, product)} for product in found]
            if rows and rows[-1][2] == listed and rows[-1][1] == known[known.index(version) - 1]:
                rows[-1][1] = version
            else:
                rows.append([version, version, listed])
            usual = {c: min(types, key=lambda each: (each != "tensor(float)", each)) for c, types in listed[0].items()}
            for host, new in zip(hosts, host_operands(operator, usual, runtime)):
                if new:
                    host[key] = sorted(set(host.get(key, [])) | set(new))
        if rows:
            if rows[-1][0] == known[-1]:
                rows[-1][1] = None  # an end is not seen, and decides nothing
            kernels[key] = [[first, last, types] for first, last, listed in rows for types in listed]
    return kernels, hosts, errors


def writer(name, type_name):
    """A node on the provider that writes a tensor of the type."""
    from onnx import TensorProto, helper
    if type_name == "tensor(int64)":
        return helper.make_node("ArgMax", ["x"], [name], name="beside")
    number = TensorProto.DataType.Value(element_of(type_name).upper())
    return helper.make_node("Cast", ["x"], [name], name="beside", to=number)


def reader(name, type_name):
    """A node on the provider that reads it."""
    from onnx import helper
    if type_name == "tensor(int64)":
        return helper.make_node("Gather", ["x", name], ["y"], name="beside")
    return helper.make_node("Cast", [name], ["y"], name="beside", to=1)


def host_operands(operator, types, runtime):
    """The inputs and outputs that the kernel keeps in host memory."""
    host = ([], [])
    operator.set_operands("all")
    for side, listed in enumerate((operator.inputs, operator.outputs)):
        for place, each in enumerate(listed):
            type_name = types.get(each, each)
            if not re.fullmatch(r"tensor\((float|float16|int32|uint32|bool|int64)\)", type_name or ""):
                continue  # nothing on the provider writes it
            node, inputs, outputs = operator.node(0, types)
            name = f"N0_{'io'[side]}{place}"
            beside = [value("x", "tensor(float)")]
            if side == 0:
                inputs = [each for each in inputs if each.name != name]
                nodes, ends = [writer(name, type_name), node], outputs[:1]
            else:
                nodes, ends = [node, reader(name, type_name)], [value("y", "tensor(float)")]
            log, _ = runtime.ask(operator.model(nodes, inputs + beside, [], ends))
            placed = log.partition("Node placements")[2]
            on_host = placed.partition("[CPUExecutionProvider]")[2]
            if not placed or "(N0)" in on_host or "All nodes placed on [CPU" in placed or (side == 0 and on_host):
                continue  # not to be seen
            if "MemcpyTransformer modified: 1" in log or on_host:  # a reader of host memory moves there
                host[side].append(place)
    return host
