"""How the command line ends: one code for each kind of end, and a message that says what to do."""

from __future__ import annotations

import contextlib
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from typing import TextIO

import click

DONE = 0
BAD_INPUT = 1
NOTHING_FEASIBLE = 2
FAULT = 3
INTERRUPTED = 130


_NO_SUCH_PLACE = (FileNotFoundError, NotADirectoryError, IsADirectoryError, PermissionError)
"""What comes of a path that was given and cannot be read or written."""


class Refused(Exception):
    """What was asked makes no sense; the message says what would."""


def guarded(work: Callable[[], object]) -> int:
    """Do the work and say, in an exit code and on stderr, how it ended. A programming error shows its traceback."""
    try:
        with spoken_warnings():
            code = work()
        sys.stdout.flush()
        return code if isinstance(code, int) else DONE
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.ClickException as problem:
        problem.show()
        return BAD_INPUT
    except (KeyboardInterrupt, click.Abort) as problem:
        complain(str(problem) or "interrupted")  # an interrupted run says what is safe and how to go on
        return INTERRUPTED
    except BrokenPipeError:
        _silence_stdout()
        return DONE
    except Exception as problem:
        if is_bad_input(problem):
            complain(str(problem))
            return BAD_INPUT
        if isinstance(problem, _NO_SUCH_PLACE) and problem.filename is not None:
            complain(f"{problem.filename}: {problem.strerror}")
            return BAD_INPUT
        if _is_fault_of_the_machine(problem):
            complain(str(problem))
            return FAULT
        traceback.print_exc()
        complain(f"this is a fault of the planner, not of your input: {type(problem).__name__}: {problem}")
        return FAULT


def is_bad_input(problem: BaseException) -> bool:
    """Whether an error speaks of what was asked, and so carries all there is to say."""
    from solvers.catalog import CatalogError
    from solvers.chain import ChainError
    from solvers.complaints import InfeasiblePlan, InvalidInput
    from solvers.units import UnitError

    return isinstance(problem, (Refused, InvalidInput, CatalogError, ChainError, UnitError, InfeasiblePlan))


def _is_fault_of_the_machine(problem: BaseException) -> bool:
    from planner.errors import RunFault

    return isinstance(problem, (OSError, RunFault, MemoryError))


def complain(message: str) -> None:
    """Write a message to stderr, every line of it, after the program's name."""
    head, *rest = message.strip().split("\n")
    click.echo(f"{click.style('planner:', fg='red', bold=True)} {head}", err=True)
    for line in rest:
        click.echo(f"  {line}", err=True)


@contextlib.contextmanager
def spoken_warnings() -> Iterator[None]:
    """Say warnings that are meant for people as sentences, without the line of code that they come from."""
    with warnings.catch_warnings():
        shown = warnings.showwarning

        def say(
            message: Warning | str, category: type[Warning], filename: str, lineno: int,
            file: TextIO | None = None, line: str | None = None,
        ) -> None:  # fmt: skip
            if issubclass(category, UserWarning):
                click.echo(f"{click.style('planner:', fg='yellow', bold=True)} {message}", err=True)
            else:
                shown(message, category, filename, lineno, file, line)

        warnings.showwarning = say
        yield


def _silence_stdout() -> None:
    """Whoever read our output has gone: keep Python from complaining when it flushes at exit."""
    import os

    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
