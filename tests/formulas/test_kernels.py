"""Kernel times respect physics: bounds, monotony, smoothness, and one answer whatever the shape of the arrays."""

import dataclasses

import numpy as np
import pytest

from solvers.catalog import catalog
from solvers.formulas import kernels as formulas
from solvers.formulas.kernels import Kernels
from solvers.lowering.kernels import kernel_figures, kernels_row

PEAK, BANDWIDTH, LINK = 989e12, 3.35e12, 450e9
H100 = Kernels(**kernels_row(catalog.find("hardware", "H100-SXM"), "bf16"))
RNG = np.random.default_rng(7)


def draw(low, high):
    return np.exp(RNG.uniform(np.log(low), np.log(high), 400))


M, N, K = draw(1, 32768), draw(256, 65536), draw(256, 65536)
SIZE, RANKS = draw(256, 1e9), RNG.integers(2, 17, 400).astype(float)
BATCH, LENGTH, HEADS = draw(1, 64), draw(64, 32768), draw(4, 64)
WIDTH = RNG.choice([64.0, 96.0, 128.0, 192.0, 256.0], 400)

CALLS = {
    "gemm": lambda k, p, w, i: formulas.gemm_time(M[i], N[i], K[i], 2.0, 2.0, k, p, w),
    "prefill": lambda k, p, w, i: formulas.prefill_attention_time(
        BATCH[i], LENGTH[i], LENGTH[i], LENGTH[i] / 2, HEADS[i], 8.0, WIDTH[i], WIDTH[i], 2.0, k, p, w
    ),
    "decode": lambda k, p, w, i: formulas.decode_attention_time(SIZE[i], 64 * SIZE[i], k, p, w),
    "experts": lambda k, p, w, i: formulas.experts_time(
        M[i], 8.0, 128.0, 4096.0, 1536.0, 3.0, RANKS[i], 2.0, 2.0, k, p, w
    ),
    "all_reduce": lambda k, p, w, i: formulas.all_reduce_time(SIZE[i], RANKS[i], k, w / BANDWIDTH * LINK),
    "ring": lambda k, p, w, i: formulas.ring_time(SIZE[i], RANKS[i], k, w / BANDWIDTH * LINK),
    "all_to_all": lambda k, p, w, i: formulas.all_to_all_time(SIZE[i], RANKS[i], k, w / BANDWIDTH * LINK),
    "elementwise": lambda k, p, w, i: formulas.elementwise_time(SIZE[i], k, w),
}
MOVED = (RANKS - 1) / RANKS * SIZE / LINK
BOUNDS = {
    "gemm": np.maximum(2 * M * N * K / PEAK, 2 * (N * K + M * K + M * N) / BANDWIDTH),
    "prefill": 2 * BATCH * LENGTH**2 * HEADS * WIDTH / PEAK,
    "decode": np.maximum(SIZE / BANDWIDTH, 64 * SIZE / PEAK),
    "experts": 6 * M * 8 / RANKS * 4096 * 1536 / PEAK,
    "all_reduce": SIZE / LINK,
    "ring": MOVED,
    "all_to_all": MOVED,
    "elementwise": SIZE / BANDWIDTH,
}
ALL = slice(None)


@pytest.mark.parametrize("name", CALLS)
def test_no_kernel_beats_the_machine(name):
    for device in ("H100-SXM", "B200", "L40S", "MI300X", "TPU-v5p"):
        entry = catalog.find("hardware", device)
        constants = Kernels(**kernels_row(entry, "bf16"))
        assert np.all(CALLS[name](constants, PEAK, BANDWIDTH, ALL) >= BOUNDS[name] * (1 - 1e-12))


@pytest.mark.parametrize("name", CALLS)
def test_a_faster_machine_is_never_slower(name):
    base = CALLS[name](H100, PEAK, BANDWIDTH, ALL)
    assert np.all(CALLS[name](H100, PEAK * 1.3, BANDWIDTH, ALL) <= base)
    assert np.all(CALLS[name](H100, PEAK, BANDWIDTH * 1.3, ALL) <= base)


