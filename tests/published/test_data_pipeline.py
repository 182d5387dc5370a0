"""Published rates of input pipelines."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from planner.validation.data_pipeline import predict
from solvers.catalog import catalog


def predicted(**row: object) -> float:
    blank = dict.fromkeys(
        ("family", "stage", "system", "hardware", "workload", "cores_or_workers", "metric", "notes"), ""
    )
    frame = pd.DataFrame([{**blank, "id": "r", "n_accelerators": np.nan, "value": 1.0, **row}])
    return float(predict(frame, catalog)["predicted"][0])


@pytest.mark.parametrize(
    "workload, chip, printed",
    [("resnet50", "A100", 93), ("resnet50", "H100", 184), ("unet3d", "A100", 1383), ("unet3d", "H100", 2757),
     ("cosmoflow", "A100", 347), ("cosmoflow", "H100", 565)],
)  # fmt: skip
def test_what_accelerators_read_in_mlperf_storage(workload: str, chip: str, printed: float) -> None:
    """MLPerf Storage v1.0, closed division: MiB/s an accelerator, medians over submitters."""
    read = predicted(workload=workload, hardware=f"emulated {chip}", metric="per_accelerator_read", n_accelerators=8.0)
    assert read == pytest.approx(printed, rel=0.05)


@pytest.mark.parametrize("workers, printed", [(0, 639), (2, 1148), (4, 2182), (8, 2414)])
def test_a_loader_of_several_workers(workers: int, printed: float) -> None:
    """ternaus/imread_benchmark, OpenCV on 16 threads of Neoverse V2: images a second through a PyTorch DataLoader."""
    rate = predicted(
        stage="CPU JPEG decode via PyTorch DataLoader", system="opencv", hardware="Neoverse-V2", metric="decode_rate",
        cores_or_workers=f"{workers} workers", notes="16 logical CPUs",
    )  # fmt: skip
    assert rate == pytest.approx(printed, rel=0.1)
