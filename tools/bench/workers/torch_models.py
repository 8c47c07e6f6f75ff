"""Models by name with random weights, and inputs for them: torchvision's, timm's ("timm:NAME"), transformers' (by
architecture and sizes, no download), and an LSTM language model. An entry in ARCHITECTURES says what a published name
means in transformers' terms; "transformers:bert" is the type's default, "transformers:BertForMaskedLM" that class.
"""
from __future__ import annotations

import inspect

from worker import Unavailable, data_files, image_size, load_images

# Published name → (transformers' model type, sizes that differ from that type's defaults).
ARCHITECTURES = {
    "bert-base-uncased": ("bert", {}),
    "bert-large-uncased": ("bert", {"hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16, "intermediate_size": 4096}),
    "distilbert-base-uncased": ("distilbert", {}),
    "roberta-base": ("roberta", {"vocab_size": 50265, "max_position_embeddings": 514, "type_vocab_size": 1}),
    "albert-base-v2": ("albert", {"embedding_size": 128, "hidden_size": 768, "num_attention_heads": 12, "intermediate_size": 3072}),
    "gpt2": ("gpt2", {}),
    "gpt2-medium": ("gpt2", {"n_embd": 1024, "n_layer": 24, "n_head": 16}),
    "t5-small": ("t5", {}),
    "google/vit-base-patch16-224": ("vit", {}),
    "align": ("align", {}),
    "clip": ("clip", {}),
    "whisper-tiny": ("whisper", {"d_model": 384, "encoder_layers": 4, "decoder_layers": 4, "encoder_attention_heads": 6,
                                 "decoder_attention_heads": 6, "encoder_ffn_dim": 1536, "decoder_ffn_dim": 1536}),
    "llama-160m": ("llama", {"hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072, "vocab_size": 32000}),
}


def lstm(torch):
    """Embedding of 10,000 words into 650, two LSTM layers of 650, the vocabulary again."""

    class LanguageModel(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = torch.nn.Embedding(10_000, 650)
            self.lstm = torch.nn.LSTM(650, 650, num_layers=2, batch_first=True)
            self.head = torch.nn.Linear(650, 10_000)

        def forward(self, input_ids):
            return self.head(self.lstm(self.embedding(input_ids))[0])

    return LanguageModel()


def listed():
    """Names that build() knows without being told where from."""
    names = ["lstm", *ARCHITECTURES]
    try:
        import torchvision

        names += torchvision.models.list_models(module=torchvision.models)
        names += torchvision.models.list_models(module=torchvision.models.segmentation)
    except ModuleNotFoundError:
        names.append("# torchvision's, where it is installed")
    return names + ["# timm:NAME, where timm is installed (timm.list_models())",
                    "# transformers:TYPE or transformers:CLASS, where transformers is installed"]


def of_transformers(kind, sizes):
    import transformers

    made = getattr(transformers, kind, None)
    if getattr(made, "config_class", None):
        return made(made.config_class(**sizes))
    return transformers.AutoModel.from_config(transformers.AutoConfig.for_model(kind, **sizes))


def build(torch, name):
    """The module and where it is from. Raises Unavailable for a name that nobody knows."""
    if name == "lstm":
        return lstm(torch), "torch"
    if name.startswith("timm:"):
        import timm

        if name[5:] not in timm.list_models():
            raise Unavailable(f'found the name "{name}", which timm {timm.__version__} has not; timm.list_models() has those')
        return timm.create_model(name[5:], pretrained=False), "timm"
    if name not in ARCHITECTURES and not name.startswith("transformers:"):
        import torchvision

        if name in torchvision.models.list_models():
            builder = torchvision.models.get_model_builder(name)
            # Models on a backbone would download that one's weights.
            none = {key: None for key in ("weights", "weights_backbone") if key in inspect.signature(builder).parameters}
            return builder(**none), "torchvision"
    try:
        return of_transformers(*ARCHITECTURES.get(name, (name.removeprefix("transformers:"), {}))), "transformers"
    except (ValueError, KeyError) as error:
        known = ", ".join(sorted(ARCHITECTURES))
        raise Unavailable(f'found the name "{name}"; expected one of torchvision, lstm, {known}, timm:NAME, or transformers:TYPE') from error


def image_side(module):
    """Side of the images that a transformers model expects."""
    config = getattr(module, "config", None)
    for part in (config, getattr(config, "vision_config", None)):
        size = getattr(part, "image_size", None)
        if isinstance(size, int):
            return size
    return 224


def inputs_for(torch, module, origin, config):
    """Keyword arguments of forward(), seeded, on the CPU in float32; and what one run handles."""
    batch, sequence = config.get("batch") or 1, config.get("sequence") or 128
    generator = torch.Generator().manual_seed(config.get("seed") or 1)
    images = data_files(config["data"])[1] if config.get("data") else []

    def picture(side):
        height, width = image_size(config, side)
        if images:
            return torch.from_numpy(load_images(images, batch, height, width))
        return torch.randn(batch, 3, height, width, generator=generator)

    def tokens(vocabulary):
        return torch.randint(0, min(vocabulary, 1000), (batch, sequence), generator=generator)

    if origin == "torch":
        return {"input_ids": tokens(10_000)}, batch
    parameters = list(inspect.signature(module.forward).parameters)
    if origin == "torchvision":
        side = 299 if type(module).__name__ == "Inception3" else 224
        return {parameters[0]: picture(side)}, batch
    if origin == "timm":
        return {parameters[0]: picture(module.default_cfg["input_size"][-1])}, batch
    sizes = module.config
    made = {}
    vocabulary = getattr(sizes, "vocab_size", None) or getattr(getattr(sizes, "text_config", None), "vocab_size", 1000)
    if "input_ids" in parameters:
        made["input_ids"] = tokens(vocabulary)
    if "attention_mask" in parameters and "input_ids" in made:
        made["attention_mask"] = torch.ones(batch, sequence, dtype=torch.int64)
    if "pixel_values" in parameters:
        made["pixel_values"] = picture(image_side(module))
    if "input_features" in parameters:
        made["input_features"] = torch.randn(batch, sizes.num_mel_bins, 2 * sizes.max_source_positions, generator=generator)
        made.pop("attention_mask", None)
    if "decoder_input_ids" in parameters:
        made["decoder_input_ids"] = tokens(vocabulary)
    if not made:
        raise Unavailable(f"cannot make inputs for forward({', '.join(parameters)})")
    return made, batch
