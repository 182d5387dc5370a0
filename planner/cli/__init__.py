"""The command line: it parses, calls the library, and prints.

`planner --help` imports click and this menu, nothing heavier.
"""

from __future__ import annotations

import importlib
import os
import signal
import sys
from collections.abc import Sequence

import click

from planner.cli.exits import guarded
from planner.cli.menu import COMMANDS


class Menu(click.Group):
    """A group whose commands are imported when they are asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands in the order of the menu."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name, or None."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"planner.cli.{COMMANDS[cmd_name][0]}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command to run; an unknown one is refused with near names."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            from solvers.complaints import near

            ctx.fail(f"there is no command {args[0]!r}{near(args[0], COMMANDS)}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the menu without importing a command."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])


@click.command(
    cls=Menu,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog="Start with: planner run serve_llama3_70b",
)
@click.version_option(package_name="ml-capacity-planner", prog_name="planner")
def planner() -> None:
    """Plan machine-learning systems: what to run a workload on, laid out how, and at what cost.

    A study names a model, hardware and what may vary; the planner tries the combinations through analytical
    solvers and shows the plans that nothing beats.

    \b
    Exit codes: 0 done, 1 bad input, 2 nothing is feasible, 3 a fault, 130 interrupted.
    """


def run(arguments: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code."""
    return guarded(lambda: _invoke(list(sys.argv[1:] if arguments is None else arguments)))


def _invoke(arguments: list[str]) -> object:
    """Run the command in click's context, without click's own handling of ends."""
    color = False if os.environ.get("NO_COLOR") else None
    with planner.make_context("planner", arguments or ["--help"], color=color) as context:
        return planner.invoke(context)


def main() -> None:
    """The `planner` command. A request to end, or a terminal that goes away, interrupts it as Ctrl-C does."""
    for name in ("SIGTERM", "SIGHUP"):
        asked = getattr(signal, name, None)
        if asked is not None and signal.getsignal(asked) is signal.SIG_DFL:
            signal.signal(asked, signal.default_int_handler)
    sys.exit(run())
