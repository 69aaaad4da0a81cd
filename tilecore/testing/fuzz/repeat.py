"""Writes a finding as a Python file: a short kernel, and code that runs it and compares it with the interpreter."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tilecore.testing.fuzz.inputs import Facts, Parameter, make_inputs, tensors_of, values_of
from tilecore.testing.fuzz.oracle import Verdict, difference
from tilecore.testing.fuzz.printing import source_of

if TYPE_CHECKING:
    from tilecore.testing.fuzz.judges import Place
    from tilecore.testing.fuzz.program import Program


def write_finding(
    folder: Path, program: Program, verdict: Verdict, place: Place, bounds: Sequence[float], seed: int
) -> Path:
    """Write the kernel's file and return its path. seed: of the program from which it was reduced."""
    folder.mkdir(parents=True, exist_ok=True)
    kind = place.target.replace("-", " ").split()
    path = folder / f"{'_'.join(kind).replace('=', '_')}_{verdict.kind}_{seed}.py"
    path.write_text(text_of(path.name, program, verdict, place, bounds), encoding="utf-8")
    return path


def text_of(name: str, program: Program, verdict: Verdict, place: Place, bounds: Sequence[float]) -> str:
    """The file: the finding and how to repeat it, the kernel, and the lines that run it."""
    first = " ".join(verdict.text.split())[:300].replace('"""', "'''").replace("\\", "/")
    backend = f" --execution-backend {place.backend}" if place.backend else ""
    second = program.second_call()
    calls = [tensors_of(program)] + ([tensors_of(second)] if second is not None else [])
    return (
        f'"""{verdict.kind} on {place.target}\n\n{first}\n\n'
        f"Again: python {name}\n"
        f'As it was drawn: tilecore fuzz --target "{place.target}"{backend} --only {program.seed}\n"""\n\n'
        f"{source_of(program)}\n\n"
        f'if __name__ == "__main__":\n'
        f"    from tilecore.testing.fuzz.repeat import main\n\n"
        f"    calls = {calls!r}\n"
        f"    main(kernel, calls, seed={program.seed}, values={values_of(program)!r}, bounds={list(bounds)!r}, "
        f"target={place.target!r}, backend={place.backend!r})\n"
    )


def main(
    kernel: Any, calls: Sequence[Sequence[Facts]], seed: int, values: str, bounds: Sequence[float], target: str,
    backend: str | None,
) -> None:  # fmt: skip
    """Run a kernel on its target and by the interpreter; the exit status is 1 where they differ."""
    import tilecore
    from tilecore.interpreter import interpret
    from tilecore.testing.conformance.cases.features import has_feature
    from tilecore.testing.conformance.cases.on_device import ready

    parser = argparse.ArgumentParser(description="Run this kernel on a target and by the interpreter, and compare.")
    parser.add_argument("--target", default=target, help="another target (default: %(default)s)")
    parser.add_argument("--execution-backend", help=f"how it is launched (default: {backend or 'the first that can'})")
    chosen = parser.parse_args()
    if chosen.execution_backend is None and chosen.target == target:
        chosen.execution_backend = backend
    compiled = ready(tilecore.compile(kernel, target=chosen.target, execution_backend=chosen.execution_backend))
    exit_status, flushes = 0, has_feature(chosen.target, "flushes_subnormals")
    for tensors in calls:
        results, references = make_inputs(tensors, seed, values), make_inputs(tensors, seed, values)
        interpret(kernel.ir, *references)
        compiled(*results)
        for facts, result, reference, bound in zip(tensors, results, references, bounds, strict=True):
            parameter = Parameter(*facts)
            words = "" if parameter.form == "number" else difference(result, reference, bound, parameter.dtype, flushes)
            if words:
                exit_status = 1
                print(f"{parameter.name}: {words}")
    print("differs" if exit_status else f"the same on {chosen.target} as by the interpreter")
    sys.exit(exit_status)
