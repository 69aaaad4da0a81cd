"""``tilecore compile FILE --target TARGET -o FILE.tcb``: compiles the kernels of a file for other machines."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tilecore.commands import numbers
from tilecore.commands.destinations import checked_file
from tilecore.commands.streams import prints_beside
from tilecore.commands.text import counted, dump, note, size, table
from tilecore.errors import ArgumentError

EXTENSION = ".tcb"
if TYPE_CHECKING:
    from tilecore.bundle_builder.build import Failed, Outcome, Plan

TEXT = """compile the kernels of a file for several targets, without their devices, into one bundle

FILE declares its kernels by a function that yields calls as text, or a function and its arguments:

  def tilecore_kernels():
      yield "matmul(1024, 1024, 1024)"
      for rows in (1, 8, 64):
          yield softmax, {"rows": rows, "columns": 4096}

Without it, the kernels that need no arguments are compiled; --call replaces both. Functions under @tilecore.jit find
their kernels in the bundle when TILECORE_CACHE_PATH names it, and tilecore.load_bundle reads it; neither needs a
compiler. Compilers are needed here: `tilecore doctor` lists them by target. A kernel that fails does not stop the
others; the exit code is then 1, and the bundle is not written unless --keep-going is given."""
EXAMPLES = """  tilecore compile kernels.py --target "acme -arch=a1,a2" --target cpu -o kernels.tcb
  tilecore compile package.kernels:matmul --call "matmul(64, 64, 64)" --call "matmul(128, 128, 128)"
  tilecore compile kernels.py --target "cpu -march=x86-64-v3,x86-64-v4" --list
  tilecore compile kernels.py --target acme --sign bundle_key"""


def add_options(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("file", metavar="FILE[:NAME]", help="a Python file or a module, and the name of one of its functions")
    add(
        "--target",
        action="append",
        default=[],
        metavar="TARGET",
        help="a target with its attributes; values with commas, or targets with semicolons, are several targets "
        "(default: each kernel's own target, or this machine's)",
    )
    add(
        "-o",
        "--out",
        metavar="FILE",
        help=f"the bundle to write; folders that are missing are made (default: the file's name{EXTENSION})",
    )
    add("--call", action="append", default=[], metavar="CALL", help="a kernel with its arguments: 'gemm(64, 64)'")
    add("--execution-backend", metavar="NAME", help="the execution backend that will run the kernels (default: auto)")
    add("-j", "--jobs", type=numbers.count, metavar="N", help="parallel compilations (default: one a processor)")
    add("--keep-going", action="store_true", help="write the bundle even if some kernels fail or were declared wrongly")
    add("--list", action="store_true", help="print what would be compiled, and compile nothing")
    add("--sign", metavar="KEY", help="sign the bundle by this Ed25519 private key (ssh-keygen -t ed25519)")


def run(arguments: Namespace) -> int:
    """Compile, write the bundle, and print what it contains and what failed."""
    from tilecore.bundle_builder.build import build
    from tilecore.bundle_builder.write import write_bundle
    from tilecore.bundles.signatures import read_private_key

    private_key = None if arguments.sign is None else read_private_key(arguments.sign)
    with prints_beside(arguments.json):  # the file's own prints
        path, plan, left_out = _planned(arguments)
    if arguments.list:
        _print_plan(plan, left_out, arguments.json)
        return 1 if plan.failed else 0
    out = checked_file(path, "--out")
    with prints_beside(arguments.json):
        outcome = build(plan, arguments.jobs)
    is_written = bool(outcome.built) and (not outcome.failed or arguments.keep_going)
    total = write_bundle(out, [one.bundled() for one in outcome.built], private_key) if is_written else 0
    facts = _facts(outcome, left_out, str(out) if is_written else None, total)
    if arguments.json:
        dump(facts)
    else:
        _print(facts)
    return 1 if outcome.failed else 0


def _planned(arguments: Namespace) -> tuple[str, Plan, list[str]]:
    """The path of the bundle, what is to be compiled, and sentences on what is left out. Raises ArgumentError where
    nothing is to be compiled."""
    from tilecore.bundle_builder.build import plan_of
    from tilecore.bundle_builder.declared import declared_kernels
    from tilecore.bundle_builder.targets import targets_of
    from tilecore.bundle_builder.user_code import module_named

    targets = targets_of(arguments.target) if arguments.target else {}
    module, name = module_named(arguments.file)
    path = f"{str(module.__name__).rpartition('.')[2]}{EXTENSION}" if arguments.out is None else arguments.out
    kernels, without_arguments = declared_kernels(module, name, arguments.call, arguments.keep_going)
    plan = plan_of(kernels, targets, arguments.execution_backend, arguments.keep_going)
    left_out = [*(f"{kernel.label}: {kernel.reason}; {kernel.hint}" for kernel in without_arguments), *plan.left_out]
    if not plan.tasks and not plan.failed:
        raise ArgumentError(
            f"{arguments.file} declares no kernels to compile",
            found="; ".join(left_out) or None,
            expected="a function tilecore_kernels() that yields them, or --call",
        )
    return path, plan, left_out


def _facts(outcome: Outcome, left_out: list[str], path: str | None, total: int) -> dict[str, Any]:
    kernels = [
        {
            "kernel": one.task.kernel.label,
            "target": one.task.target,
            "execution_backend": one.artifact.adapter,
            "binary_format": one.artifact.binary_format or one.artifact.source_format,
            "bytes": len(one.artifact.binary) or len(one.artifact.source.encode()),
            "milliseconds": round(sum(one.artifact.report.get("steps", {}).values())),
        }
        for one in outcome.built
    ]
    return {
        "bundle": path,
        "bytes": total,
        "seconds": round(outcome.seconds, 3),
        "kernels": kernels,
        "failed": _failed(outcome.failed),
        "left_out": left_out,
    }


def _failed(failed: Sequence[Failed]) -> list[dict[str, str]]:
    from tilecore.bundle_builder.build import reason_of

    return [{"kernel": one.kernel.label, "target": one.target, "error": reason_of(one.error)} for one in failed]


def _print(facts: dict[str, Any]) -> None:
    if facts["kernels"]:
        rows = [
            (one["kernel"], one["target"], one["binary_format"], size(one["bytes"]), f"{one['milliseconds']} ms")
            for one in facts["kernels"]
        ]
        print(table(("kernel", "target", "code", "size", "compiled in"), rows))
    _print_others(facts["left_out"], facts["failed"])
    targets = len({one["target"] for one in facts["kernels"]})
    kernels = counted(len(facts["kernels"]), "kernel")
    counts = f"{kernels} for {counted(targets, 'target')} in {facts['seconds']:.1f} s"
    failed = f", {len(facts['failed'])} failed" if facts["failed"] else ""
    if facts["bundle"]:
        print(f"{counts}{failed}: {facts['bundle']}, {size(facts['bytes'])}")
    else:
        hint = "; --keep-going writes it with the others" if facts["kernels"] else ""
        print(f"{counts}{failed}: no bundle is written{hint}")


def _print_others(left_out: Sequence[str], failed: Sequence[Mapping[str, str]]) -> None:
    """What is not compiled, and why; kernels that failed for the same reason stand together."""
    for text in left_out:
        note("left out", text)
    reasons: dict[str, list[str]] = {}
    for one in failed:
        reasons.setdefault(one["error"], []).append(f"{one['kernel']} for {one['target']}")
    for reason, labels in reasons.items():
        more = f" and {len(labels) - 3} more" if len(labels) > 3 else ""
        note("failed", f"{', '.join(labels[:3])}{more}: {reason}")


def _print_plan(plan: Plan, left_out: list[str], as_json: bool) -> None:
    failed = _failed(plan.failed)
    if as_json:
        kernels = [{"kernel": task.kernel.label, "target": task.target} for task in plan.tasks]
        dump({"kernels": kernels, "failed": failed, "left_out": left_out})
        return
    if plan.tasks:
        rows = [(task.kernel.label, task.target, task.request.adapter) for task in plan.tasks]
        print(table(("kernel", "target", "execution backend"), rows))
    _print_others(left_out, failed)
    print(counted(len(plan.tasks), "kernel") + (f", {len(failed)} failed" if failed else ""))
