"""Runs a kernel and a reference program on the same inputs, and pairs the tensors to compare."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tilecore.artifact.records import Artifact, TensorParam
from tilecore.errors import ArgumentError
from tilecore.profiler.arrays import as_numpy, copied, listed
from tilecore.profiler.compare import Tolerance, assert_close


@dataclass(frozen=True)
class Run:
    """One run of a program on a copy of the inputs. inputs: the copy after the run. returned: the results."""

    inputs: list[Any]
    returned: list[Any]


def run(program: Callable[..., Any], inputs: Sequence[Any], synchronize: Callable[[], None]) -> Run:
    """Run ``program`` on copies of ``inputs``."""
    copies = [copied(value) for value in inputs]
    returned = listed(program(*copies))
    synchronize()
    return Run(copies, returned)


def written_inputs(artifact: Artifact) -> list[tuple[int, str]]:
    """The arguments of a call that the kernel writes: position among the arguments, name."""
    outputs = set(artifact.out_idx)
    arguments = [param for index, param in enumerate(artifact.params) if index not in outputs]
    return [(i, p.name) for i, p in enumerate(arguments) if isinstance(p, TensorParam) and "w" in p.access]


def outputs_of(artifact: Artifact, run: Run) -> list[tuple[str, Any]]:
    """The outputs of a run with their names: returned tensors, then the arguments that it wrote in place."""
    names = [artifact.params[index].name for index in artifact.out_idx]
    returned = list(zip(names, run.returned, strict=True))
    return returned + [(name, run.inputs[position]) for position, name in written_inputs(artifact)]


def pairs(artifact: Artifact, kernel: Run, reference: Run, inputs: Sequence[Any]) -> list[tuple[str, Any, Any]]:
    """The tensors to compare: (name, the kernel's, the reference's).

    The reference returns the kernel's outputs, or those and everything that the kernel writes in place, or writes in
    place as the kernel does. Arguments that only the kernel writes, such as scratch memory, are not compared.
    Raises ArgumentError when the two do not fit, or when the reference gives nothing.
    """
    outputs = outputs_of(artifact, kernel)
    returned = len(artifact.out_idx)
    if reference.returned and len(reference.returned) == len(outputs):
        return [(name, value, other) for (name, value), other in zip(outputs, reference.returned, strict=True)]
    if len(reference.returned) != returned:
        names = ", ".join(name for name, _ in outputs)
        raise ArgumentError(
            f"the reference program for {artifact.name} returned {len(reference.returned)} tensors",
            expected=f"{len(outputs)} ({names})" + ("" if returned else ", or none when it writes them in place"),
        )
    compared = [(name, value, other) for (name, value), other in zip(outputs, reference.returned, strict=False)]
    for position, name in written_inputs(artifact):
        other = reference.inputs[position]
        if not _same_bits(other, inputs[position]):
            compared.append((name, kernel.inputs[position], other))
    if not compared:
        raise ArgumentError(
            f"the reference program for {artifact.name} returned nothing and changed none of its arguments",
            expected=", ".join(name for name, _ in outputs) or "a kernel that writes something",
        )
    return compared


def _same_bits(left: Any, right: Any) -> bool:
    import numpy

    a, b = (numpy.ascontiguousarray(as_numpy(value)) for value in (left, right))
    return a.shape == b.shape and a.tobytes() == b.tobytes()


def check(artifact: Artifact, compared: Sequence[tuple[str, Any, Any]], tolerance: Tolerance, ratio: float) -> None:
    """Raises AssertionError, naming kernel and output, unless all pairs are close but for a part of ``ratio``."""
    for name, value, expected in compared:
        assert_close(value, expected, tolerance, ratio, subject=f"{artifact.name}: {name}")
