"""A small catalogue on disk, good as it stands, to be spoilt by the tests."""

from __future__ import annotations

from pathlib import Path

import pytest

_GOOD = {
    "sources.csv": "key,title,locator,date,kind\nsheet,A data sheet,https://example.org/sheet,2024,datasheet\n",
    "names.csv": "kind,name,path,aliases\nhardware,Chip-1,Hardware.Cloud.Chip1,Chip;Chip-80GB\n",
    "hardware.csv": (
        "item,quantity,variant,value,unit,source,note,kind\n"
        "Chip-1,memory_bandwidth,,3.35,TB/s,sheet,,datasheet\n"
        "Chip-1,peak_flops,bf16,989.4,TFLOP/s,sheet,dense,datasheet\n"
        "Chip-2,memory_bandwidth,,2,TB/s,sheet,,datasheet\n"
    ),
    "prices.csv": "name,aliases,hardware,terms,provider,region,date,price_per_hour,representative,source,note,kind\n",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in _GOOD.items():
        (tmp_path / name).write_text(text)
    return tmp_path
