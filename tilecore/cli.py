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
from pathlib import Path


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
    parser.set_defaults(module=f"tilecore.commands.{command.name.replace('-', '_')}")
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
    parser.add_argument(
        "--targets",
        action="append",
        metavar="TARGETS",
        help='compile every kernel of the file for all installed targets ("all"), or for those between semicolons',
    )
    parser.add_argument(
        "--call", action="append", default=[], metavar="CALL", help="with --targets: a kernel with its arguments"
    )
    parser.add_argument("--layout", metavar="BUFFER", help="show where the elements of a fragment or shared buffer lie")
    parser.add_argument("--svg", metavar="PATH", help="with --layout: write it as a drawing")


def _passes(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--target", required=True, help="the target, such as cpu")
    parser.add_argument("--dump", metavar="FOLDER", help="write the IR of a kernel after every pass there")
    parser.add_argument("kernel", nargs="?", metavar="FILE[:NAME]", help="with --dump: the kernel")
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="with --dump: an argument of the kernel"
    )


def _conformance(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--target", required=True, help="the target, with its attributes")
    parser.add_argument(
        "--execution-backend", default=None, metavar="NAME", help="what runs the kernels (default: auto)"
    )
    parser.add_argument(
        "--level", type=int, default=3, choices=range(5),
        help="the highest level tried: 0 registers, 1 compiles, 2 right on a simulated device, 3 right on hardware "
        "(the default), 4 as fast as a floor",
    )  # fmt: skip
    parser.add_argument("--seed", type=int, default=0, help="of the values that kernels are given")
    parser.add_argument(
        "-k", dest="only", default="", metavar="WORDS", help="only cases whose names match (as pytest -k)"
    )
    parser.add_argument("-j", "--jobs", type=int, default=1, help="processes that run cases (with pytest-xdist)")
    parser.add_argument("--out", type=Path, default=None, metavar="FILE", help="write the outcome as JSON")


def _new_backend(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", help="the target's name: lower-case letters, digits and _")
    parser.add_argument("--into", type=Path, default=None, metavar="FOLDER", help="where to (default: ./tile-NAME)")


def _fuzzed(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--target", default="cpu", help='the target, such as cpu or "acme -chip=a1" (default cpu)')
    add(
        "--execution-backend",
        metavar="NAME",
        help="how kernels are launched, such as sim (default: the first that can)",
    )
    add("--count", type=int, metavar="N", help="how many kernels (default 200)")
    add("--minutes", type=float, metavar="M", help="after which all ends; with --count, whichever ends first")
    add("--seed", type=int, default=0, metavar="S", help="the first kernel's; the next ones count on (default 0)")
    add("--only", type=int, metavar="S", help="the kernel of this seed alone")
    add("--out", default="fuzz-findings", metavar="DIR", help="where findings are written (default ./fuzz-findings)")
    add("--json", metavar="FILE", help="where the numbers and findings are kept as JSON, also while it runs")
    add("--jobs", type=int, default=1, metavar="J", help="kernels at a time, each in a process of its own (default 1)")
    add("--timeout", type=float, default=60.0, metavar="SECONDS", help="after which a kernel hangs (default 60)")
    add(
        "--python",
        action="store_true",
        help="random bodies of statements instead, each compared with what CPython makes of it",
    )
    add("--metamorphic", action="store_true", help="try each with other tiles, stages and threads too")
    add("--module", dest="offers", metavar="NAME", help="a module to import first, which registers backends of its own")


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
        "conform",
        "run the conformance kit on a target: how much of the language its backend has right\n\n"
        "Cases that need what the backend does not declare are skipped, and say what. A table and the level that was\n"
        "reached are printed. Exits with 1 if a case failed, with 2 if the kit could not run.",
        "  tilecore conform --target acme\n  tilecore conform --target acme --level 1\n"
        "  tilecore conform --target 'acme -model=2' -k reductions --seed 7 --out acme.json",
        (_conformance, _json),
    ),
    _Command(
        "passes",
        "list the passes that a kernel goes through on a target, in order\n\n"
        "Each with the package that it comes from and what it does; extension points, where backends insert passes,\n"
        "stand in brackets. With --dump, a kernel of a file is compiled, and its IR before the first and after every\n"
        "pass is written to a folder of its name in FOLDER.",
        "  tilecore passes --target cpu\n  tilecore passes --target acme --dump ir/ kernel.py:softmax --set rows=64",
        (_passes, _json),
    ),
    _Command(
        "new-backend",
        "write the package of a backend to start from\n\n"
        "It works at once, on a simulated device: target, lowering, code generator, toolchain, adapter, header,\n"
        "tests, README and CI. Its README says which part to replace first.",
        "  tilecore new-backend acme\n  tilecore new-backend acme --into ~/src/tile-acme",
        (_new_backend, _json),
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
        "its simulated one will do.\n\n"
        "With --targets: what each target makes of every kernel of the file, without a device: a table, and by source\n"
        "line what a target refuses or does slowly, the limit, and the nearest legal change. Arguments of functions\n"
        "that make kernels: --call, else the file's list EXPLAIN of such calls, else defaults. Exits with 1 unless\n"
        "every target takes every kernel.",
        "  tilecore explain examples/matmul.py:matmul --set M=256 --set N=256 --set K=256 --target cpu\n"
        "  tilecore explain kernels.py:gemm --layout C_local --svg c.svg\n"
        "  tilecore explain kernels.py --targets all\n"
        '  tilecore explain kernels.py --targets "cpu;acme -arch=big" --call "gemm(1024, 1024, 1024)"',
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
    _Command(
        "fuzz",
        "run random kernels on a target and compare each with the interpreter\n\n"
        "A finding is a wrong result, an error that does not say what to do, a crash, or a hang. Each is cut down and\n"
        "written to --out as a short file that runs by itself. Kernels that the target rejects with a reason are\n"
        "counted by it. The same seed makes the same kernel. Exits with 1 when there are findings.",
        "  tilecore fuzz --target cpu --count 500 --jobs 2\n"
        '  tilecore fuzz --target "acme -chip=a1" --execution-backend sim --minutes 10 --metamorphic\n'
        "  tilecore fuzz --target cpu --only 42",
        (_fuzzed,),
    ),
)
