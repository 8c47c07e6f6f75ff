#!/usr/bin/env python3
"""Exports of small configurations of real architectures by the tools that people deploy with, as they lay graphs out.

    venv/bin/pip install torch transformers onnxruntime-genai            # for rows of "onnxruntime-genai"
    venv/bin/pip install torch diffusers transformers onnxruntime        # for "onnxruntime"
    venv/bin/pip install torch "optimum-onnx"                            # for "optimum-onnx": its own, older transformers
    venv/bin/python models/tool_exports.py -o DIR --skeleton PATH/onnx-skeleton [--only NAME...]

DIR receives the exports with random weights, models/skeletons the same without, and models/tool_exports.json what each
must be found to hold. Nothing is downloaded but packages. A row's expected work is a closed form of its configuration,
written here from the architecture's definition, or what an ONNX Runtime run of the float original counts
(onnx_count.py). Rows whose packages are not installed are named and skipped.
"""
from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
BASE = dict(vocab_size=1024, hidden_size=256, intermediate_size=512, num_hidden_layers=2, num_attention_heads=8,
            num_key_value_heads=2, max_position_embeddings=4096, bos_token_id=0, eos_token_id=1, pad_token_id=1)
# batch, new tokens, past
POINTS = ((2, 100, 0), (2, 1, 600), (5, 1, 40))


@dataclass(frozen=True)
class Row:
    name: str
    source: str
    tool: str                                              # the pip package, and how
    make: Callable[[Path], Path]                           # writes the export below a folder
    macs: Callable[[int, int, int], int] | None = None     # of batch, new tokens, past
    cache_bytes: Callable[[int, int, int], int] | None = None
    counted: Callable[[Path], list[dict]] | None = None    # where no phase is meant: bindings and MACs


def seen(tokens: int, past: int, window: int = 0) -> int:
    """Pairs of a new token and a key before it or its own, within a window where there is one."""
    return sum(min(past + i, window) if window else past + i for i in range(1, tokens + 1))


# --- onnxruntime-genai's builder ---

