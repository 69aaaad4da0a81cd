"""The command line.

Built on argparse: a listing has to appear in 200 ms, and typer's own imports take most of that.
Each command lives in a module of tilecore/commands with ``run(arguments) -> exit code``, imported when it is called.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module


def main(words: Sequence[str] | None = None) -> None:
    """Entry point of the ``tilecore`` script; tilecore's own errors are shown without a traceback."""
    from tilecore.errors import TilecoreError

    arguments = _parser().parse_args(words)
    try:
        code = import_module(arguments.module).run(arguments)
        sys.stdout.flush()
    except TilecoreError as error:
        print(f"tilecore: {error}", file=sys.stderr)
        code = 1
    except KeyboardInterrupt:
        code = 130
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    sys.exit(code)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tilecore",
        description="Tile kernels on every chip. A backend is a pip package: install one, then compile for its target.",
        epilog="`tilecore COMMAND --help` shows examples.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action=_Version, help="print the version and exit")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in _COMMANDS:
        _add(commands, command)
    return parser


class _Version(argparse.Action):
    """Unlike argparse's own action, it reads the version only when it is asked for."""

    def __init__(self, *names: object, **facts: object) -> None:
        super().__init__(*names, nargs=0, **facts)  # type: ignore[arg-type, misc]

    def __call__(self, parser: argparse.ArgumentParser, *rest: object) -> None:
        import tilecore

        print(f"tilecore {tilecore.__version__}")
        parser.exit()


@dataclass(frozen=True)
class _Command:
    """One command; the first line of ``text`` is its line in the list of commands. options: what adds its options."""

    name: str
    text: str
    examples: str
    options: tuple[Callable[[argparse.ArgumentParser], object], ...]


def _add(commands: argparse._SubParsersAction, command: _Command) -> None:
    parser = commands.add_parser(
        command.name,
        help=command.text.partition("\n")[0],
        description=command.text,
        epilog=f"examples:\n{command.examples}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(module=f"tilecore.commands.{command.name}")
    for add_option in command.options:
        add_option(parser)


def _json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")


def _timeout(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--timeout", type=float, default=20.0, metavar="SECONDS", help="how long each backend may take (default 20)"
    )


def _cache_action(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", nargs="?", default="stats", choices=("stats", "verify", "clear", "path"))


def _installed(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=("install",))
    parser.add_argument("target", help="the target whose toolchain it is")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    parser.add_argument("--from", dest="archive", metavar="FILE", help="an archive that you have fetched already")
    parser.add_argument("--force", action="store_true", help="install it again where it is there")


def _demo_choices(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--target", default=None, help="the target, such as cpu (default: TILECORE_TARGET, or auto)")
    parser.add_argument("--quick", action="store_true", help="small sizes: all of it in about a second")


def _explained(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("kernel", metavar="FILE[:NAME]", help="a Python file, and which kernel in it")
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="an argument of the function that makes it"
    )
    parser.add_argument("--target", default=None, help="the target, such as cpu (default: the kernel's own, or auto)")
    parser.add_argument("--layout", metavar="BUFFER", help="show where the elements of a fragment or shared buffer lie")
    parser.add_argument("--svg", metavar="PATH", help="with --layout: write it as a drawing")


_COMMANDS = (
    _Command(
        "targets",
        "list the installed targets: status, device, aliases, package\n\n"
        "A broken backend is listed with its reason and what to do; the command still succeeds.\n"
        "Status: ok, slow, broken, clash (two packages), hung, crashed.",
        "  tilecore targets\n  tilecore targets --json",
        (_json, _timeout),
    ),
    _Command(
        "doctor",
        "check the installation and say how to fix it\n\n"
        "Versions, every backend with its tools and devices, the launcher, the cache, the environment.\n"
        "Each backend is loaded in a process of its own, so one that hangs or crashes is only reported.\n"
        "Exits with 1 when something is broken; optional tools that are missing are listed with their fix.",
        "  tilecore doctor\n  tilecore doctor --json > report.json",
        (_json, _timeout),
    ),
    _Command(
        "toolchain",
        "install what a target's toolchain needs, where its backend knows how to\n\n"
        "Says what is fetched, from where, under which licence and how big it is, and asks.\n"
        "It is kept in TILECORE_DATA_DIR, or in the user's data folder; an interrupted installation changes nothing.",
        "  tilecore toolchain install acme\n  tilecore toolchain install acme --yes --from ~/Downloads/acme.whl",
        (_installed, _json),
    ),
    _Command(
        "cache",
        "show, check or empty the cache of compiled kernels and of the autotuner's results\n\n"
        "stats   where it is, how much it holds (the default)\n"
        "verify  read every entry; damaged ones are set aside, to be rebuilt; exits with 1 if there were any\n"
        "clear   remove every entry\n"
        "path    print the directory",
        "  tilecore cache\n  tilecore cache verify\n  TILECORE_CACHE_DIR=/somewhere tilecore cache clear",
        (_cache_action, _json),
    ),
    _Command(
        "explain",
        "say how a kernel was compiled: implementations, layouts, memory, registers\n\n"
        "The file is run as a module. NAME is a function under @T.prim_func or @tilecore.jit, or one that returns\n"
        "such a function; it may be left out where the file has one kernel. Where the target's device is not here,\n"
        "its simulated one will do.",
        "  tilecore explain examples/matmul.py:matmul --set M=256 --set N=256 --set K=256 --target cpu\n"
        "  tilecore explain kernels.py:gemm --layout C_local --svg c.svg",
        (_explained, _json),
    ),
    _Command(
        "demo",
        "compile, check and time well-known kernels on a target\n\n"
        "matmul, softmax, RMSNorm, flash attention, int4 matmul and a reduction, each compared with torch (with numpy\n"
        "where torch is not installed). Exits with 1 when a result is wrong.",
        "  tilecore demo\n  tilecore demo --target cpu --quick\n  tilecore demo --json > results.json",
        (_demo_choices, _json),
    ),
)
