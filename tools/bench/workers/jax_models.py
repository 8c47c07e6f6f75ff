"""Models by name for JAX, in jax.numpy and jax.lax alone, with random weights: the residual networks and vision transformers of
torchvision, with as many parameters as theirs (resnet50 25,557,032, vit_b_16 86,567,656). Images are NCHW, convolutions run in NHWC.
"""
from __future__ import annotations

from worker import Unavailable, data_files, image_size, load_images

# Name → blocks of each stage, and whether they are bottlenecks (He et al., "Deep Residual Learning", table 1).
RESNETS = {"resnet18": ((2, 2, 2, 2), False), "resnet34": ((3, 4, 6, 3), False), "resnet50": ((3, 4, 6, 3), True),
           "resnet101": ((3, 4, 23, 3), True), "resnet152": ((3, 8, 36, 3), True)}
# Name → patch, layers, width, heads (Dosovitskiy et al., "An Image is Worth 16x16 Words", table 1); the MLP is four widths.
TRANSFORMERS = {"vit_b_16": (16, 12, 768, 12), "vit_b_32": (32, 12, 768, 12), "vit_l_16": (16, 24, 1024, 16)}
CLASSES = 1000


def listed():
    return [*RESNETS, *TRANSFORMERS, "# module:factory, a function of yours: factory(config) returns (function, arguments)"]


class Weights:
    """Makes parameters in the order of their use; statistics of batch normalisation are no parameters."""

    def __init__(self, seed):
        import numpy

        self.numpy, self.generator = numpy, numpy.random.default_rng(seed)
        self.parameters = 0

    def normal(self, *shape):
        self.parameters += int(self.numpy.prod(shape))
        fan_in = max(1, int(self.numpy.prod(shape[:-1])))
        return (self.generator.standard_normal(shape) / self.numpy.sqrt(fan_in)).astype(self.numpy.float32)

    def filled(self, value, *shape, is_parameter=True):
        self.parameters += int(self.numpy.prod(shape)) if is_parameter else 0
        return self.numpy.full(shape, value, self.numpy.float32)

    def norm(self, channels, has_statistics):
        made = {"scale": self.filled(1, channels), "bias": self.filled(0, channels)}
        if has_statistics:
            made |= {"mean": self.filled(0, channels, is_parameter=False), "variance": self.filled(1, channels, is_parameter=False)}
        return made

    def dense(self, inputs, outputs):
        return {"weight": self.normal(inputs, outputs), "bias": self.filled(0, outputs)}

    def convolution(self, side, inputs, outputs):
        return {"weight": self.normal(side, side, inputs, outputs), "norm": self.norm(outputs, True)}


def resnet(name, weights):
    import jax
    from jax import numpy as jnp

    stages, is_bottleneck = RESNETS[name]
    expansion = 4 if is_bottleneck else 1

    def convolve(x, layer, stride, is_last=False):
        side = layer["weight"].shape[0]
        pad = (side // 2, side // 2)
        x = jax.lax.conv_general_dilated(x, layer["weight"], (stride, stride), (pad, pad), dimension_numbers=("NHWC", "HWIO", "NHWC"))
        norm = layer["norm"]
        x = (x - norm["mean"]) * (norm["scale"] * jax.lax.rsqrt(norm["variance"] + 1e-5)) + norm["bias"]
        return x if is_last else jax.nn.relu(x)

    made = {"stem": weights.convolution(7, 3, 64), "blocks": []}
    strides, channels = [], 64
    for stage, count in enumerate(stages):
        inner = 64 << stage
        for i in range(count):
            sides = ((1, channels, inner), (3, inner, inner), (1, inner, 4 * inner)) if is_bottleneck else ((3, channels, inner), (3, inner, inner))
            block = {"layers": [weights.convolution(*layer) for layer in sides]}
            strides.append(2 if stage > 0 and i == 0 else 1)
            if strides[-1] == 2 or channels != inner * expansion:
                block["shortcut"] = weights.convolution(1, channels, inner * expansion)
            made["blocks"].append(block)
            channels = inner * expansion
    made["head"] = weights.dense(channels, CLASSES)

    def forward(parameters, images):
        x = convolve(jnp.transpose(images, (0, 2, 3, 1)), parameters["stem"], 2)
        x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 3, 3, 1), (1, 2, 2, 1), ((0, 0), (1, 1), (1, 1), (0, 0)))
        for block, stride in zip(parameters["blocks"], strides):
            y, strided = x, 1 if is_bottleneck else 0  # the layer that takes the stride, as torchvision has it
            for i, layer in enumerate(block["layers"]):
                y = convolve(y, layer, stride if i == strided else 1, i + 1 == len(block["layers"]))
            x = jax.nn.relu(y + (convolve(x, block["shortcut"], stride, True) if "shortcut" in block else x))
        return x.mean((1, 2)) @ parameters["head"]["weight"] + parameters["head"]["bias"]

    return forward, made


