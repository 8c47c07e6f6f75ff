"""What pagoda.analyze() gives: a document with the members of onnx-estimate's JSON."""

from __future__ import annotations

import os
from _collections_abc import Mapping, Sequence  # of collections.abc, loaded at every start under this name

from . import _core

# Modules of the standard library take longer to import than a model to analyse: functions that need html, json or shutil
# import them, and type checkers alone see typing and functools.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from functools import cached_property as cached
    from typing import Any
else:
    Any = object

    class cached:
        """A property that is computed once."""

        def __init__(self, compute):
            self.compute, self.__doc__ = compute, compute.__doc__

        def __set_name__(self, owner, name):
            self.name = name

        def __get__(self, instance, owner):
            if instance is None:
                return self
            value = instance.__dict__[self.name] = self.compute(instance)
            return value


class Formula(str):
    """An exact formula of sizes: a text that is valid Python, and a function of its names.

        formula = model.symbolic.flops
        formula(batch=8, sequence=384)   # an int, however large
        formula.names                    # ['batch', 'sequence']
    """

    @property
    def names(self) -> list[str]:
        return _core.symbols(str(self))

    def __call__(self, **sizes: int) -> int:
        """The value at these sizes. Raises Error where one of the formula's names is missing."""
        return _core.evaluate(str(self), sizes)


class Record(dict):
    """A dict whose members are attributes, too: record["flops"] is record.flops."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"no member '{name}'; there are {', '.join(self)}") from None

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self]


def _records(value: Any) -> Any:
    if isinstance(value, dict):
        return Record({key: _records(member) for key, member in value.items()})
    if isinstance(value, list):
        return [_records(item) for item in value]
    return value


class Columns(dict):
    """Lists of one length by name, as pandas.DataFrame and polars.DataFrame take them."""

    def __len__(self) -> int:  # rows, as of a table
        return len(next(iter(self.values()), []))

    def rows(self) -> list[Record]:
        names = list(self)
        return [Record(zip(names, cells)) for cells in zip(*self.values())]

    def __repr__(self) -> str:
        return f"<{len(self)} rows of {', '.join(self.keys())}>"


class Model:
    """A model in memory, to be analysed many times: of a path, of bytes, or of an onnx.ModelProto.

    `directory` is where the data of tensors outside of bytes are looked for. Weights are not read.
    """

    def __init__(self, source: Any, *, directory: str | os.PathLike[str] = "") -> None:
        if isinstance(source, (str, os.PathLike)):
            self._core = _core.Model(os.fspath(source))
        elif isinstance(source, (bytes, bytearray, memoryview)):
            self._core = _core.Model.parse(bytes(source), "", os.fspath(directory))
        elif hasattr(source, "SerializeToString"):
            self._core = _core.Model.parse(source.SerializeToString(), "", os.fspath(directory))
        else:
            raise TypeError(f"{type(source).__name__} is not a model; expected a path, bytes or an onnx.ModelProto")

    @property
    def path(self) -> str:
        return self._core.path


# Members of pagoda.estimate/1 that are there when they were asked for.
_OPTIONAL = (
    "advice", "budgets", "cannot_run", "exceeded_table", "fit", "fused", "fused_by", "measured", "memory", "phase", "placement", "precision", "roofline", "symbols",
    "traffic", "training", "types", "unfused", "variants",
)


class Estimate:
    """An estimate. Members are those of onnx-estimate's JSON (pagoda.estimate/1); what was not asked for is None.

    totals      a Record: macs, flops, params, bytes, intensity …, exact or None
    nodes       columns with a row a node; kernels with a row a fused kernel
    roofline    seconds, floor_seconds, fused_seconds, unfused_seconds, launched_seconds, predicted … on the device
    advice      changes with their kind ("fit", "launch", "traffic", "precision", "batch"), argument and gain
    placement   for each provider: its nodes, parts, copies, and reasons of what is left to the CPU
    unfused     the patterns that nearly match and do not fuse, each with its condition; `fused` those that do
    fit, memory, traffic, phase, training, variants, symbolic, bindings, model, diagnostics
    sweep       columns with a row a size
    unset       free dims without a value, other than the batch: counts take them as 1, times and fits are None
    cannot_run, exceeded_table
                why no engine can run the sizes: a node that does not work there, or a table of positions with too few rows
    """

    def __init__(self, core: Any) -> None:
        self._core = core

    @cached
    def totals(self) -> Record:
        return Record(self._core.totals())

    @cached
    def nodes(self) -> Columns:
        return Columns(self._core.nodes())

    @cached
    def kernels(self) -> Columns | None:
        columns = self._core.kernels()
        return None if columns is None else Columns(columns)

    @cached
    def diagnostics(self) -> list[Record]:
        return [Record(entry) for entry in self._core.diagnostics()]

    @cached
    def _document(self) -> dict[str, Any]:
        return self.to_dict()

    def to_dict(self) -> dict[str, Any]:
        """The whole document, as onnx-estimate --format json writes it. The caller owns it."""
        import json

        return json.loads(self._core.json())

    def to_json(self) -> str:
        return self._core.json()

    @cached
    def symbolic(self) -> Record | None:
        """Formulas of the totals: macs, flops, bytes, activation_peak_bytes."""
        members = self._document.get("symbolic")
        if members is None:
            return None
        return Record({key: Formula(text) if isinstance(text, str) else text for key, text in members.items()})

    @cached
    def unset(self) -> list[str]:
        return self._document.get("unset", [])

    @cached
    def sweep(self) -> Columns | None:
        """One row a size, in order: the swept dims by name, counts, memory and times of each."""
        sweep = self._document.get("sweep")
        if sweep is None:
            return None
        rows = sweep["points"]
        names = dict.fromkeys([*sweep["dims"], *(name for row in rows for name in row)])
        return Columns({name: [row.get(name) for row in rows] for name in names})

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name in self._document:
            return _records(self._document[name])
        if name in _OPTIONAL:
            return None
        raise AttributeError(f"an estimate has no member '{name}'; it has {', '.join(self._document)}")

    def table(self, by: str = "", top: int = 0, width: int = 0) -> str:
        """What onnx-estimate prints: the answer, or the rows of --by node|group, the `top` heaviest first."""
        return self._core.table(by, top, width)

    @cached
    def verdict(self) -> str:
        """What every output begins with: how long a run takes, what limits it, whether it fits. Empty without a device."""
        return self._core.verdict()

    def to_markdown(self, by: str = "", top: int = 0) -> str:
        return self._core.markdown(by, top)

    def to_csv(self, by: str = "node") -> str:
        return self._core.csv(by)

    def to_svg(self) -> str:
        """The roofline chart. Needs a device."""
        return self._core.svg()

    def to_html(self) -> str:
        """One page with a verdict, what-if, chart and table that needs nothing else. Needs a device."""
        return self._core.html()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes what the ending asks for: json, csv, md, txt, svg or html. A file is there whole or not at all."""
        writers = {".json": self.to_json, ".csv": self.to_csv, ".md": self.to_markdown, ".svg": self.to_svg,
                   ".html": self.to_html, ".txt": self.table}
        ending = os.path.splitext(os.fspath(path))[1]
        if ending not in writers:
            raise _core.Error(f"{path}: '{ending}' is the ending of no format; expected {', '.join(writers)}")
        text = writers[ending]()
        part = f"{os.fspath(path)}.part"
        with open(part, "w", encoding="utf-8", newline="") as file:
            file.write(text)
        os.replace(part, path)

    def __str__(self) -> str:
        import shutil

        return self.table(width=shutil.get_terminal_size((100, 24)).columns)

    def __repr__(self) -> str:
        flops, params = self.totals.flops, self.totals.params
        verdict = f", {self.verdict}" if self.verdict else ""
        return f"<pagoda.Estimate of {self.model.path or 'a model in memory'}: {flops} FLOPs, {params} parameters{verdict}>"

    def _repr_html_(self) -> str:
        import html

        answer = f"<pre>{html.escape(self.table(width=120))}</pre>"
        return answer + (self.to_svg() if self._core.has_device else "")

    def _repr_svg_(self) -> str | None:
        return self.to_svg() if self._core.has_device else None


