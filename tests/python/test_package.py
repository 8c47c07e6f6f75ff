"""The package against the command line: the same library must give the same answer."""

import json
import os
import re
import subprocess
import sys
import typing
import xml.dom.minidom
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pagoda
import pytest

HERE = str(Path(__file__).resolve().parents[1] / "predict" / "data" / "here.json")
REQUESTS = [
    ("resnet50", {}, []),
    ("resnet50", {"batch": 32, "device": "h200", "precision": "fp16", "traffic": "fused"},
     ["--batch", 32, "--device", "h200", "--precision", "fp16", "--traffic", "fused"]),
    ("bert_base", {"dims": {"batch": 8, "sequence": 384}, "memory": True},
     ["--dim", "batch=8", "--dim", "sequence=384", "--memory"]),
    ("resnet50_dynamic", {"inputs": {"input": (2, 3, 224, 224)}}, ["--input", "input=2x3x224x224"]),
    ("gpt2_past", {"batch": 4, "phase": "decode", "past": 1024, "device": "a100-80gb"},
     ["--batch", 4, "--phase", "decode", "--past", 1024, "--device", "a100-80gb"]),
    ("gpt2_past", {"batch": 4, "phase": "decode", "past": 512, "device": "a100-80gb"},
     ["--batch", 4, "--phase", "decode", "--past", 512, "--device", "a100-80gb"]),
    ("vit_b_16", {"batch": 4, "training": True, "optimizer": "adamw"},
     ["--batch", 4, "--training", "--optimizer", "adamw"]),
    ("resnet152", {"predict": True, "engine": "onnxruntime-cpu", "calibration": HERE},
     ["--predict", "--engine", "onnxruntime-cpu", "--calibration", HERE]),
    ("bert_base", {"dims": {"batch": 8, "sequence": 384}, "device": "l4", "predict": True, "engine": "tensorrt"},
     ["--dim", "batch=8", "--dim", "sequence=384", "--device", "l4", "--predict", "--engine", "tensorrt"]),
    ("resnet50", {"sweep": {"batch": "1,2,4..64"}, "device": "orin-agx"},
     ["--sweep", "batch=1,2,4..64", "--device", "orin-agx"]),
]


def plain(message):
    """A message without the signs of options, "--batch 8", and of arguments, "batch=8"."""
    message = re.sub(r"--([a-z][a-z-]*)", lambda option: option[1].replace("-", "_"), message)
    message = re.sub(r"\bdim\b(?! \d| of)", "dims", message)
    message = re.sub(r"\binput\b(?=[ =]nothing)", "inputs", message)
    message = re.sub(r"\b(\w+)=True\b", r"\1", message)
    message = re.sub(r"\b(\w+)=?[\[{]+'([^']*)'[\]}]+", r"\1 \2", message)
    return re.sub(r"\b(\w+)=(?:'(\w[\w-]*)'|([0-9A-Z]+\b)|)", lambda given: f"{given[1]} {given[2] or given[3] or ''}".strip(), message)


@pytest.mark.parametrize("name, request_, options", REQUESTS)
def test_documents_equal_those_of_the_command_line(skeletons, estimate_json, name, request_, options):
    path = skeletons / f"{name}.onnx"
    mine = pagoda.analyze(path, **request_).to_dict()
    theirs = estimate_json(path, *options)
    for document in (mine, theirs):
        document.pop("tool")
        for diagnostic in document["diagnostics"]:
            diagnostic["message"] = plain(diagnostic["message"])
        for advice in document.get("advice", []):
            advice["change"] = plain(advice["change"])
    assert mine == theirs


def test_work_that_is_done_once_at_load_is_in_the_totals(skeletons):
    estimate = pagoda.analyze(skeletons / "swin_t_dynamo.onnx")
    assert estimate.totals["at_load"] == estimate.to_dict()["totals"]["at_load"]
    assert estimate.totals["at_load"]["flops"] > 1_000_000
    assert "at_load" not in pagoda.analyze(skeletons / "resnet50.onnx").totals


