"""Builds the source networks of the model set, each with distinct seeded weights and in evaluation mode.

Imports of optional packages (transformers) happen inside the builder that needs them, so the file loads under
both Pythons that export.py runs on.
"""
from __future__ import annotations

import functools
import math

import torch
from torch import nn


def randomised(module: nn.Module, seed: int = 0) -> nn.Module:
    """Gives every parameter and running statistic its own values; equal initializers would be merged on export."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            if parameter.dim() >= 2:                                   # keep activations near unit variance
                fan_in = math.prod(parameter.shape[1:])
                parameter.normal_(0.0, 1.0 / math.sqrt(fan_in), generator=generator)
            elif name.endswith("bias"):
                parameter.uniform_(-0.1, 0.1, generator=generator)
            else:
                parameter.uniform_(0.5, 1.5, generator=generator)
        for name, buffer in module.named_buffers():
            if name.endswith("running_mean"):
                buffer.uniform_(-0.1, 0.1, generator=generator)
            elif name.endswith("running_var"):
                buffer.uniform_(0.5, 1.5, generator=generator)
    return module.eval()


def torchvision(name: str, family: str = "", **options) -> nn.Module:
    """torchvision.models[.family].name without pretrained weights."""
    import torchvision as tv
    where = getattr(tv.models, family) if family else tv.models
    return randomised(getattr(where, name)(weights=None, **options))


# ---- transformers: configurations published with the checkpoints, built without downloading anything -------------

class BertEncoder(nn.Module):
    """BERT as served: token ids, mask and segment ids in; hidden states (and the pooled first token) out."""

    def __init__(self, model: nn.Module, pooled: bool):
        super().__init__()
        self.model, self.pooled = model, pooled

    def forward(self, input_ids, attention_mask, token_type_ids):
        out = self.model(input_ids=input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids)
        return (out.last_hidden_state, out.pooler_output) if self.pooled else out.last_hidden_state


def bert_base(attention: str = "eager", pooled: bool = False) -> nn.Module:
    """bert-base-uncased."""
    from transformers import BertConfig, BertModel
    config = BertConfig(attn_implementation=attention)       # the defaults are bert-base-uncased
    return randomised(BertEncoder(BertModel(config, add_pooling_layer=pooled), pooled))


class Decoder(nn.Module):
    """A causal language model over a whole prompt: ids and mask in, logits out."""

    def __init__(self, model: nn.Module):
        super().__init__()
        self.model = model

    def forward(self, input_ids, attention_mask):
        return self.model(input_ids=input_ids, attention_mask=attention_mask, use_cache=False).logits


class CachedDecoder(nn.Module):
    """One decoding step with a key/value cache passed as flat tensors: past.0.key, past.0.value, past.1.key ..."""

    def __init__(self, model: nn.Module):
        super().__init__()
        self.model = model

    def forward(self, input_ids, attention_mask, *past):
        cache = filled_cache(self.model.config, past)
        out = self.model(input_ids=input_ids, attention_mask=attention_mask, past_key_values=cache, use_cache=True)
        return out.logits, *flat_cache(out.past_key_values)


def filled_cache(config, past):
    from transformers import DynamicCache
    cache = DynamicCache(config=config)
    for layer in range(len(past) // 2):
        cache.update(past[2 * layer], past[2 * layer + 1], layer)
    return cache


def flat_cache(cache):
    return [tensor for layer in cache.layers for tensor in (layer.keys, layer.values)]


def gpt2(cached: bool = False, attention: str = "eager") -> nn.Module:
    """gpt2 (124 M parameters)."""
    from transformers import GPT2Config, GPT2LMHeadModel
    model = GPT2LMHeadModel(GPT2Config(attn_implementation=attention))       # the defaults are the gpt2 checkpoint's
    return randomised(CachedDecoder(model) if cached else Decoder(model))


# SmolLM2-135M has 30 of these layers; they are all alike.
SMOLLM2_135M = dict(vocab_size=49152, hidden_size=576, intermediate_size=1536, num_hidden_layers=6,
                    num_attention_heads=9, num_key_value_heads=3, max_position_embeddings=8192, rms_norm_eps=1e-5,
                    rope_theta=100000.0, tie_word_embeddings=True)


def llama(cached: bool = False, attention: str = "eager", dtype: str = "float32") -> nn.Module:
    """The Llama architecture with grouped-query attention, three query heads to a key/value head."""
    from transformers import LlamaConfig, LlamaForCausalLM
    model = LlamaForCausalLM(LlamaConfig(attn_implementation=attention, **SMOLLM2_135M))
    return randomised(CachedDecoder(model) if cached else Decoder(model)).to(getattr(torch, dtype))


class T5Encoder(nn.Module):
    def __init__(self, model: nn.Module):
        super().__init__()
        self.model = model

    def forward(self, input_ids, attention_mask):
        return self.model(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state


class T5Decoder(nn.Module):
    """The decoder and the language-model head of T5, over a whole target sequence."""

    def __init__(self, model: nn.Module):
        super().__init__()
        self.decoder, self.lm_head = model.decoder, model.lm_head

    def forward(self, decoder_input_ids, encoder_hidden_states, encoder_attention_mask):
        out = self.decoder(input_ids=decoder_input_ids, encoder_hidden_states=encoder_hidden_states,
                           encoder_attention_mask=encoder_attention_mask, use_cache=False)
        return self.lm_head(out.last_hidden_state * self.decoder.config.d_model ** -0.5)


def t5(part: str, attention: str = "eager") -> nn.Module:
    """t5-small, `part` being "encoder" or "decoder"."""
    from transformers import T5Config, T5EncoderModel, T5ForConditionalGeneration
    config = T5Config(vocab_size=32128, d_model=512, d_kv=64, d_ff=2048, num_layers=6, num_heads=8,
                      attn_implementation=attention)
    if part == "encoder":
        return randomised(T5Encoder(T5EncoderModel(config)))
    return randomised(T5Decoder(T5ForConditionalGeneration(config)))


class WhisperEncoder(nn.Module):
    def __init__(self, model: nn.Module):
        super().__init__()
        self.model = model

    def forward(self, input_features):
        return self.model(input_features).last_hidden_state


def whisper_encoder(attention: str = "eager") -> nn.Module:
    """The audio encoder of whisper-tiny: 30 s of log-mel spectrogram."""
    from transformers import WhisperConfig
    from transformers.models.whisper.modeling_whisper import WhisperEncoder as Encoder
    config = WhisperConfig(d_model=384, encoder_layers=4, encoder_attention_heads=6, encoder_ffn_dim=1536,
                           num_mel_bins=80, max_source_positions=1500, attn_implementation=attention)
    return randomised(WhisperEncoder(Encoder(config)))
