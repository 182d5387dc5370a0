"""Imports run one way: units and columns -> formulas -> lowering -> faces -> planner -> command line."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FILES = sorted([*ROOT.glob("solvers/**/*.py"), *ROOT.glob("planner/**/*.py")])

FORBIDDEN = {
    "solvers/formulas": (
        "solvers.catalog",
        "solvers.lowering",
        "solvers.faces",
        "solvers.chain",
        "solvers.solver",
        "pint",
    ),
    "solvers/lowering": ("solvers.faces", "solvers.solver", "solvers.chain"),
    "solvers/catalog": ("solvers.faces", "solvers.solver", "solvers.chain", "solvers.lowering", "solvers.formulas"),
    "solvers/faces": ("solvers.catalog",),
    "solvers": ("planner", "optuna", "pandas", "pyarrow", "click", "rich", "plotly"),
    "planner/search": ("planner.cli", "planner.report"),
}
HEAVY = ("optuna", "pandas", "pyarrow", "scipy", "pint", "plotly", "rich", "jinja2", "moocore", "ruamel.yaml")


def imported(path: Path, top_level_only: bool = False) -> set[str]:
    tree = ast.parse(path.read_text())
    nodes = tree.body if top_level_only else ast.walk(tree)
    names: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return names


def within(name: str, package: str) -> bool:
    return name == package or name.startswith(package + ".")


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_run_one_way(path: Path) -> None:
    place = path.relative_to(ROOT).as_posix()
    broken = [
        name
        for folder, packages in FORBIDDEN.items()
        if within(place.replace("/", "."), folder.replace("/", "."))
        for name in imported(path)
        if any(within(name, package) for package in packages)
    ]
    assert not broken, f"{place} imports {broken}"


def test_no_circle_between_modules() -> None:
    modules = {".".join(p.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): p for p in FILES}
    edges = {m: {n for n in imported(p, top_level_only=True) if n in modules and n != m} for m, p in modules.items()}
    state: dict[str, int] = {}

    def visit(module: str, path: tuple[str, ...]) -> None:
        assert state.get(module) != 1, f"circle: {' -> '.join([*path, module])}"
        if module in state:
            return
        state[module] = 1
        for other in edges[module]:
            visit(other, (*path, module))
        state[module] = 2

    for module in modules:
        visit(module, ())


@pytest.mark.parametrize("what", ["import planner", "import solvers", "import planner.cli"])
def test_starting_is_light(what: str) -> None:
    code = f"import sys; {what}; print(*[m for m in {HEAVY!r} if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert out.stdout.strip() == ""