def test_a_run_without_its_sizes_has_counts_and_no_times(skeletons):
    estimate = pagoda.analyze(skeletons / "bert_base.onnx", device="h200")
    assert estimate.unset == ["sequence"]
    assert estimate.roofline.seconds is None and estimate.fit.fits is None and estimate.fit.largest_batch is None
    assert estimate.totals.flops > 0
    known = pagoda.analyze(skeletons / "bert_base.onnx", device="h200", dims={"sequence": 128})
    assert known.unset == [] and known.roofline.seconds > 0
    assert "lower_bounds" not in known.totals


def test_members_that_were_not_asked_for_are_none(skeletons):
    schema = json.loads((skeletons.parent.parent / "data/schemas/estimate.schema.json").read_text())
    estimate = pagoda.analyze(skeletons / "resnet50.onnx", dims={})
    for name in set(schema["properties"]) - set(estimate.to_dict()) - {"unset"}:
        assert getattr(estimate, name) is None, name


def test_placement(skeletons):
    model = pagoda.Model(skeletons / "resnet50_qdq_int8.onnx")
    placed = pagoda.analyze(model, provider="cuda").placement[0]
    assert placed.off.nodes == 54 and placed.parts == 1 and placed.cured.nodes == 0
    assert [copy.direction for copy in placed.copies] == ["from_host"] * 54 and placed.copied_bytes == 110240
    assert placed.reasons[0].reason == "no kernel: int32" and "float32" in placed.reasons[0].cure
    assert pagoda.analyze(model).placement is None
    with pytest.raises(pagoda.Error, match="placement_form"):
        pagoda.analyze(model, provider="cuda", placement_form="fused")
    with pytest.raises(pagoda.Error, match="provider"):
        pagoda.analyze(model, provider="cudo")


def test_fusions(skeletons):
    estimate = pagoda.analyze(skeletons / "bert_base.onnx", dims={"batch": 1, "sequence": 128}, unfused=True)
    assert sum(fused.pattern == "Gelu" for fused in estimate.fused) == 12
    assert any(row.pattern == "Attention" and "opset" in row.condition for row in estimate.unfused)
    assert pagoda.analyze(skeletons / "bert_base.onnx").unfused is None


def test_sizes_beyond_a_table_get_no_advice(skeletons):
    at = {"batch": 4, "phase": "decode", "device": "a100-80gb"}
    beyond = pagoda.analyze(skeletons / "gpt2_past.onnx", past=1024, **at)
    assert "1,024 positions" in beyond.exceeded_table and beyond.fit.fits is False and beyond.advice is None
    within = pagoda.analyze(skeletons / "gpt2_past.onnx", past=1023, **at)
    assert within.exceeded_table is None and within.fit.fits is True
    assert {advice.kind for advice in within.advice} <= {"launch", "traffic", "precision", "batch"}
    assert pagoda.analyze(skeletons / "gpt2_past.onnx", past=1023, advice=False, **at).advice is None


def test_totals_and_columns_are_exact(skeletons):
    estimate = pagoda.analyze(skeletons / "resnet50.onnx")
    assert estimate.totals.macs == 4089184256
    assert estimate.totals["params"] == 25530472
    assert sum(estimate.nodes["macs"]) == estimate.totals.macs
    assert len({len(column) for column in estimate.nodes.values()}) == 1
    assert estimate.nodes.rows()[0].op_type == "Conv"
    assert estimate.kernels is None and estimate.roofline is None and estimate.fit is None
    assert isinstance(pagoda.analyze(skeletons / "resnet50.onnx", batch=10**12).totals.flops, int)


def test_kernels_of_a_fused_model(skeletons):
    estimate = pagoda.analyze(skeletons / "resnet50.onnx", traffic="fused", device="h200")
    assert sum(estimate.kernels["macs"]) == estimate.totals.macs
    assert sum(estimate.kernels["seconds"]) == pytest.approx(estimate.roofline.seconds)
    assert estimate.fit.fits is True
    assert estimate.advice[0]["gain"] > 1


