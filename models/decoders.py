#!/usr/bin/env python3
"""Decoders of published configurations as onnxruntime-genai's builder lays them out, without weights.

The sizes are those of each model's config.json; the graph is the builder's of 0.18: packed projections, one
GroupQueryAttention with rotary inside, SkipSimplifiedLayerNormalization, bfloat16. Nothing is downloaded.

    venv/bin/pip install onnx
    venv/bin/python models/decoders.py -o models/skeletons

writes NAME.onnx for each row of CONFIGS, and decoders.json beside this file with what closed forms say of each.
"""
import argparse
import json
import pathlib

from onnx import TensorProto, helper, save

# Published configurations: config.json of the named repository; positions are max_position_embeddings, the rows of the
# rotary tables.
CONFIGS = {
    "qwen2_5_14b": dict(source="Qwen/Qwen2.5-14B", hidden=5120, layers=48, heads=40, kv_heads=8, inner=13824,
                        vocabulary=152064, bias=True, positions=131072),
    "llama_3_1_70b": dict(source="meta-llama/Llama-3.1-70B", hidden=8192, layers=80, heads=64, kv_heads=8, inner=28672,
                          vocabulary=128256, positions=131072),
    "mistral_7b": dict(source="mistralai/Mistral-7B-v0.1", hidden=4096, layers=32, heads=32, kv_heads=8, inner=14336,
                       vocabulary=32000, window=4096, positions=32768),
    "mixtral_8x7b": dict(source="mistralai/Mixtral-8x7B-v0.1", hidden=4096, layers=32, heads=32, kv_heads=8,
                         inner=14336, vocabulary=32000, experts=8, experts_per_token=2, positions=32768),
}
BF16 = TensorProto.BFLOAT16


