"""Parameters that note who reads them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


class Watched(dict[str, Any]):
    """A copy of the parameters that notes which are read; changing it changes nothing else."""

    def __init__(self, params: Mapping[str, Any], unread: set[str]) -> None:
        super().__init__(params)
        self._unread = unread

    def __getitem__(self, key: str) -> Any:
        self._unread.discard(key)
        return super().__getitem__(key)

    def get(self, key: str, default: Any = None) -> Any:
        """As of any dictionary."""
        self._unread.discard(key)
        return super().get(key, default)

    def pop(self, key: str, *default: Any) -> Any:
        """As of any dictionary."""
        self._unread.discard(key)
        return super().pop(key, *default)

    def __iter__(self) -> Iterator[str]:
        """Whoever looks at all keys may use them all (and `dict(params)` and `**params` come this way)."""
        self._unread.clear()
        return super().__iter__()

    def keys(self) -> Any:
        """As of any dictionary."""
        self._unread.clear()
        return super().keys()

    def values(self) -> Any:
        """As of any dictionary."""
        self._unread.clear()
        return super().values()

    def items(self) -> Any:
        """As of any dictionary."""
        self._unread.clear()
        return super().items()

    def copy(self) -> dict[str, Any]:
        """As of any dictionary."""
        self._unread.clear()
        return dict(super().items())