def test_rows_have_the_columns_of_csv(skeletons):
    estimate = pagoda.analyze(skeletons / "resnet50.onnx", traffic="fused", device="l4", precision="fp16", predict=True)
    for by, rows in (("node", estimate.nodes), ("group", estimate.kernels)):
        assert set(rows) == set(estimate.to_csv(by).splitlines()[0].split(","))
        assert len({len(column) for column in rows.values()}) == 1
        assert sum(rows["predicted_seconds"]) > 0 and sum(rows["share"]) == pytest.approx(1)
    assert estimate.nodes.rows()[0].group == 0 and estimate.kernels.rows()[0].kernel == estimate.nodes["name"][0]


def test_columns_are_a_data_frame(skeletons):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(pagoda.analyze(skeletons / "resnet50.onnx", device="h200").nodes)
    assert frame["macs"].sum() == 4089184256
    assert frame.groupby("op_type")["seconds"].sum().idxmax() == "Conv"


def test_a_formula_is_a_function_of_its_names(skeletons):
    bert = pagoda.analyze(skeletons / "bert_base.onnx")
    formula = bert.symbolic.macs
    assert formula.names == ["batch", "sequence"]
    at = {"batch": 8, "sequence": 384}
    assert formula(**at) == pagoda.analyze(skeletons / "bert_base.onnx", dims=at).totals.macs
    assert eval(formula, {"min": min, "max": max, "floor_div": lambda a, b: a // b}, at) == formula(**at)
    with pytest.raises(pagoda.Error, match="sequence"):
        formula(batch=8)


def test_a_sweep_is_a_table(skeletons):
    sweep = pagoda.analyze(skeletons / "resnet50.onnx", sweep={"batch": [1, 2, 4]}).sweep
    assert sweep["batch"] == [1, 2, 4]
    assert sweep["macs"] == [4089184256 * batch for batch in (1, 2, 4)]


def test_bytes_and_messages_are_models_too(skeletons):
    path = skeletons / "bert_base.onnx"
    content = path.read_bytes()

    class Message:  # like an onnx.ModelProto
        def SerializeToString(self):
            return content

    at = {"batch": 2, "sequence": 16}
    expected = pagoda.analyze(path, dims=at).totals
    for source in (content, bytearray(content), Message(), pagoda.Model(path)):
        assert pagoda.analyze(source, dims=at).totals == expected
    with pytest.raises(TypeError, match="int is not a model"):
        pagoda.analyze(7)
    assert pagoda.analyze(pagoda.skeleton(path), dims=at).totals == expected


def field(number, value):
    """A field of a protobuf message: an integer below 128, or the bytes of a text or a message."""
    if isinstance(value, int):
        return bytes([number << 3, value])
    value = value.encode() if isinstance(value, str) else value
    return bytes([number << 3 | 2, len(value)]) + value


def relu_of_a_size_in(element_type):
    """A model whose Relu has as many elements as the one element of the input `n`, of an onnx.TensorProto.DataType, says."""

    def tensor(name, type_):
        return field(11, field(1, name) + field(2, field(1, field(1, type_) + field(2, field(1, field(1, 1))))))

    def node(op, inputs, output, attribute=b""):
        return field(1, b"".join(field(1, name) for name in inputs) + field(2, output) + field(4, op) + attribute)

    to_int64 = field(5, field(1, "to") + field(3, 7) + bytes([0xA0, 1, 2]))  # field 20, the type: INT
    nodes = node("Cast", ["n"], "size", to_int64) + node("Expand", ["x", "size"], "wide") + node("Relu", ["wide"], "y")
    output = field(12, field(1, "y") + field(2, field(1, field(1, 1))))
    graph = nodes + field(2, "graph") + tensor("n", element_type) + tensor("x", 1) + output
    return field(1, 8) + field(7, graph) + field(8, field(2, 18))


@pytest.mark.parametrize("element_type, value, spelled", [(7, 5, "5"), (1, 5.0, "5.0"), (9, True, "true")])
def test_values_of_inputs_decide_sizes(estimate_json, tmp_path, element_type, value, spelled):
    model = relu_of_a_size_in(element_type)
    assert "comparisons" in pagoda.analyze(model).totals.lower_bounds
    given = pagoda.analyze(model, inputs={"n": value}).totals
    assert given.comparisons == int(value) and "lower_bounds" not in given
    path = tmp_path / "relu.onnx"
    path.write_bytes(model)
    assert estimate_json(path, "--input", f"n={spelled}")["totals"]["comparisons"] == given.comparisons


def test_errors_are_those_of_the_command_line(skeletons, tool, tmp_path):
    cut = tmp_path / "cut.onnx"
    cut.write_bytes((skeletons / "resnet50.onnx").read_bytes()[:1000])
    for path in (tmp_path / "missing.onnx", cut):
        with pytest.raises(pagoda.Error) as caught:
            pagoda.analyze(path)
        assert str(caught.value) in tool("onnx-estimate", path).stderr
    for request in ({"precision": "fp13"}, {"traffic": "some"}, {"device": "h2000"}, {"past": 3},
                    {"dims": {"nothing": 3}}, {"batch": -1}, {"predict": True}, {"calibration": "x"},
                    {"tensor_parallel": 0, "device": "h200"},
                    {"tensor_parallel": 2, "device": "h200", "traffic": "resident"},
                    {"tensor_parallel": 2, "device": "h200", "predict": True}):
        with pytest.raises(pagoda.Error):
            pagoda.analyze(skeletons / "resnet50.onnx", **request)


# What the command line refuses, as arguments here and as options there.
REFUSED = [
    ({"past": 3}, ["--past", 3]),
    ({"tokens": 3}, ["--tokens", 3]),
    ({"traffic": "resident"}, ["--traffic", "resident"]),
    ({"what_if": ["fp16"]}, ["--what-if", "fp16"]),
    ({"what_if": ["fp16"], "device": "h200", "sweep": {"batch": [1, 2]}},
     ["--what-if", "fp16", "--device", "h200", "--sweep", "batch=1,2"]),
    ({"what_if": ["fp16"], "device": "h200", "count": "macs"},
     ["--what-if", "fp16", "--device", "h200", "--count", "macs"]),
    ({"predict": True}, ["--predict"]),
    ({"engine": "tensorrt"}, ["--engine", "tensorrt"]),
    ({"calibration": "tensorrt"}, ["--calibration", "tensorrt"]),
    ({"predict": True, "engine": "tensorrt", "device": "l4", "training": True},
     ["--predict", "--engine", "tensorrt", "--device", "l4", "--training"]),
    ({"tensor_parallel": 2}, ["--tensor-parallel", 2]),
    ({"tensor_parallel": 2, "device": "h200", "traffic": "resident"},
     ["--tensor-parallel", 2, "--device", "h200", "--traffic", "resident"]),
    ({"pipeline_parallel": 2, "device": "h200", "training": True},
     ["--pipeline-parallel", 2, "--device", "h200", "--training"]),
    ({"in_place": True}, ["--in-place"]),
    ({"optimizer": "adamw"}, ["--optimizer", "adamw"]),
    ({"recompute": "sqrt"}, ["--recompute", "sqrt"]),
    ({"frozen": ["a"]}, ["--frozen", "a"]),
    ({"training": True, "traffic": "fused"}, ["--training", "--traffic", "fused"]),
    ({"count": "pagoda", "traffic": "fused"}, ["--count", "pagoda", "--traffic", "fused"]),
    ({"batch": 2, "sweep": {"batch": [1, 2]}}, ["--batch", 2, "--sweep", "batch=1,2"]),
    ({"sweep": {"batch": [1, 2]}, "device": "h200", "predict": True, "training": True},
     ["--sweep", "batch=1,2", "--device", "h200", "--predict", "--training"]),
]


@pytest.mark.parametrize("request_, options", REFUSED, ids=lambda value: " ".join(map(str, value)))
def test_what_the_command_line_refuses_is_refused_here(skeletons, tool, request_, options):
    path = skeletons / "resnet50.onnx"
    with pytest.raises(pagoda.Error) as caught:
        pagoda.analyze(path, **request_)
    result = tool("onnx-estimate", path, *options)
    assert result.returncode == 2
    assert "--" not in str(caught.value)
    assert plain(str(caught.value)) in plain(result.stderr)


# Requests, and what errors and diagnostics say of them.
SPELLED = [
    ({"past": 3}, "past= needs phase="),
    ({"in_place": True}, "in_place=True needs memory=True"),
    ({"traffic": "resident"}, "traffic='resident' needs device=, whose cache it fills"),
    ({"dims": {"nothing": 3}}, "dims['nothing']: the model has no such dim"),
    ({"inputs": {"nothing": [1]}}, "inputs['nothing']: the model has no such input"),
    ({"inputs": {"nothing": True}}, "inputs['nothing']: the model has no such input of one boolean"),
    ({"inputs": {"nothing": 3}}, "inputs['nothing']: the model has no such input of one boolean or number"),
    ({"assume": {"nothing": 3}}, "assume['nothing']: the data decide no size of that name"),
    ({"batch": 2, "sweep": {"batch": [1, 2]}}, "sweep['batch'] varies what batch= sets"),
    ({"device": "h200", "tensor_parallel": 7}, "tensor_parallel=7: the model has no products"),
    ({"device": "h200", "predict": True, "engine": "onnxruntime-cpu"}, "engine='onnxruntime-cpu' needs calibration=FILE"),
    ({"phase": "decode"}, "phase='decode': the model has no pair of an input with past keys"),
]


@pytest.mark.parametrize("request_, message", SPELLED, ids=lambda value: str(value))
def test_errors_name_arguments(skeletons, request_, message):
    with pytest.raises(pagoda.Error) as caught:
        pagoda.analyze(skeletons / "resnet50.onnx", **request_)
    assert message in str(caught.value)


def test_diagnostics_and_advice_name_arguments(skeletons):
    estimate = pagoda.analyze(skeletons / "bert_base.onnx", dims={"batch": 8, "sequence": 384}, device="l4", predict=True,
                              engine="tensorrt")
    messages = " ".join(diagnostic.message for diagnostic in estimate.diagnostics)
    assert estimate.roofline.precision == "float16" and estimate.roofline.traffic == "fused"  # as TensorRT runs it
    assert "--" not in messages
    plain = pagoda.analyze(skeletons / "bert_base.onnx", dims={"batch": 8, "sequence": 384}, device="l4")
    assert "precision='float16'" in {advice.change for advice in plain.advice}


def test_segments_are_refused_without_their_starts(skeletons):
    with pytest.raises(pagoda.Error, match="recompute='segments' needs the nodes"):
        pagoda.analyze(skeletons / "resnet50.onnx", training=True, recompute="segments")


@pytest.mark.parametrize("argument", ["count", "traffic", "optimizer", "recompute"])
def test_every_name_of_a_choice_is_accepted_and_documented(skeletons, argument):
    path = skeletons / "alexnet.onnx"
    with pytest.raises(pagoda.Error, match="expected one of") as caught:
        pagoda.analyze(path, **{argument: "none such"})
    names = str(caught.value).split("expected one of ")[1].split(", ")
    assert len(names) > 2
    for name in names:
        assert f'"{name}"' in pagoda.analyze.__doc__
        beside = {"training": argument in ("optimizer", "recompute"), "device": "h200"}
        pagoda.analyze(path, **{argument: name}, **beside)


def test_charts_show_in_a_notebook(skeletons, tmp_path):
    estimate = pagoda.analyze(skeletons / "resnet50.onnx", device="h200", memory=True)
    assert xml.dom.minidom.parseString(estimate._repr_svg_()).documentElement.tagName == "svg"
    assert "<pre>" in estimate._repr_html_() and "<svg" in estimate._repr_html_()
    plain = pagoda.analyze(skeletons / "resnet50.onnx")
    assert plain._repr_svg_() is None and "GFLOP" in plain._repr_html_()
    with pytest.raises(pagoda.Error, match="device"):
        plain.to_svg()
    estimate.save(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert page.startswith("<!doctype html>") and 'id="what-if-data"' in page
    with pytest.raises(pagoda.Error, match="docx"):
        estimate.save(tmp_path / "page.docx")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["page.html"]


def test_two_models_compare(skeletons):
    change = pagoda.compare(skeletons / "resnet50.onnx", skeletons / "resnet50_qdq_int8.onnx", device="orin-agx",
                            traffic="fused")
    assert change.totals.seconds.after < change.totals.seconds.before
    assert len(change.kernels) >= 50
    assert "matched, of which" in str(change) and "lower bound" in str(change)


def test_threads_share_the_library(skeletons):
    paths = [skeletons / f"{name}.onnx" for name in ("resnet50", "swin_t", "bert_base", "unet")] * 4
    expected = [pagoda.analyze(path).totals for path in paths]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda path: pagoda.analyze(path).totals, paths)) == expected


def test_the_import_loads_no_other_module():
    # -S: what .pth files of the environment import at start would not be seen. Every start with site has os, and atexit,
    # which nanobind takes, is part of the interpreter.
    script = "import atexit, os, sys; before = set(sys.modules); sys.path.append(sys.argv[1]); import pagoda; print(*set(sys.modules) - before)"
    folder = Path(pagoda.__file__).parents[1]
    done = subprocess.run([sys.executable, "-I", "-S", "-c", script, folder], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == {"__future__", "pagoda", "pagoda._core", "pagoda._estimate"}


@pytest.mark.skipif(sys.version_info < (3, 10), reason="X | Y is a type from 3.10 on")
def test_annotations_are_types():
    hints = typing.get_type_hints(pagoda.analyze)
    assert hints["dims"] == Mapping[str, int] | None and hints["return"] is pagoda.Estimate
    assert typing.get_type_hints(pagoda.Model.__init__)["directory"] == str | os.PathLike[str]


@pytest.mark.parametrize("name", ["onnx-estimate", "onnx-skeleton", "roofline-plot", "pagoda-import", "pagoda-report"])
def test_tools_are_on_the_path(tool, name):
    result = tool(name, "--version")
    assert result.returncode == 0 and pagoda.__version__ in result.stdout


def test_a_size_that_the_data_decide_is_assumed(skeletons):
    path = skeletons / "fasterrcnn_resnet50_fpn.onnx"
    free = pagoda.analyze(path)
    name = free.to_dict()["symbols"][0]["name"]
    set_ = pagoda.analyze(path, assume={name: 1})
    assert set_.totals == free.totals
    assert name not in [symbol["name"] for symbol in set_.to_dict().get("symbols", [])]
    with pytest.raises(pagoda.Error, match=rf"assume\['nowhere'\]: .*{name}"):
        pagoda.analyze(path, assume={"nowhere": 1})


def test_operators_without_a_rule_are_stated_by_files(skeletons):
    folder = skeletons.parent.parent / "examples/custom_ops"
    path = folder / "deformable.onnx"
    assert pagoda.analyze(path).totals.unmodelled_nodes == 2  # and the product of its output, whose rank is unknown
    stated = pagoda.analyze(path, batch=1, custom_ops=[folder / "ops.json"])
    assert stated.totals.unmodelled_nodes == 0
    with pytest.raises(pagoda.Error, match="stated twice"):
        pagoda.analyze(path, custom_ops=[folder / "ops.json"] * 2)