def genai(build: Callable[[], object], after: Callable[[Path], None] | None = None) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        import torch
        from tokenizers import Tokenizer, models
        from transformers import PreTrainedTokenizerFast
        checkpoint = folder / "checkpoint"
        torch.manual_seed(0)
        build().to(torch.bfloat16).save_pretrained(checkpoint)
        words = Tokenizer(models.WordLevel({"<s>": 0, "</s>": 1, "<unk>": 2}, unk_token="<unk>"))
        PreTrainedTokenizerFast(tokenizer_object=words, bos_token="<s>", eos_token="</s>", unk_token="<unk>",
                                pad_token="</s>").save_pretrained(checkpoint)
        if after:
            after(checkpoint)
        subprocess.run([sys.executable, "-m", "onnxruntime_genai.models.builder", "-i", str(checkpoint), "-o",
                        str(folder / "out"), "-p", "int4", "-e", "cuda", "-c", str(folder / "cache")], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder,  # it has a module "builders", too
                       env=os.environ | {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"})
        return folder / "out" / "model.onnx"
    return make


def gpt_oss():
    import transformers as t
    return t.AutoModelForCausalLM.from_config(t.GptOssConfig(
        **BASE, head_dim=64, num_local_experts=4, num_experts_per_tok=2, sliding_window=128))


def as_mxfp4(checkpoint: Path) -> None:
    """The experts as published checkpoints store them: blocks of 32 four-bit numbers with a scale of eight bits."""
    import torch
    from safetensors.torch import load_file, save_file
    path = checkpoint / "model.safetensors"
    stored = {}
    for name, value in load_file(path).items():
        if not name.endswith(("experts.gate_up_proj", "experts.down_proj")):
            stored[name] = value
            continue
        experts, rows, columns = value.shape
        stored[name + "_blocks"] = torch.randint(0, 255, (experts, columns, rows // 32, 16), dtype=torch.uint8)
        stored[name + "_scales"] = torch.randint(120, 130, (experts, columns, rows // 32), dtype=torch.uint8)
    save_file(stored, path, metadata={"format": "pt"})
    config = json.loads((checkpoint / "config.json").read_text())
    config["quantization_config"] = {"quant_method": "mxfp4", "modules_to_not_convert": []}
    (checkpoint / "config.json").write_text(json.dumps(config))


def gpt_oss_macs(b: int, s: int, p: int) -> int:
    layer = 256 * (8 + 2 * 2) * 64 + 8 * 64 * 256 + 256 * 4 + 2 * 3 * 256 * 512  # projections, router, two experts
    return b * s * (2 * layer + 256 * 1024) + b * 8 * 2 * 64 * (seen(s, p, 128) + seen(s, p))


def lfm2_moe():
    import transformers as t
    return t.AutoModelForCausalLM.from_config(t.Lfm2MoeConfig(
        **BASE, layer_types=["conv", "full_attention"], num_experts=4, num_experts_per_tok=2,
        moe_intermediate_size=128, num_dense_layers=0))


def lfm2_moe_macs(b: int, s: int, p: int) -> int:
    mixture = 256 * 4 + 2 * 3 * 256 * 128
    conv = 256 * 3 * 256 + 3 * 256 + 256 * 256  # three channels in, three taps, one channel out
    attention = 256 * (8 + 2 * 2) * 32 + 256 * 256
    return b * s * (conv + attention + 2 * mixture + 256 * 1024) + b * 8 * 2 * 32 * seen(s, p)


def qwen3_5():
    import transformers as t
    text = dict(BASE, num_hidden_layers=4, head_dim=64, layer_types=["linear_attention"] * 3 + ["full_attention"],
                linear_num_value_heads=4, linear_num_key_heads=2, linear_key_head_dim=32, linear_value_head_dim=32)
    return t.Qwen3_5ForConditionalGeneration(t.Qwen3_5Config(text_config=text))


def qwen3_5_macs(b: int, s: int, p: int) -> int:
    feed_forward = 3 * 256 * 512
    # Queries, keys and values; z; a and b; four taps; out. Each value head's state takes k v', S'k and S'q.
    linear = (256 * (2 * 2 + 4) * 32 + 256 * 4 * 32 + 2 * 256 * 4 + 256 * 4 + 4 * 32 * 256) + 3 * 4 * 32 * 32
    full = 256 * (2 * 8 + 2 * 2) * 64 + 8 * 64 * 256  # queries with as many gates
    return b * s * (3 * linear + full + 4 * feed_forward + 256 * 1024) + b * 8 * 2 * 64 * seen(s, p)


# --- Optimum's merged encoder-decoders ---

def t5_merged(folder: Path) -> Path:
    import torch
    import transformers as t
    from optimum.exporters.onnx import onnx_export_from_model
    torch.manual_seed(0)
    config = t.T5Config(vocab_size=1024, d_model=64, d_kv=16, d_ff=128, num_layers=2, num_heads=4)
    onnx_export_from_model(t.T5ForConditionalGeneration(config).eval(), output=folder,
                           task="text2text-generation-with-past", do_validation=False)
    return folder / "decoder_model_merged.onnx"


def t5_macs(encoded: int) -> Callable[[int, int, int], int]:
    """One branch projects the encoder's output to keys and values, the other finds them in the cache."""
    def macs(b: int, s: int, p: int) -> int:
        layer = 4 * 64 * 64 + 2 * 64 * 64 + 2 * 64 * 128
        scores = 2 * 64 * (s * (p + s) + s * encoded)  # masked pairs are multiplied, too
        return b * (s * (2 * layer + 64 * 1024) + 2 * scores) + (0 if p else b * encoded * 2 * 2 * 64 * 64)
    return macs


# --- diffusers, and ONNX Runtime's optimizer ---

def unet_plain(folder: Path) -> Path:
    import diffusers
    import torch
    torch.manual_seed(0)
    unet = diffusers.UNet2DConditionModel(
        sample_size=32, block_out_channels=(32, 64), layers_per_block=1, down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
        up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"), cross_attention_dim=64, attention_head_dim=8).eval()

    class Sample(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.unet = unet

        def forward(self, sample, timestep, states):
            return self.unet(sample, timestep, states, return_dict=False)[0]

    path = folder / "unet.onnx"
    torch.onnx.export(Sample(), (torch.randn(2, 4, 32, 32), torch.tensor([1]), torch.randn(2, 77, 64)), str(path),
                      dynamo=False, opset_version=17, input_names=["sample", "timestep", "encoder_hidden_states"],
                      output_names=["out_sample"],
                      dynamic_axes={"sample": {0: "batch", 2: "height", 3: "width"},
                                    "encoder_hidden_states": {0: "batch", 1: "sequence"}})
    return path


def unet_optimized(folder: Path) -> Path:
    from onnxruntime.transformers import optimizer
    from onnxruntime.transformers.fusion_options import FusionOptions
    plain = unet_plain(folder)
    model = optimizer.optimize_model(str(plain), model_type="unet", num_heads=0, hidden_size=0, opt_level=0,
                                     optimization_options=FusionOptions("unet"), use_gpu=True)
    path = folder / "unet_optimized.onnx"
    model.save_model_to_file(str(path))
    return path


def unet_counted(folder: Path) -> list[dict]:
    """What a run of the export before the optimizer multiplies, at true shapes."""
    import numpy as np
    import onnx_count
    path, points = folder / "unet.onnx", []
    for sizes in {"batch": 2, "height": 32, "width": 32, "sequence": 77}, {"batch": 1, "height": 48, "width": 32, "sequence": 20}:
        shape = [sizes["batch"], 4, sizes["height"], sizes["width"]]
        values = onnx_count.true_values(path, {
            "sample": np.zeros(shape, np.float32), "timestep": np.array([1], np.int64),
            "encoder_hidden_states": np.zeros([sizes["batch"], sizes["sequence"], 64], np.float32)})
        macs, _ = onnx_count.contraction_macs(path, values)
        points.append({"bindings": sizes, "contraction_macs": macs,
                       "origin": "an ONNX Runtime run of the export before the optimizer"})
    return points


GENAI = "onnxruntime-genai: models.builder -p int4 -e cuda"
ROWS = (
    Row("gpt_oss_genai_int4", "transformers GptOssForCausalLM, 2 layers of 256 channels, 2 of 4 experts, a window of 128",
        GENAI, genai(gpt_oss, as_mxfp4), gpt_oss_macs,
        lambda b, s, p: b * 2 * 2 * 64 * 2 * (p + s + 128)),  # the window's buffer has its rows from the start
    Row("lfm2_moe_genai_int4", "transformers Lfm2MoeForCausalLM, a convolution and an attention, 2 of 4 experts",
        GENAI, genai(lfm2_moe), lfm2_moe_macs,
        lambda b, s, p: b * (2 * 2 * 32 * 2 * (p + s) + 256 * 2 * 2)),
    Row("qwen3_5_genai_int4", "transformers Qwen3_5ForConditionalGeneration, 3 layers of linear attention and a full one",
        GENAI, genai(qwen3_5), qwen3_5_macs,
        lambda b, s, p: b * (2 * 2 * 64 * 2 * (p + s) + 3 * (256 * 3 + 4 * 32 * 32) * 2)),
    Row("t5_merged", "transformers T5ForConditionalGeneration, 2 layers of 64 channels, both branches of the decoder",
        "optimum-onnx: onnx_export_from_model, text2text-generation-with-past", t5_merged, t5_macs(20),
        lambda b, s, p: b * 2 * 2 * 64 * 4 * (p + s + 20)),  # of its own tokens, and of the encoder's 20
    Row("diffusion_unet_optimized", "diffusers UNet2DConditionModel of 32 and 64 channels",
        "onnxruntime: transformers.optimizer, model_type unet", unet_optimized, counted=unet_counted),
)


def expected(row: Row, folder: Path) -> list[dict]:
    if row.counted:
        return row.counted(folder)
    return [{"batch": b, "tokens": s, "past": p, "contraction_macs": row.macs(b, s, p),
             "cache_bytes": row.cache_bytes(b, s, p), "origin": "closed form"} for b, s, p in POINTS]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="DIR")
    parser.add_argument("--skeleton", required=True, metavar="PATH", help="the built onnx-skeleton")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="make these and keep the other entries")
    arguments = parser.parse_args()
    written = HERE / "tool_exports.json"
    entries = {e["name"]: e for e in json.loads(written.read_text())["models"]} if written.exists() else {}
    for row in ROWS:
        if arguments.only and row.name not in arguments.only:
            continue
        folder = arguments.output.resolve() / row.name
        folder.mkdir(parents=True, exist_ok=True)
        try:
            path = row.make(folder)
        except ImportError as error:
            print(f"{row.name}: skipped, {error}", flush=True)
            continue
        skeleton = HERE / "skeletons" / f"{row.name}.onnx"
        subprocess.run([arguments.skeleton, str(path), "-o", str(skeleton)], check=True)
        packages = [row.tool.split(":")[0]] + (["diffusers"] if row.counted else ["transformers"])
        entries[row.name] = {"name": row.name, "file": f"skeletons/{row.name}.onnx", "source": row.source,
                             "licence": "Apache-2.0", "tool": row.tool,
                             "versions": {p: importlib.metadata.version(p) for p in packages},
                             "expected": expected(row, folder)}
        ordered = [entries[other.name] for other in ROWS if other.name in entries]
        written.write_text(json.dumps({"schema": "pagoda.tool-exports/1", "models": ordered}, indent=1) + "\n")
        print(f"{row.name}: skeleton of {skeleton.stat().st_size:,} bytes", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
