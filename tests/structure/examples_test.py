#!/usr/bin/env python3
"""Compiles the examples in the comments at the head of headers: examples_test.py COMPILER.

An example is a block of lines that begin with "//   ", one of which ends in a semicolon; tables, formulas and TOML have
no semicolon. The examples of public headers become one program that includes every public header, those of internal
headers another that includes all: each is a function in its own
namespace, preceded by the functions that it defines. "= …" stands for a value, ") …" for the body of a loop, and any
other "…" for nothing.
"""
import re
import sys

import headers_test

# Declarations that an example takes from its surroundings, by header.
GIVEN = {
    "pagoda/base/csv_table.h": "extern const std::string text;",
    "pagoda/base/printed_number.h": "extern const std::vector<std::string> column; void use(double);",
    "pagoda/base/what_file.h": "extern const std::string bytes;",
    "pagoda/lab/model_sizes.h": "extern const documents::Config config;",
    "pagoda/base/json.h": "extern const std::string text; extern std::vector<double> rates;",
    "pagoda/base/statistics.h": "extern std::vector<double> samples, a, b;",
    "pagoda/base/timing.h": "std::vector<double> seconds_of(std::int64_t runs);",
    "pagoda/core/budget.h": "extern const Model model; extern const Analysis analysis;",
    "pagoda/core/call_names.h": "extern const Model model; extern const Analysis analysis;",
    "pagoda/core/custom_operator.h": "extern const Model model;",
    "pagoda/documents/custom_operators.h": "extern const Model model;",
    "pagoda/documents/archive.h": "struct Sizes { std::int64_t params; std::string scope; };",
    "pagoda/estimate/compare.h": "extern const EstimateDocument before, after;",
    "pagoda/estimate/engine_memory.h": "extern const EstimateRequest request; extern const documents::EstimateDocument estimate;",
    "pagoda/estimate/engine_table.h": "extern const Model model, narrow; extern const EstimateRequest on_cpu, on_gpu;",
    "pagoda/estimate/pipeline.h": "extern const Model encoder, unet; extern const EstimateRequest request;",
    "pagoda/documents/columns.h": "extern const EstimateDocument estimate;",
    "pagoda/core/decoder.h": "extern const Model model;",
    "pagoda/base/process.h": "void use(const std::string&);",
    "pagoda/core/energy.h": "extern const double flops, bytes, intensity;",
    "pagoda/core/memory.h": "extern const Model model; extern const Analysis analysis;",
    "pagoda/core/eager.h": "extern const Model model; extern const Analysis analysis; extern const DeviceSpec device; extern const Calibration calibration;",
    "pagoda/core/engine.h": "extern const Model model; extern const Analysis analysis;",
    "pagoda/core/roofline.h": "extern const Model model;",
    "pagoda/core/structure.h": "extern const Model model; extern const Analysis analysis;",
    "pagoda/core/sweep.h": "extern const Model model;",
    "pagoda/core/traffic.h": "extern const Model model; extern const Analysis analysis;",
    "pagoda/core/train.h": "extern const Model model;",
    "pagoda/documents/result.h": "extern const Result result;",
    "pagoda/measure.h": "void launch_kernels();",
    "pagoda/core/parallel.h": "extern const Model model; extern const Analysis analysis;",
    "pagoda/core/onnxruntime.h": "extern const Model model; extern const Analysis analysis;",
    "pagoda/core/serving.h": "extern const Model model; extern const Share share;",
    "pagoda/core/tensorrt.h": "extern const Model model;",
    "pagoda/measured/against.h": "extern const Measured a, b; extern const EstimateDocument estimate, quantised;",
    "pagoda/measured/energy_fit.h": "extern const std::vector<EnergyRow> rows;",
    "pagoda/measured/energy_table.h": "extern const std::string text; extern const EstimateDocument estimate;",
    "pagoda/lab/energy_report.h": "extern const EnergyTable table; extern const DeviceSpec device;",
    "pagoda/measured/ncu.h": "extern const Measured ours;",
    "pagoda/lab/plateaus.h": "extern const std::vector<WorkingSetPoint> sweep;",
    "pagoda/measured/record.h": "extern const std::string text, path;",
    "pagoda/lab/theory.h": "extern const Ceiling ceiling;",
    "pagoda/present/plot.h": "extern const std::string json_text;",
}


def examples(text):
    """The examples at the head of a header, without their comments."""
    head = re.match(r"(?://[^\n]*\n)*", text)[0].splitlines()
    block = []
    for line in [*head, "//"]:
        if line.startswith("//   "):
            block.append(re.sub(r"\s*//(?=(?:[^\"]|\"[^\"]*\")*$).*", "", line[5:]))
        else:
            if any(line.endswith(";") for line in block):
                yield "\n".join(block)
            block = []


def function(header, example, number, namespaces):
    """An example as C++ that compiles if the example is correct."""
    for pattern, instead in ((r"= …", "= {}"), (r"\) …", ") {}"), (r",? ?…", "")):
        example = re.sub(pattern, instead, example)
    defined = re.findall(r"^(?:template <.*>\n)?\w[^;\n]*\) \{(?: .*|\n(?:.*\n)*?)\}$", example, re.M)  # functions
    for text in defined:
        example = example.replace(text, "")
    using = "\n".join(f"using namespace {name};" for name in namespaces)
    return (f"namespace example_{number} {{\n{using}\n{GIVEN.get(header, '')}\n" + "\n".join(defined) +
            f'\nvoid example() {{\n#line 1 "example of {header}"\n{example}\n}}\n}}\n')


def program(texts, others=()):
    """(source, number of examples) of {header: its text}; `others` are included before."""
    namespaces = {name.replace("inline ", "") for text in texts.values()
                  for name in re.findall(r"^namespace (pagoda[\w: ]*) \{", text, re.M)}
    source, count = "#include <fstream>\n#include <iostream>\n" + headers_test.including([*others, *texts]), 0
    for header, text in texts.items():
        for example in examples(text):
            count += 1
            source += function(header, example, count, sorted(namespaces))
    return source, count


def main():
    compiler = sys.argv[1]
    tops = {**headers_test.public_headers(), **headers_test.internal_headers()}
    texts, internal = ({header: (top / header).read_text() for top, found in group.items() for header in found}
                       for group in (headers_test.public_headers(), headers_test.internal_headers()))
    flags = ["-Wno-unused", "-Wno-unused-result", "-Wno-return-type"]
    source, count = program(texts)
    source_internal, count_internal = program(internal, texts)
    complaint = (headers_test.compile_text(compiler, source, *flags) +
                 headers_test.compile_text(compiler, source_internal, *flags, tops=tops))
    if complaint:
        print(complaint)
    unused = [header for header in GIVEN if not list(examples({**texts, **internal}.get(header, "")))]
    if unused:
        print(f"GIVEN names headers without an example: {unused}")
    assert count > 20, f"expected more than 20 examples, found {count}"
    # Test of the check itself: a wrong example must not compile.
    wrong, _ = program({"pagoda/core/dim.h": texts["pagoda/core/dim.h"].replace("Dim::symbol", "Dim::symbl", 1)})
    assert "symbl" in headers_test.compile_text(compiler, wrong), "an example that is wrong compiles"
    print(f"{compiler}: {count + count_internal} examples of {len(texts)} public and {len(internal)} internal headers")
    return bool(complaint or unused)


if __name__ == "__main__":
    sys.exit(main())