class Builder:
    def __init__(self, name, config):
        self.name, self.config = name, config
        self.head = config["hidden"] // config["heads"]
        self.nodes, self.weights, self.inputs, self.outputs = [], [], [], []

    def weight(self, name, *dims):
        tensor = TensorProto(name=name, data_type=BF16, dims=dims, data_location=TensorProto.EXTERNAL)
        entry = tensor.external_data.add()
        entry.key, entry.value = "location", self.name + ".onnx.data"
        self.weights.append(tensor)
        return name

    def node(self, op, inputs, output, domain="", outputs=None, **attributes):
        name = output.rsplit("/output_0", 1)[0]
        self.nodes.append(helper.make_node(op, inputs, outputs or [output], name=name, domain=domain, **attributes))
        return output

    def product(self, x, name, rows, columns, bias=False):
        y = self.node("MatMul", [x, self.weight(name[1:].replace("/", ".") + ".MatMul.weight", rows, columns)],
                      name + "/MatMul/output_0")
        if bias:
            y = self.node("Add", [y, self.weight(name[1:].replace("/", ".") + ".Add.bias", columns)],
                          name + "/Add/output_0")
        return y

    def norm(self, x, skip, name, last=False):
        scale = self.weight(name[1:].replace("/", ".") + ".weight", self.config["hidden"])
        y = name + "/output_0"
        outputs = [y] if last else [y, "", "", name + "/output_3"]
        self.node("SkipSimplifiedLayerNormalization", [skip, x, scale], y, "com.microsoft", outputs, epsilon=1e-5)
        return y, name + "/output_3"

    def attention(self, x, layer):
        c, at = self.config, f"/model/layers.{layer}/attn"
        width = (c["heads"] + 2 * c["kv_heads"]) * self.head
        qkv = self.product(x, at + "/qkv_proj", c["hidden"], width, c.get("bias", False))
        past = [f"past_key_values.{layer}.{part}" for part in ("key", "value")]
        present = [f"present.{layer}.{part}" for part in ("key", "value")]
        for name in past:
            self.inputs.append(helper.make_tensor_value_info(
                name, BF16, ["batch_size", c["kv_heads"], "past_sequence_length", self.head]))
        for name in present:
            self.outputs.append(helper.make_tensor_value_info(
                name, BF16, ["batch_size", c["kv_heads"], "total_sequence_length", self.head]))
        y = at + "/GroupQueryAttention/output_0"
        self.node("GroupQueryAttention", [qkv, "", "", *past, "/model/lengths/output_0", "/model/total/output_0",
                                          "cos_cache", "sin_cache"], y, "com.microsoft", [y, *present],
                  num_heads=c["heads"], kv_num_heads=c["kv_heads"], do_rotary=1,
                  local_window_size=c.get("window", -1))
        return self.product(y, at + "/o_proj", c["heads"] * self.head, c["hidden"])

    def feed_forward(self, x, layer):
        c, at = self.config, f"/model/layers.{layer}/mlp"
        gate = self.product(x, at + "/gate_proj", c["hidden"], c["inner"])
        up = self.product(x, at + "/up_proj", c["hidden"], c["inner"])
        half = self.node("Sigmoid", [gate], at + "/act_fn/Sigmoid/output_0")
        active = self.node("Mul", [gate, half], at + "/act_fn/Mul/output_0")
        both = self.node("Mul", [active, up], at + "/Mul/output_0")
        return self.product(both, at + "/down_proj", c["inner"], c["hidden"])

    def mixture(self, x, layer):
        c, at = self.config, f"/model/layers.{layer}/moe"
        scores = self.product(x, at + "/router", c["hidden"], c["experts"])
        flat = self.node("Reshape", [scores, "router_shape"], at + "/router/Reshape/output_0")
        of = at[1:].replace("/", ".")
        first = self.weight(of + ".fc1.weight", c["experts"], c["inner"], c["hidden"])
        second = self.weight(of + ".fc2.weight", c["experts"], c["hidden"], c["inner"])
        third = self.weight(of + ".fc3.weight", c["experts"], c["inner"], c["hidden"])
        return self.node("MoE", [x, flat, first, "", second, "", third], at + "/MoE/output_0", "com.microsoft",
                         k=c["experts_per_token"], activation_type="silu", normalize_routing_weights=1)

    def integers(self, name, *values, scalar=False):
        self.weights.append(helper.make_tensor(name, TensorProto.INT64, [] if scalar else [len(values)], values))
        return name

    def build(self):
        c = self.config
        int64, int32 = TensorProto.INT64, TensorProto.INT32
        self.inputs = [helper.make_tensor_value_info("input_ids", int64, ["batch_size", "sequence_length"]),
                       helper.make_tensor_value_info("attention_mask", int64, ["batch_size", "total_sequence_length"])]
        self.outputs = [helper.make_tensor_value_info("logits", BF16,
                                                      ["batch_size", "sequence_length", c["vocabulary"]])]
        one, axis = self.integers("one", 1), self.integers("axis", 1)
        place = self.integers("place", 1, scalar=True)
        if "experts" in c:
            self.integers("router_shape", -1, c["experts"])
        lengths = self.node("ReduceSum", ["attention_mask", axis], "/model/sum/output_0", keepdims=0)
        lengths = self.node("Sub", [lengths, one], "/model/last/output_0")
        self.node("Cast", [lengths], "/model/lengths/output_0", to=int32)
        shape = self.node("Shape", ["attention_mask"], "/model/shape/output_0")
        total = self.node("Gather", [shape, place], "/model/total/Gather/output_0", axis=0)
        self.node("Cast", [total], "/model/total/output_0", to=int32)
        for table in ("cos_cache", "sin_cache"):
            self.weight(table, c["positions"], self.head // 2)
        x = self.node("Gather", [self.weight("model.embed_tokens.weight", c["vocabulary"], c["hidden"]), "input_ids"],
                      "/model/embed_tokens/Gather/output_0")
        skip, scale = x, self.weight("model.layers.0.input_layernorm.weight", c["hidden"])
        x = self.node("SimplifiedLayerNormalization", [x, scale], "/model/layers.0/input_layernorm/output_0",
                      axis=-1, epsilon=1e-5, stash_type=1)
        for layer in range(c["layers"]):
            x, skip = self.norm(self.attention(x, layer), skip, f"/model/layers.{layer}/post_attention_layernorm")
            x = self.mixture(x, layer) if "experts" in c else self.feed_forward(x, layer)
            last = layer == c["layers"] - 1
            name = f"/model/layers.{layer + 1}/" + ("final_norm_layernorm" if last else "input_layernorm")
            x, skip = self.norm(x, skip, name, last)
        y = self.product(x, "/lm_head", c["hidden"], c["vocabulary"])
        self.nodes[-1].output[0] = "logits"
        assert y
        graph = helper.make_graph(self.nodes, self.name, self.inputs, self.outputs, self.weights)
        opsets = [helper.make_opsetid("", 22), helper.make_opsetid("com.microsoft", 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=10, producer_name="pagoda models/decoders.py")


def closed_forms(config):
    """Per token and in total, of the weights that are multiplied; 2 bytes a number."""
    c, head = config, config["hidden"] // config["heads"]
    width = (c["heads"] + 2 * c["kv_heads"]) * head
    attention = c["hidden"] * width + c["heads"] * head * c["hidden"]
    one = 3 * c["hidden"] * c["inner"]
    router = c["hidden"] * c.get("experts", 0)
    used = one * c.get("experts_per_token", 1) + router
    stored = one * c.get("experts", 1) + router
    other = c["layers"] * (2 * c["hidden"] + (width if c.get("bias") else 0)) + c["hidden"]
    table = c["vocabulary"] * c["hidden"]
    return {
        "weight_macs_per_token": c["layers"] * (attention + used) + table,
        # each of a query's keys: 2 products of one head
        "macs_per_pair": c["layers"] * 2 * c["heads"] * head,
        "weight_bytes": 2 * (c["layers"] * (attention + stored) + other + 2 * table + c["positions"] * head),
        "cache_bytes_per_token": c["layers"] * 2 * c["kv_heads"] * head * 2,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("-o", "--output", required=True, type=pathlib.Path)
    args = parser.parse_args()
    entries = []
    for name, config in CONFIGS.items():
        save(Builder(name, config).build(), args.output / (name + ".onnx"))
        entries.append({"name": name, **config, **closed_forms(config)})
    path = pathlib.Path(__file__).with_name("decoders.json")
    path.write_text(json.dumps({"schema": "pagoda.decoders/1", "models": entries}, indent=1) + "\n")


if __name__ == "__main__":
    main()
