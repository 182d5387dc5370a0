"""From what people write to the entry they mean.

An exact name, alias or path wins. Then the form without regard to case, separators or organisation, in which a dot
between digits counts (GPT-1.3B is not GPT 13B). Then the same with words in another order (H100-80GB-SXM), and last
without the words that name a precision or a fine-tune, because a base model serves its fine-tunes.
"""

from __future__ import annotations

import functools
import re
from collections import defaultdict
from collections.abc import Iterable

from solvers.catalog.entries import CatalogError, Entry, near_names


class UnknownName(CatalogError):
    """No entry has this name."""


class AmbiguousName(CatalogError):
    """Several entries have this name."""


class NameIndex:
    """The names of the entries of one kind, ready to be looked up."""

    def __init__(self, kind: str, entries: Iterable[Entry]) -> None:
        self.kind = kind
        self._exact = {name: entry for entry in entries for name in _names(entry)}

    @functools.cached_property
    def _forms(self) -> dict[str | tuple[str, ...], set[Entry]]:
        """Entries by their names' words run together, and by those words in alphabetical order."""
        found: dict[str | tuple[str, ...], set[Entry]] = defaultdict(set)
        for name, entry in self._exact.items():
            for text in _with_and_without_organisation(name):
                words = _words(text)
                found[_joined(words)].add(entry)
                found["".join(words)].add(entry)
                found[_ordered(words)].add(entry)
        return dict(found)

    def find(self, text: str) -> Entry:
        """The entry meant.

        Raises:
            UnknownName: none, with the nearest names.
            AmbiguousName: several, listed.
        """
        if not isinstance(text, str) or len(text) > 300:
            raise UnknownName(f"the name of a {self.kind} is due, not {str(text)[:50]!r}")
        found = self._exact.get(text.strip())
        return found if found is not None else self._by_form(text.strip())

    def _by_form(self, text: str) -> Entry:
        for written in _with_and_without_organisation(text):
            words = _words(written)
            for fewer in _shortened(words):
                matches = self._forms.get(_joined(fewer)) or self._forms.get(_ordered(fewer))
                if matches:
                    return self._only(text, matches)
        near = near_names(text.rsplit("/", 1)[-1], self._exact)
        hint = f"near names: {near}" if near else f"`planner catalog {self.kind}` lists them"
        raise UnknownName(f"the catalogue has no {self.kind} named {text!r}; {hint}")

    def _only(self, text: str, matches: set[Entry]) -> Entry:
        if len(matches) > 1:
            listed = ", ".join(sorted(e.name for e in matches))
            raise AmbiguousName(f"{text!r} may mean several {self.kind} entries: {listed}; write one of these")
        return next(iter(matches))


def _names(entry: Entry) -> set[str]:
    parts = entry.path.split(".") if entry.path else []
    return {entry.name, *entry.aliases, *(".".join(parts[i:]) for i in range(len(parts)))}


def _with_and_without_organisation(text: str) -> list[str]:
    return [text, text.rsplit("/", 1)[-1]] if "/" in text else [text]


_VENDORS = {"nvidia", "amd", "intel", "google", "aws", "apple", "tesla", "geforce", "instinct", "radeon", "gpu"}

_VARIANT = re.compile(
    r"""fp\d+|bf16|bfloat16|float16|float32|half|nvfp4|mxfp[468]|int[48]|w\d+a\d+(kv\d+)?|e4m3|g\d+|awq|gptq|gguf|\dbit|bnb
    |modelopt|dynamic|quantized|quant|block|mixed|amp|te
    |i?q\d[k01]?[sml]?
    |instruct|chat|it|pt|base|hf|thinking|reasoning|preview|original|diffusers|uncensored|v\d\.\d|\d{4}""",
    re.VERBOSE,
)
"""Words at the end of a name that tell a precision, a fine-tune or a release, and leave the shape as it is."""


def _words(text: str) -> list[str]:
    """Lower-case words, parted by all that is no letter or digit; a dot between digits stays."""
    lowered = text.lower().replace("+", " plus ")
    kept = re.sub(r"(?<=\d)\.(?=\d)", "\0", lowered)
    return [w.replace("\0", ".") for w in re.split(r"[^0-9a-z\0]+", kept) if w]


def _joined(words: list[str]) -> str:
    """The words run together; where digits meet, a seam stays: Qwen2-57B is not Qwen2.5-7B, written Qwen2_5_7B."""
    return re.sub(r"(?<=\d) (?=\d)", "-", " ".join(words)).replace(" ", "")


def _ordered(words: list[str]) -> tuple[str, ...]:
    return tuple(sorted(w for w in words if w not in _VENDORS))


def _shortened(words: list[str]) -> Iterable[list[str]]:
    """The words, then fewer and fewer of them while the last tell a precision (`q4 k m` is one) or a fine-tune."""
    yield words
    while len(words) > 1:
        tail = next((n for n in (1, 2, 3) if n < len(words) and _VARIANT.fullmatch("".join(words[-n:]))), 0)
        if not tail:
            return
        words = words[:-tail]
        yield words
