"""Feeding accelerators: storage, network, cache, preprocessing workers and the copy to the device.

The stages of an input pipeline overlap (each works on another batch), so a step takes as long as its slowest stage,
not as long as their sum. Mohan et al. 2021, doi:10.14778/3446095.3446100; Murray et al. 2021,
doi:10.14778/3476311.3476374; Zhao et al. 2022, doi:10.1145/3470496.3533044.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from solvers.columns import Byte, BytePerSecond, Choice, Count, Ratio, Sample, SamplePerSecond, Second, column, where

STAGES = ("accelerator", "storage", "transform", "copy")
"""What can bind a training step: the accelerator itself, reading, preprocessing, or the copy to the device."""


def cache_miss_fraction(cache_hit_rate: Ratio, epochs: Count) -> Ratio:
    """The part of all reads that goes to storage: everything in the first epoch, what the cache lacks in the others.

    Args:
        cache_hit_rate: part of the reads that a warm cache answers.
        epochs: passes over the data; NaN means the steady state, in which the cold pass no longer counts.

    Mohan et al. 2021, section 3: a page cache smaller than the data set thrashes, so the hit rate that counts is the
    one measured, at most cache size over data size.
    """
    warm = where(np.isnan(epochs), 1.0, (epochs - 1.0) / epochs)
    return 1.0 - cache_hit_rate * warm


def supply_bandwidth(
    storage_bandwidth: BytePerSecond,
    network_bandwidth: BytePerSecond,
    cache_bandwidth: BytePerSecond,
    miss_fraction: Ratio,
    sample_size_bytes: Byte,
    storage_latency: Second,
    reads_in_flight: Count,
) -> BytePerSecond:
    """Stored bytes a second that reach the host: the slower of what misses cost and what the cache serves.

    Misses come at the slowest of the device, of the network (NaN: storage is local) and of `reads_in_flight` samples
    at a time, each of which waits `storage_latency`; many small files on a shared file system are bound by the last
    (NaN sample size: large sequential reads). Hits come at the cache's bandwidth.
    """
    device = np.fmin(storage_bandwidth, network_bandwidth)
    by_latency = reads_in_flight * sample_size_bytes / storage_latency
    missing = np.fmin(device, by_latency)
    return np.minimum(missing / np.maximum(miss_fraction, 1e-12), cache_bandwidth)


def worker_sample_rate(
    sample_size_bytes: Byte, decoded_size_bytes: Byte, decode_bandwidth: BytePerSecond, augment_bandwidth: BytePerSecond
) -> SamplePerSecond:
    """What one worker on one core preprocesses: it unpacks the stored bytes, then works over the decoded ones."""
    return 1.0 / (sample_size_bytes / decode_bandwidth + decoded_size_bytes / augment_bandwidth)


def loader_sample_rate(
    n_workers: Count,
    cpu_threads: Count,
    one_worker: SamplePerSecond,
    worker_scaling: Ratio,
    decoded_size_bytes: Byte,
    handover_bandwidth: BytePerSecond,
) -> SamplePerSecond:
    """What all workers of one loader preprocess together: not workers times the rate of one.

    Each of several workers keeps `worker_scaling` of its single rate, workers beyond the hardware threads add nothing,
    and every decoded sample passes through one process that collects the batch at `handover_bandwidth`. The slower of
    the two decides, with a soft knee (order 8). `n_workers` of 0 means that the training process decodes by itself.

    On 88 published points (11 decoders, 0 to 8 workers, two 16-thread servers) the median error is 2 % with each
    server's own constants, and 6 % with those of the other.
    """
    busy = np.fmin(np.maximum(n_workers, 1.0), cpu_threads)
    kept = where(n_workers > 0.5, worker_scaling, 1.0)
    workers = busy * kept * one_worker
    collecting = where(n_workers > 0.5, handover_bandwidth / decoded_size_bytes, np.inf)
    return _soft_minimum(workers, collecting)


def _soft_minimum(one: SamplePerSecond, other: SamplePerSecond) -> SamplePerSecond:
    """The smaller of two rates, up to 8 % less where they meet; by squarings and roots alone."""
    low, high = np.minimum(one, other), np.maximum(one, other)
    ratio = low / high
    second = ratio * ratio
    fourth = second * second
    return low / np.sqrt(np.sqrt(np.sqrt(1.0 + fourth * fourth)))


@dataclass(frozen=True)
class Step:
    """One training step whose input stages overlap with it."""

    load_time: Second = column("reading one batch from storage or cache")
    transform_time: Second = column("preprocessing one batch on the host")
    copy_time: Second = column("copying one batch to the accelerator")
    step_time: Second = column("one step: its slowest stage")
    binding: Choice = column("the stage that decides", choices=STAGES)


def overlapped_step(
    batch_size: Sample,
    sample_size_bytes: Byte,
    decoded_size_bytes: Byte,
    supply_bw: BytePerSecond,
    preprocessing_bandwidth: BytePerSecond,
    copy_bandwidth: BytePerSecond,
    accelerator_step_time: Second,
) -> Step:
    """One step in the steady state: the longest stage, since all work at the same time on different batches.

    Holds when enough batches are prefetched to even out the stages; a stage whose bandwidth is NaN is left out.

    Args:
        preprocessing_bandwidth: stored bytes a second that the host's workers preprocess for this accelerator.
    """
    stored, decoded = batch_size * sample_size_bytes, batch_size * decoded_size_bytes
    transform_time = stored / preprocessing_bandwidth
    load_time = _time_or_none(stored, supply_bw)
    copy_time = _time_or_none(decoded, copy_bandwidth)
    step = np.maximum(np.maximum(accelerator_step_time, transform_time), np.maximum(load_time, copy_time))
    binding = where(accelerator_step_time >= step, 0, where(transform_time >= step, 2, where(load_time >= step, 1, 3)))
    return Step(load_time, transform_time, copy_time, step, binding)


def _time_or_none(volume: Byte, bandwidth: BytePerSecond) -> Second:
    return where(np.isnan(bandwidth), 0.0, volume / bandwidth)


def workers_needed(
    wanted: SamplePerSecond,
    one_worker: SamplePerSecond,
    worker_scaling: Ratio,
    decoded_size_bytes: Byte,
    handover_bandwidth: BytePerSecond,
) -> tuple[Count, Count]:
    """Workers, and loader processes that collect for them, that preprocess the wanted rate: (workers, loaders).

    One loader collects at most `handover_bandwidth`; beyond that, more workers do not help and the work has to be
    split over loaders (one for each accelerator, as distributed training does), or moved to the accelerator.
    """
    workers = np.ceil(wanted / (one_worker * worker_scaling))
    loaders = np.ceil(wanted * decoded_size_bytes / handover_bandwidth)
    return workers, loaders