class Comparison(Record):
    """What changed from one estimate to another: the members of pagoda.comparison/1."""

    _table: str

    def __str__(self) -> str:
        return self._table

    def __repr__(self) -> str:
        return f"<pagoda.Comparison: {self.matched} nodes matched, {self.added} added, {self.removed} removed>"

    def _repr_html_(self) -> str:
        import html

        return f"<pre>{html.escape(self._table)}</pre>"


def analyze(
    model: Any,
    *,
    batch: int = 0,
    dims: Mapping[str, int] | None = None,
    assume: Mapping[str, int] | None = None,
    custom_ops: Sequence[str | os.PathLike[str]] = (),
    inputs: Mapping[str, bool | int | float | Sequence[int]] | None = None,
    phase: str = "",
    past: int | None = None,
    tokens: int | None = None,
    count: str = "flops",
    traffic: str | None = None,
    device: str | os.PathLike[str] = "",
    precision: str = "",
    predict: bool = False,
    engine: str = "pytorch-amp",
    calibration: str = "",
    tensor_parallel: int = 1,
    pipeline_parallel: int = 1,
    expert_parallel: int = 1,
    memory: bool = False,
    in_place: bool = False,
    training: bool = False,
    optimizer: str = "sgd",
    recompute: str = "none",
    frozen: Sequence[str] = (),
    sweep: Mapping[str, str | Sequence[int]] | None = None,
    what_if: Sequence[str] = (),
    provider: str = "",
    placement_form: str = "default",
    host_device: str | os.PathLike[str] = "",
    unfused: bool = False,
    advice: bool = True,
    formulas: bool = False,
) -> Estimate:
    """Analyses a model: a path, bytes, an onnx.ModelProto or a pagoda.Model.

    Arguments mean what onnx-estimate's options of the same names do.

    batch       size of the first dim of every data input, also where the file fixes it; 0: as the file says
    dims        sizes of named dims: {"sequence": 384}
    assume      sizes that the data decide, by their symbols: {"selected_boxes": 100}
    custom_ops  files that state the shapes and work of operators without a rule (docs/custom-operators.md)
    inputs      whole shapes of inputs, or values of those with one element:
                {"image": (1, 3, 224, 224), "use_cache": True, "sr": 16000}
    phase       "prefill" or "decode" of a language model, with `past` tokens in the cache and `tokens` new ones
    count       what FLOPs are: "flops", "macs", "contraction", "hardware", "pagoda"
    traffic     of times and kernels: "unfused", "fused", "resident"; by default what the engine does, else fused with a
                device
    device      the name of a built-in device ("h200"; see pagoda.devices()) or a file: adds time bounds and fit
    precision   of all floats: "fp32", "tf32", "bf16", "fp16", "fp8", "int8" …
    predict     adds the time to expect under `engine` ("pytorch-amp", "tensorrt", "llm-serving", "onnxruntime-cpu",
                "onnxruntime-cuda", "pytorch-cpu", "pytorch-cuda"), with an interval; `calibration` is the name or file
                of what it is fitted to, by default the engine's own. Of the last four it is the file of
                pagoda-calibrate --here, and brings the device; of "tensorrt" it may be
    tensor_parallel, pipeline_parallel, expert_parallel
                number of identical devices in each direction (docs/language-models.md); each time is one step on all of them
    memory      adds the memory plan; `in_place` lets operators write over their inputs
    training    adds a training step with `optimizer` ("sgd", "momentum", "adam", "adamw"), `recompute` ("none",
                "pointwise", "sqrt") and parameters `frozen` by prefix
    sweep       sizes to go through: {"batch": [1, 2, 4]} or {"batch": "1,2,4..1024"}
    what_if     precisions to put side by side
    provider    "cuda", "cuda,webgpu": which nodes execution providers of ONNX Runtime leave to the CPU, and why
                (`placement`), in the graph as the runtime runs it or, with placement_form="plain", in that of the file;
                `host_device` is the CPU, for the time of the run as placed
    unfused     what ONNX Runtime fuses, under the first `provider`, and why not more
    advice      with a device: what would be faster (costs an analysis for each change)
    formulas    of each row, too, and where no dim is free

    Raises Error for what cannot be used. The GIL is released while the model is read and analysed.
    """
    loaded = model if isinstance(model, Model) else Model(model)
    if not isinstance(device, str):
        device = os.fspath(device)
    given = {
        name: value if isinstance(value, (bool, int, float)) else list(value) for name, value in (inputs or {}).items()
    }
    axes = [(name, values if isinstance(values, str) else list(values)) for name, values in (sweep or {}).items()]
    return Estimate(
        _core.analyze(
            loaded._core, batch=batch, dims=dict(dims or {}), assume=dict(assume or {}),
            custom_ops=[os.fspath(path) for path in custom_ops], inputs=given, phase=phase,
            past=past, tokens=tokens, count=count, traffic=traffic or "", device=device, precision=precision,
            predict=predict, engine=engine, calibration=calibration, tensor_parallel=tensor_parallel, pipeline_parallel=pipeline_parallel,
            expert_parallel=expert_parallel, memory=memory, in_place=in_place, training=training,
            optimizer=optimizer, recompute=recompute, frozen=list(frozen), sweep=axes,
            what_if=list(what_if), provider=provider, placement_form=placement_form,
            host_device=os.fspath(host_device), unfused=unfused, advice=advice, formulas=formulas,
        )
    )


def compare(before: Any, after: Any, **request: Any) -> Comparison:
    """What changed from `before` to `after`: models, analysed as analyze(model, **request), or two estimates."""
    import json

    sides = [side if isinstance(side, Estimate) else analyze(side, **request) for side in (before, after)]
    result = Comparison(_records(json.loads(_core.comparison_json(sides[0]._core, sides[1]._core))))
    result.__dict__["_table"] = _core.comparison_table(sides[0]._core, sides[1]._core)
    return result


def skeleton(model: str | os.PathLike[str] | bytes) -> bytes:
    """The model without its parameters, a few kilobytes that every part of Pagoda reads like the whole."""
    if isinstance(model, (str, os.PathLike)):
        with open(model, "rb") as file:
            model = file.read()
    return _core.skeleton(bytes(model))
