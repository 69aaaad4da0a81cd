"""Defines the command line.

It uses argparse because listings must appear in 200 ms, and typer's imports take most of that.
Each command is a module of tilecore/commands with ``run(arguments) -> exit code``, imported when it is called.
"""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from tilecore.commands import bundle, compile, numbers
from tilecore.commands.options import CommandParser, ProgramParser
from tilecore.commands.streams import READER_GONE, drop_output, open_closed_streams
from tilecore.porting import command as port

if TYPE_CHECKING:
    from tilecore.errors import TilecoreError


def main(words: Sequence[str] | None = None) -> None:
    """Entry point of the ``tilecore`` script; TilecoreErrors are printed without a traceback."""
    open_closed_streams()
    try:
        code = _run(words)
    except BrokenPipeError:  # the reader, such as `head`, has closed the pipe
        drop_output()
        code = READER_GONE
    sys.exit(code)


def _run(words: Sequence[str] | None) -> int | str | None:
    """Run the command and return the exit code. Raises BrokenPipeError where nobody reads the output."""
    from tilecore.errors import TilecoreError

    code: int | str | None
    try:
        try:
            arguments = _parser().parse_args(words)
        except SystemExit as ended:  # after --help and --version, and for wrong options
            code = ended.code
        else:
            with _free_to_compile(arguments.module):
                code = import_module(arguments.module).run(arguments)
        sys.stdout.flush()
    except TilecoreError as error:
        _print_cause(error)
        print(f"tilecore: {error}", file=sys.stderr)
        code = 1
    except KeyboardInterrupt:
        code = 130
    except BrokenPipeError:
        raise
    except OSError as error:  # a disk that is full or may not be written, a file that vanished
        from tilecore import debug

        if debug.level():
            raise
        print(f"tilecore: {error} (TILECORE_DEBUG=1 shows where)", file=sys.stderr)
        drop_output()
        code = 1
    return code


@contextmanager
def _free_to_compile(module: str) -> Iterator[None]:
    """TILECORE_CACHED_ONLY is for programs: commands compile what they are for, also in processes that they start."""
    value = None if module.endswith(".doctor") else os.environ.pop("TILECORE_CACHED_ONLY", None)  # doctor checks it
    try:
        yield
    finally:
        if value is not None:
            os.environ["TILECORE_CACHED_ONLY"] = value


def _print_cause(error: TilecoreError) -> None:
    """With TILECORE_DEBUG, print the traceback of the error that caused this one: of the user's code, for instance."""
    from tilecore import debug
    from tilecore.errors import TilecoreError

    cause = error.__cause__
    try:
        if cause is not None and not isinstance(cause, TilecoreError) and debug.level():
            traceback.print_exception(cause)
    except TilecoreError:  # the variable has a wrong value
        return


def _parser() -> argparse.ArgumentParser:
    parser = ProgramParser(
        prog="tilecore",
        description="Tile kernels on every chip. A backend is a pip package: install one, then compile for its target.",
        epilog="`tilecore COMMAND --help` shows examples.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action=_Version, help="print the version and exit")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True, parser_class=CommandParser)
    for command in _COMMANDS:
        _add(commands, command)
    return parser


class _Version(argparse.Action):
    """Prints the version; unlike argparse's action it reads the version only when it is needed."""

    def __init__(self, *names: object, **facts: object) -> None:
        super().__init__(*names, nargs=0, **facts)  # type: ignore[arg-type, misc]

    def __call__(self, parser: argparse.ArgumentParser, *rest: object) -> None:
        import tilecore

        print(f"tilecore {tilecore.__version__}")
        parser.exit()


@dataclass(frozen=True)
class _Command:
    """One command. text: its description; the first line is shown in the list of commands. options: add its options."""

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
        "--timeout",
        type=numbers.timeout,
        default=20.0,
        metavar="SECONDS",
        help="time limit for each backend (default: 20)",
    )