def vision_transformer(name, weights, height, width):
    import jax
    from jax import numpy as jnp

    patch, layers, size, heads = TRANSFORMERS[name]
    if height % patch or width % patch:
        raise Unavailable(f"{name} cuts images into patches of {patch}x{patch}; found {height}x{width}")
    rows, columns = height // patch, width // patch

    def layer():
        return {"norm1": weights.norm(size, False), "qkv": weights.dense(size, 3 * size), "out": weights.dense(size, size),
                "norm2": weights.norm(size, False), "up": weights.dense(size, 4 * size), "down": weights.dense(4 * size, size)}

    made = {"token": weights.filled(0, 1, 1, size), "embed": weights.dense(3 * patch * patch, size),
            "position": weights.normal(1, rows * columns + 1, size), "layers": [layer() for _ in range(layers)],
            "norm": weights.norm(size, False), "head": weights.dense(size, CLASSES)}

    def dense(x, part):
        return x @ part["weight"] + part["bias"]

    def normed(x, part):
        mean, variance = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
        return (x - mean) * jax.lax.rsqrt(variance + 1e-6) * part["scale"] + part["bias"]

    def attend(x, part):
        batch, length = x.shape[:2]
        query, key, value = jnp.moveaxis(dense(x, part["qkv"]).reshape(batch, length, 3, heads, size // heads), 2, 0)
        scores = jnp.einsum("bqhd,bkhd->bhqk", query, key) * (size // heads) ** -0.5
        return dense(jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), value).reshape(x.shape), part["out"])

    def forward(parameters, images):
        batch = images.shape[0]
        patches = images.reshape(batch, 3, rows, patch, columns, patch).transpose(0, 2, 4, 1, 3, 5).reshape(batch, rows * columns, -1)
        x = jnp.concatenate((jnp.broadcast_to(parameters["token"], (batch, 1, size)), dense(patches, parameters["embed"])), 1)
        x = x + parameters["position"]
        for part in parameters["layers"]:
            x = x + attend(normed(x, part["norm1"]), part)
            x = x + dense(jax.nn.gelu(dense(normed(x, part["norm2"]), part["up"]), approximate=False), part["down"])
        return dense(normed(x, parameters["norm"])[:, 0], parameters["head"])

    return forward, made


def build(config, name):
    """The function, its arguments, and how many parameters it has. Raises Unavailable for a name that nobody knows."""
    import numpy

    if name not in RESNETS and name not in TRANSFORMERS:
        raise Unavailable(f'found the name "{name}"; expected one of {", ".join([*RESNETS, *TRANSFORMERS])}, or "module:factory", '
                          "which returns (function, arguments)")
    height, width = image_size(config, 224)
    batch, seed = config.get("batch") or 1, config.get("seed") or 1
    weights = Weights(seed)
    forward, parameters = resnet(name, weights) if name in RESNETS else vision_transformer(name, weights, height, width)
    images = data_files(config["data"])[1] if config.get("data") else []
    pictures = load_images(images, batch, height, width) if images else \
        numpy.random.default_rng(seed).standard_normal((batch, 3, height, width)).astype(numpy.float32)
    return forward, (parameters, pictures), weights.parameters
