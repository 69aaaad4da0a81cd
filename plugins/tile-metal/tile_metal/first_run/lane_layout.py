"""Checks which elements of an 8 x 8 simdgroup matrix each lane holds, on the GPU at hand.

The Metal Shading Language Specification (4.0, 6.7) leaves it open; tile-metal's fragments rely on the layout that all
GPUs from M1 on have shown so far. lane_layout.metal makes matrices of known numbers, in four ways and of three types,
and writes what ``thread_elements()`` gives to each lane.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from tilecore.testing.first_run import kernels
from tilecore.testing.first_run.machine import Machine, Skipped

SOURCE = Path(__file__).with_suffix(".metal")
TYPES = ("float", "half", "bfloat")
FORMS = ("loaded", "loaded transposed", "accumulated", "stored by hand")
SIMDGROUPS, LANES = 2, 32
SIZE = len(TYPES) * len(FORMS) * SIMDGROUPS * 64 + 2  # the last two: lanes of a simdgroup, version of MSL


def place(lane: int) -> tuple[int, int]:
    """(row, column) of a lane's first element; its second is the next of the row."""
    quad = lane // 4
    return (quad & 4) + lane // 2 % 4, (quad & 2) * 2 + lane % 2 * 2


def lane_layout(machine: Machine) -> None:
    """Simdgroup matrices of float, half and bfloat: loaded, transposed, products, and stored after writing lanes."""
    if machine.is_simulated:
        raise Skipped("the simulated device has the layout that is checked")
    numbers = machine.torch.arange(SIZE, dtype=machine.torch.float32).to(machine.device())  # the first 64 are read
    elements = machine.zeros(SIZE) - 1
    kernel_of_source(machine)(numbers, elements)
    machine.synchronize()
    compare([float(value) for value in elements.cpu()])


def kernel_of_source(machine: Machine) -> Any:
    """The kernel of lane_layout.metal, as the execution backend loads those that tile-metal emits."""
    from tilecore.jit.export import kernel_of

    # a kernel with the same parameters and threads, whose text gives way to that of the file
    artifact = machine.compile(kernels.reverse(SIZE, SIMDGROUPS * LANES)).artifact
    text = SOURCE.read_text().replace("KERNEL", artifact.entries[0].symbol)
    return kernel_of(dataclasses.replace(artifact, source=text, binary=text.encode()))


def compare(elements: list[float]) -> None:
    """Raises AssertionError where a lane has other elements than ``place`` says. elements: what the kernel wrote."""
    width, version = (int(value) for value in elements[-2:])
    if width != LANES:
        raise AssertionError(f"a simdgroup has {width} lanes (MSL {version}), and {LANES} are expected")
    types = TYPES if version >= 310 else TYPES[:2]
    wrong = []
    for number, (kind, form) in enumerate((kind, form) for kind in types for form in FORMS):
        for simdgroup in range(SIMDGROUPS):
            start = (number * SIMDGROUPS + simdgroup) * 64
            found = [int(value) for value in elements[start : start + 64]]
            if found != expected(form):
                wrong.append(f"{kind}, {form}, simdgroup {simdgroup}: {found}")
    if wrong:
        count = len(types) * len(FORMS) * SIMDGROUPS
        raise AssertionError(
            f"{len(wrong)} of {count} simdgroup matrices are in other lanes than expected (two numbers of each lane, "
            f"8 * row + column): {wrong[0]}; expected {expected(wrong[0].split(', ')[1])}"
        )


def expected(form: str) -> list[int]:
    """The numbers that the kernel writes for a matrix whose element (row, column) is 8 * row + column."""
    if form == "stored by hand":
        return list(range(64))
    elements = []
    for row, column in map(place, range(LANES)):
        pairs = [(row, column), (row, column + 1)]
        elements += [8 * c + r if form == "loaded transposed" else 8 * r + c for r, c in pairs]
    return elements
