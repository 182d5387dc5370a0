"""State-space and linear-attention layers: their parameters, and the state they carry for one sequence.

Four kinds: Mamba (arXiv:2312.00752), Mamba-2 (arXiv:2405.21060), Gated DeltaNet (arXiv:2412.06464) and Lightning
Attention (arXiv:2401.04658). Engines keep the recurrent state in 32 bits and the convolution's tail in 16.
"""

from __future__ import annotations

from solvers.catalog.entries import Entry

_STATE_BYTES, _TAIL_BYTES = 4.0, 2.0


def linear_params(model: Entry) -> float:
    """Parameters of one such layer; 0 for models without."""
    kind, h = model.text("ssm_type"), _figure(model, "hidden")
    kernel = _figure(model, "ssm_conv")
    if kind == "mamba1":
        inner, state, rank = _inner(model), _figure(model, "ssm_state"), _figure(model, "ssm_dt_rank")
        projections = 2 * h * inner + inner * (rank + 2 * state) + rank * inner + inner * h
        return projections + inner * (kernel + 1) + inner * state + 2 * inner
    if kind == "mamba2":
        inner, heads = _inner(model), _figure(model, "ssm_heads")
        mixed = _mamba2_mixed(model)
        return h * (inner + mixed + heads) + mixed * (kernel + 1) + 3 * heads + inner + inner * h
    if kind == "gated_deltanet":
        keys, values, heads = _deltanet(model)
        return h * (2 * keys + 2 * values + 2 * heads) + (2 * keys + values) * kernel + 2 * heads + values * h
    if kind == "lightning_attention":
        width = _figure(model, "heads") * _figure(model, "head_dim")
        return 5 * h * width + width
    return 0.0


def linear_state_bytes(model: Entry) -> float:
    """Bytes that one such layer keeps for one sequence, whatever its length; 0 for models without."""
    kind, tail = model.text("ssm_type"), max(_figure(model, "ssm_conv") - 1, 0.0)
    if kind == "mamba1":
        inner = _inner(model)
        return _STATE_BYTES * inner * _figure(model, "ssm_state") + _TAIL_BYTES * inner * tail
    if kind == "mamba2":
        return _STATE_BYTES * _inner(model) * _figure(model, "ssm_state") + _TAIL_BYTES * _mamba2_mixed(model) * tail
    if kind == "gated_deltanet":
        keys, values, _ = _deltanet(model)
        return _STATE_BYTES * values * _figure(model, "gdn_key_head_dim") + _TAIL_BYTES * (2 * keys + values) * tail
    if kind == "lightning_attention":
        return _STATE_BYTES * _figure(model, "heads") * _figure(model, "head_dim") ** 2
    return 0.0


def _inner(model: Entry) -> float:
    """Width inside a Mamba layer."""
    heads = _figure(model, "ssm_heads") * _figure(model, "ssm_head_dim")
    return heads or _figure(model, "ssm_expand") * _figure(model, "hidden")


def _mamba2_mixed(model: Entry) -> float:
    """Channels that the convolution of Mamba-2 runs over: the inputs, B and C."""
    return _inner(model) + 2 * (_figure(model, "ssm_groups") or 1.0) * _figure(model, "ssm_state")


def _deltanet(model: Entry) -> tuple[float, float, float]:
    """Width of the keys, width of the values, and value heads of Gated DeltaNet."""
    heads = _figure(model, "gdn_value_heads")
    keys = _figure(model, "gdn_key_heads") * _figure(model, "gdn_key_head_dim")
    return keys, heads * _figure(model, "gdn_value_head_dim"), heads


def _figure(model: Entry, quantity: str) -> float:
    return model.get(quantity) or 0.0