def _cache_action(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", nargs="?", default="stats", choices=("stats", "verify", "gc", "clear", "path"))
    parser.add_argument(
        "--max-size", type=numbers.size, metavar="SIZE",
        help="with gc: the bytes to keep, such as 4G (default: TILECORE_CACHE_SIZE)",
    )  # fmt: skip
    parser.add_argument(
        "--max-age", type=numbers.age, metavar="AGE",
        help="with gc: remove what was not used for this long, such as 30d or 12h (default: TILECORE_CACHE_AGE)",
    )  # fmt: skip


def _installed(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=("install",))
    parser.add_argument("target", help="the target whose toolchain is installed")
    parser.add_argument("--yes", action="store_true", help="install without asking")
    parser.add_argument("--from", dest="archive", metavar="FILE", help="use this archive instead of downloading it")
    parser.add_argument("--force", action="store_true", help="install again, even if it is installed")


def _demo_choices(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--target", default=None, help="the target, such as cpu (default: TILECORE_TARGET, or auto)")
    parser.add_argument("--quick", action="store_true", help="use small sizes, which take about a second in all")


def _explained(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("kernel", metavar="FILE[:NAME]", help="a Python file, and the name of a kernel in it")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="an argument of the function that returns the kernel",
    )
    parser.add_argument("--target", default=None, help="the target, such as cpu (default: the kernel's own, or auto)")
    parser.add_argument(
        "--targets",
        action="append",
        metavar="TARGETS",
        help='compile every kernel of the file for several targets: "all", or a list with semicolons',
    )
    parser.add_argument(
        "--call",
        action="append",
        default=[],
        metavar="CALL",
        help="with --targets: a kernel with its arguments, such as 'gemm(64, 64)'",
    )
    parser.add_argument("--layout", metavar="BUFFER", help="show the layout of a fragment or shared buffer")
    parser.add_argument("--svg", metavar="PATH", help="with --layout: write the layout to an SVG file")


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
        "--execution-backend",
        default=None,
        metavar="NAME",
        help="the execution backend that runs the kernels (default: auto)",
    )
    parser.add_argument(
        "--level", type=int, default=3, choices=range(5),
        help="the highest level to test: 0 registers, 1 compiles, 2 correct on a simulated device, 3 correct on "
        "hardware (default), 4 at least as fast as required",
    )  # fmt: skip
    parser.add_argument(
        "--seed", type=numbers.seed, default=0, help="the seed of the kernels' input values (default: 0)"
    )
    parser.add_argument(
        "-k", dest="only", default=None, metavar="WORDS", help="run only cases whose names match (as in pytest -k)"
    )
    parser.add_argument(
        "-j",
        "--jobs",
        type=numbers.count,
        default=1,
        help="number of parallel processes (needs pytest-xdist; default: 1)",
    )
    parser.add_argument("--out", default=None, metavar="FILE", help="write the results to a file as JSON")


def _new_backend(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", help="the target's name: lower-case letters, digits and _")
    parser.add_argument(
        "--into", type=Path, default=None, metavar="FOLDER", help="the folder to write to (default: ./tile-NAME)"
    )


def _fuzzed(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--target", default="cpu", help='the target, such as cpu or "acme -chip=a1" (default: cpu)')
    add(
        "--execution-backend",
        metavar="NAME",
        help="the execution backend that runs the kernels, such as sim (default: auto)",
    )
    add("--count", type=numbers.count, metavar="N", help="number of kernels (default: 200)")
    add(
        "--minutes",
        type=numbers.minutes,
        metavar="M",
        help="stop after this many minutes; with --count, at whichever comes first",
    )
    add(
        "--seed",
        type=numbers.seed,
        default=0,
        metavar="S",
        help="seed of the first kernel; the following seeds count up (default: 0)",
    )
    add("--only", type=numbers.seed, metavar="S", help="run only the kernel of this seed")
    add(
        "--out",
        default="fuzz-findings",
        metavar="DIR",
        help="the folder that findings are written to (default: ./fuzz-findings)",
    )
    add("--json", metavar="FILE", help="write counts and findings to a JSON file, also during the run")
    add(
        "--jobs",
        type=numbers.count,
        default=1,
        metavar="J",
        help="number of parallel kernels, each in its own process (default: 1)",
    )
    add(
        "--timeout",
        type=numbers.timeout,
        default=60.0,
        metavar="SECONDS",
        help="time limit for a kernel; a slower one counts as a hang (default: 60)",
    )
    add(
        "--python",
        action="store_true",
        help="test random Python statements instead, and compare each result with CPython",
    )
    add("--metamorphic", action="store_true", help="also run each kernel with other tile sizes, stages and threads")
    add("--module", dest="offers", metavar="NAME", help="a module to import first, which may register backends")


_COMMANDS = (
    _Command(
        "targets",
        "list the installed targets: status, device, aliases, package\n\n"
        "For a broken backend the reason and a remedy are printed; the exit code is still 0.\n"
        "Status: ok, slow, broken, clash (two packages), hung, crashed. To find it, the plugin is loaded in a process\n"
        "of its own, which also calls the functions that find its tools and devices; nothing is compiled.",
        "  tilecore targets\n  tilecore targets --json",
        (_json, _timeout),
    ),
    _Command(
        "doctor",
        "check the installation and print how to fix problems\n\n"
        "Checks versions, every backend with its tools and devices, the launcher, the cache and the environment.\n"
        "Each backend is loaded in its own process, so a backend that hangs or crashes is reported.\n"
        "The exit code is 1 when something is broken. Missing optional tools are listed with a remedy.",
        "  tilecore doctor\n  tilecore doctor --json > report.json",
        (_json, _timeout),
    ),
    _Command(
        "conform",
        "run the conformance kit on a target: tests of the language on its backend\n\n"
        "Cases that need a capability which the backend does not declare are skipped, with the reason. A table and\n"
        "the reached level are printed. The exit code is 1 if a case failed, and 2 if the kit could not run.",
        "  tilecore conform --target acme\n  tilecore conform --target acme --level 1\n"
        "  tilecore conform --target 'acme -model=2' -k reductions --seed 7 --out acme.json",
        (_conformance, _json),
    ),
    _Command(
        "passes",
        "list the passes that a kernel goes through on a target, in order\n\n"
        "Each pass is listed with its package and its purpose; extension points, where backends insert passes, are\n"
        "shown in brackets. The options of the target follow: the keys of pass_configs that it reads. With\n"
        "--dump, a kernel of a file is compiled, and its IR before the first and after every pass is written to a\n"
        "folder of its name in FOLDER.",
        "  tilecore passes --target cpu\n  tilecore passes --target acme --dump ir/ kernel.py:softmax --set rows=64",
        (_passes, _json),
    ),
    _Command(
        "new-backend",
        "write a package for a new backend\n\n"
        "The package works on a simulated device and has target, lowering, code generator, toolchain, adapter,\n"
        "header, tests, README and CI. Its README describes which part to replace first.",
        "  tilecore new-backend acme\n  tilecore new-backend acme --into ~/src/tile-acme",
        (_new_backend, _json),
    ),
    _Command(
        "toolchain",
        "install a target's toolchain, where its backend supports that\n\n"
        "Prints what is downloaded, from where, its licence and its size, and asks before it starts.\n"
        "The toolchain is installed in TILECORE_DATA_DIR, or in the user's data folder. An interrupted installation\n"
        "changes nothing.",
        "  tilecore toolchain install acme\n  tilecore toolchain install acme --yes --from ~/Downloads/acme.whl",
        (_installed, _json),
    ),
    _Command(
        "cache",
        "show, check or empty the cache of compiled kernels and of the autotuner's results\n\n"
        "stats   print directory, number of entries and size (default)\n"
        "verify  read every entry; damaged entries are moved aside and rebuilt later; exit code 1 if there are any\n"
        "gc      remove what was not used for --max-age, then the least recently used until --max-size is left\n"
        "clear   remove every entry\n"
        "path    print the directory",
        "  tilecore cache\n  tilecore cache verify\n  tilecore cache gc --max-size 4G --max-age 30d\n"
        "  TILECORE_CACHE_DIR=/somewhere tilecore cache clear",
        (_cache_action, _json),
    ),
    _Command(
        "explain",
        "report how a kernel was compiled: implementations, layouts, memory, registers\n\n"
        "The file is run as a module. NAME is a function under @T.prim_func or @tilecore.jit, or a function that\n"
        "returns one; it may be left out where the file has one kernel. The simulated device is used where the\n"
        "target's device is missing.\n\n"
        "With --targets: compile every kernel of the file for several targets, without a device, and print a table\n"
        "and, by source line, refused and slow statements with the limit and the nearest legal change. Arguments of\n"
        "functions that return kernels come from --call, else from the file's list EXPLAIN of calls, else from\n"
        "defaults; of 'a(64) or a(32)' the second is for targets that refuse the first. The exit code is 1 unless\n"
        "every target compiles every kernel.",
        "  tilecore explain examples/matmul.py:matmul --set M=256 --set N=256 --set K=256 --target cpu\n"
        "  tilecore explain kernels.py:gemm --layout C_local --svg c.svg\n"
        "  tilecore explain kernels.py --targets all\n"
        '  tilecore explain kernels.py --targets "cpu;acme -arch=big" --call "gemm(1024, 1024, 1024)"',
        (_explained, _json),
    ),
    _Command("compile", compile.TEXT, compile.EXAMPLES, (compile.add_options, _json)),
    _Command("bundle", bundle.TEXT, bundle.EXAMPLES, (bundle.add_options, _json)),
    _Command("port", port.TEXT, port.EXAMPLES, (port.add_options, _json)),
    _Command(
        "demo",
        "compile, check and time well-known kernels on a target\n\n"
        "The kernels are matmul, softmax, RMSNorm, flash attention, int4 matmul and a reduction. Each is compared\n"
        "with torch (with numpy where torch is not installed). The exit code is 1 when a result is wrong.",
        "  tilecore demo\n  tilecore demo --target cpu --quick\n  tilecore demo --json > results.json",
        (_demo_choices, _json),
    ),
    _Command(
        "fuzz",
        "run random kernels on a target and compare each with the interpreter\n\n"
        "A finding is a wrong result, an error without a hint, a crash, or a hang. Each finding is reduced and\n"
        "written to --out as a short file that runs by itself. Kernels that the target refuses are counted by reason.\n"
        "The same seed gives the same kernel. The exit code is 1 when there are findings.",
        "  tilecore fuzz --target cpu --count 500 --jobs 2\n"
        '  tilecore fuzz --target "acme -chip=a1" --execution-backend sim --minutes 10 --metamorphic\n'
        "  tilecore fuzz --target cpu --only 42",
        (_fuzzed,),
    ),
)
