#!/usr/bin/env python3
"""Dim sizes, names, statistics and the measured file of models/run_torch.py; needs only the standard library."""

import json
import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/bench/workers"))

import run_record as record  # noqa: E402


class Dims(unittest.TestCase):
    def test_names_and_sizes_of_the_command_line(self):
        self.assertEqual(record.parse_dims(["batch=8", "past=4,sequence=1"]), {"batch": 8, "past": 4, "sequence": 1})
        for wrong in ("batch", "batch=", "batch=0", "=3", "batch=-1", "batch=x", "a=1,,b=2"):
            with self.assertRaises(record.Unusable, msg=wrong):
                record.parse_dims([wrong])

    def test_a_formula_of_names_is_evaluated(self):
        dims = {"past": 7, "sequence": 3}
        for formula, size in (("past + sequence", 10), ("2*past - 1", 13), ("past // 2", 3), ("past/2", 3), (5, 5)):
            self.assertEqual(record.dim_size(formula, dims, set()), size, formula)

    def test_what_nothing_sets_is_1_and_is_told(self):
        unset = set()
        self.assertEqual(record.dim_size("rows + 1", {}, unset), 2)
        self.assertEqual(record.dim_size("batch size", {}, unset), 1)
        self.assertEqual(record.dim_size("f(x)", {}, unset), 1)
        self.assertEqual(unset, {"rows", "batch size", "f(x)"})

    def test_a_name_that_is_no_identifier_can_be_set(self):
        self.assertEqual(record.dim_size("batch-size", {"batch-size": 4}, set()), 4)

    def test_nonsense_is_refused(self):
        with self.assertRaises(record.Unusable):
            record.dim_size("a - b", {"a": 1, "b": 2}, set())
        with self.assertRaises(record.Unusable):
            record.dim_size("a // b", {"a": 1, "b": 1 - 1}, set())
        self.assertEqual(record.dim_size("__import__('os')", {}, set()), 1)  # a name, which is never evaluated

    def test_batch_sets_fixed_first_dims_and_named_ones(self):
        self.assertEqual(record.input_shape([1, 3, 224, 224], {}, 8, set()), [8, 3, 224, 224])
        self.assertEqual(record.input_shape(["batch", "sequence"], {"sequence": 5}, 8, set()), [8, 5])
        self.assertEqual(record.input_shape([2, "batch_size", 256], {}, None, set()), [2, 1, 256])
        self.assertEqual(record.input_shape(["batch"], {"batch": 3}, 8, set()), [3])  # its own binding wins


class Names(unittest.TestCase):
    def test_a_node_is_called_by_its_name_else_its_first_output_else_its_place(self):
        self.assertEqual(record.node_label("/conv1/Conv", ["y"], 3), "/conv1/Conv")
        self.assertEqual(record.node_label("", ["", "y"], 3), "y")
        self.assertEqual(record.node_label("", [], 3), "#3")

    def test_operators_that_are_not_known_are_all_named(self):
        message = record.unknown_ops_message({"Loop": 2, "com.acme.Op": 1})
        self.assertIn("2 operators", message)
        self.assertIn("Loop (2 nodes), com.acme.Op;", message)

    def test_domains(self):
        self.assertEqual(record.qualified("", "Add"), "Add")
        self.assertEqual(record.qualified("ai.onnx", "Add"), "Add")
        self.assertEqual(record.qualified("com.microsoft", "Gelu"), "com.microsoft.Gelu")


class Document(unittest.TestCase):
    RUNS = [
        [("a", 2.0), ("b", 1.0), ("a", 1.0)],
        [("a", 4.0), ("b", 3.0), ("a", 1.0)],
        [("a", 9.0), ("b", 2.0), ("a", 1.0)],
    ]

    def document(self):
        describe = lambda key: (key, "Op", "")
        return record.measured_document(self.RUNS, [4.0, 8.0, 12.0], describe, 1, {"tool": "t", "device": "d"})

    def test_medians_over_runs_of_sums_over_launches(self):
        a, b = self.document()["kernels"]
        self.assertEqual((a["name"], a["launches"], a["seconds"]), ("a", 2, 5.0))  # 3, 5, 10
        self.assertEqual((b["seconds"], b["seconds_spread"]), (2.0, {"min": 1.0, "max": 3.0, "mean": 2.0, "n": 3}))
        self.assertEqual(self.document()["seconds"], 8.0)

    def test_what_was_not_measured_is_null_and_named(self):
        document = self.document()
        for kernel in document["kernels"]:
            self.assertIsNone(kernel["flops"])
            self.assertIsNone(kernel["bytes"])
            self.assertIsNone(kernel["energy_joules"])
        self.assertEqual({missing["what"] for missing in document["missing"]}, {"flops", "bytes", "energy"})

    def test_one_run_has_no_spread_and_differing_launches_are_not_known(self):
        one = record.measured_document(self.RUNS[:1], [4.0], lambda key: (key, "Op", ""), 0, {})
        self.assertIsNone(one["seconds_spread"])
        two = record.measured_document(
            [[("a", 1.0)], [("a", 1.0), ("a", 1.0)]], [1.0, 2.0], lambda key: (key, "Op", ""), 0, {}
        )
        self.assertIsNone(two["kernels"][0]["launches"])

    def test_it_holds_what_the_schema_asks_for(self):
        schema = json.loads((ROOT / "data/schemas/measured.schema.json").read_text(encoding="utf-8"))
        document = json.loads(record.write_document(self.document()))
        self.assertEqual(set(schema["required"]) - set(document), set())
        self.assertEqual(set(document) - set(schema["properties"]), set())
        self.assertIn(document["source"], schema["properties"]["source"]["enum"])
        kernel = schema["$defs"]["kernel"]
        for written in document["kernels"]:
            self.assertEqual(set(kernel["required"]) - set(written), set())
            self.assertEqual(set(written) - set(kernel["properties"]), set())

    def test_the_table_has_the_most_time_first(self):
        table = record.time_table(self.document()["kernels"], 1).splitlines()
        self.assertTrue(table[1].endswith("a"))
        self.assertEqual(table[2], "1 more")


if __name__ == "__main__":
    unittest.main()
