"""The work of a model, as papers count it, and the length of a run."""

from __future__ import annotations

import dataclasses
from typing import Annotated

import numpy as np

from solvers.columns import Array, Count, Flag, Sample, Token, Unit, otherwise, where
from solvers.formulas.training.layer import MASKED, Mix, dense_layer_params
from solvers.formulas.transformer import LayerParams, windowed
from solvers.records import Architecture


def is_net(model: Architecture) -> Flag:
    """True for models known by their published work: convolution nets, vision transformers, diffusion models."""
    return model.forward_flops > 0


def transformer_only(model: Architecture) -> Architecture:
    """The model with the layers that this family of formulas counts one by one; a net known by its work has none."""
    counted = where(is_net(model), 0.0, 1.0)
    names = ("layers", "attention_layers", "sliding_layers", "linear_layers", "mlp_layers", "moe_layers", "vocab")
    return dataclasses.replace(model, **{name: getattr(model, name) * counted for name in names})


FlopPerSample = Annotated[Array, Unit("FLOP/sample")]


def model_flops(model: Architecture, params: LayerParams, mix: Mix, seq_len: Token, frozen: Flag) -> FlopPerSample:
    """Work of one sample, forward and backward, recomputation not counted.

    Twice the parameters that a token multiplies by, and the scores that attention really needs (half of them where it
    is causal: Megatron-LM and PaLM count them all); backward is twice that, or once where the weights are frozen.
    Chowdhery et al. 2022, arXiv:2204.02311, appendix B.
    """
    predicted = where(model.encoder_layers > 0, MASKED, 1.0)
    per_layer = dense_layer_params(params, mix) + mix.experts * model.top_k * params.expert
    multiplied = model.layers * per_layer + predicted * model.vocab * model.hidden
    span = where(model.causal, 0.5, 1.0) * seq_len
    keys = model.attention_layers * span + model.sliding_layers * np.minimum(windowed(model), span)
    qk_dim = model.head_dim
    scores = 2.0 * seq_len * keys * model.heads * (qk_dim + model.v_head_dim)
    products = 2.0 * seq_len * multiplied
    return where(frozen, 2.0, 3.0) * (products + model.forward_flops) + 3.0 * scores


def run_samples(model: Architecture, seq_len: Token, run_tokens: Token, samples: Sample) -> Count:
    """Samples of the whole run: as given, or the compute-optimal 20 tokens a parameter (Hoffmann et al. 2022)."""
    return otherwise(samples, otherwise(run_tokens, 20.0 * model.params_active) / seq_len)