@pytest.mark.parametrize("name", CALLS)
def test_arrays_and_scalars_agree_to_the_last_bit(name):
    together = CALLS[name](H100, PEAK, BANDWIDTH, ALL)
    one_by_one = [CALLS[name](H100, PEAK, BANDWIDTH, i) for i in range(len(M))]
    strided = CALLS[name](H100, PEAK, BANDWIDTH, slice(None, None, 3))
    assert np.array_equal(together, np.array(one_by_one, dtype=float))
    assert np.array_equal(together[::3], strided)


def test_times_grow_smoothly_from_memory_to_compute():
    m = np.linspace(16, 4096, 5000)
    time = formulas.gemm_time(m, 8192.0, 8192.0, 2.0, 2.0, H100, PEAK, BANDWIDTH)
    slope = np.diff(time)
    assert np.all(slope > 0)
    assert np.max(np.abs(np.diff(slope))) < 0.01 * np.max(slope)


def test_one_rank_communicates_for_free():
    assert formulas.all_reduce_time(1e9, 1.0, H100, LINK) == 0.0
    assert formulas.ring_time(1e9, np.array([1.0, 2.0]), H100, LINK)[0] == 0.0


def test_experts_touched_between_one_token_and_many():
    assert formulas.experts_touched(1.0, 8.0, 128.0) == pytest.approx(8.0)
    assert formulas.experts_touched(1e5, 8.0, 128.0) == pytest.approx(128.0)


def test_causal_attention_costs_less_than_full_and_more_than_half():
    shape = (4.0, 8192.0, 8192.0)
    rest = (32.0, 8.0, 128.0, 128.0, 2.0, H100, PEAK, BANDWIDTH)
    causal = formulas.prefill_attention_time(*shape, 4096.0, *rest)
    full = formulas.prefill_attention_time(*shape, 8192.0, *rest)
    assert full / 2 < causal < full


@pytest.mark.parametrize(
    "device, m, n, k, microseconds",
    [
        ("A100-SXM-80", 8192, 8192, 8192, 4188.5),
        ("H100-SXM", 8192, 8192, 8192, 1404.8),
        ("B200", 8192, 8192, 8192, 737.2),
    ],
)
def test_large_products_as_measured(device, m, n, k, microseconds):
    """aiconfigurator-core 0.12.0, BF16 GEMM tables of TensorRT-LLM; 10 %."""
    entry = catalog.find("hardware", device)
    constants = Kernels(**kernels_row(entry, "bf16"))
    time = formulas.gemm_time(
        m, n, k, 2.0, 2.0, constants, entry.require("peak_flops_bf16"), entry.require("memory_bandwidth")
    )
    assert time * 1e6 == pytest.approx(microseconds, rel=0.10)


@pytest.mark.parametrize("precision", ["bf16", "fp8", "nvfp4", "w4a16", "fp32"])
def test_every_accelerator_has_every_constant(precision):
    for entry in catalog.entries("hardware"):
        row = kernels_row(entry, precision)
        assert set(row) == {f.name for f in dataclasses.fields(Kernels)}
        fractions = [v for k, v in row.items() if k.endswith("_fraction")]
        assert all(0 < f <= 1 for f in fractions if not np.isnan(f)), (entry.name, row)


def test_unseen_devices_say_so():
    seen = kernels_row(catalog.find("hardware", "H100-SXM"), "bf16")["kernel_error"]
    sibling = kernels_row(catalog.find("hardware", "H100-PCIe"), "bf16")["kernel_error"]
    estimate = kernels_row(catalog.find("hardware", "Trainium2"), "bf16")["kernel_error"]
    assert seen < sibling < estimate
    assert kernel_figures(catalog.find("hardware", "H100-PCIe"), "bf16")["gemm_overhead"].place == "class:hopper"
