"""What the tests of the simulated device share: compiling sources of the made-up target, and running them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tilecore.errors import ToolchainError
from tilecore.simulate.arguments import Tensor
from tilecore.simulate.compilers import find_compiler
from tilecore.simulate.device import Run, SimulatedDevice
from tilecore.simulate.errors import SimulationError
from tilecore.simulate.library import KernelLibrary

DIALECT = Path(__file__).parent / "dialect"

try:
    find_compiler()
    needs_compiler = pytest.mark.skipif(False, reason="")
except ToolchainError as error:
    needs_compiler = pytest.mark.skip(reason=error.message)

_SYMBOLS = re.compile(r"^KERNEL (\w+)\(", re.MULTILINE)


def compiled(source: str, **options: Any) -> KernelLibrary:
    """Line 1 of ``source`` is line 1 of the kernel: the include stands before it on the same line."""
    text = '#include "neutral.h"\n' + source.strip("\n") + "\n"
    return SimulatedDevice().compile(text, _SYMBOLS.findall(text), [DIALECT], **options)


def run(
    source: str | KernelLibrary, threads: int | Sequence[int], *arguments: Any, grid: Sequence[int] = (1,),
    shared: int = 0, seed: int = 0, **options: Any,
) -> Run:  # fmt: skip
    """arguments: (name, array, access), or a number."""
    library = compiled(source) if isinstance(source, str) else source
    device = SimulatedDevice(**{"seconds": 60.0, **options})
    block = (threads,) if isinstance(threads, int) else threads
    tensors = [Tensor.of(*a) if isinstance(a, tuple) else int(a) for a in arguments]
    return device.run(library, library.symbols[0], grid, block, tensors, shared, seed)


def caught(
    source: str | KernelLibrary, *arguments: Any, seeds: Sequence[int] = (0, 1, 2), **options: Any
) -> SimulationError:
    """The error of a wrong kernel: of one kind whatever the order of threads. It is that of the last seed."""
    library = compiled(source) if isinstance(source, str) else source
    errors = []
    for seed in seeds:
        with pytest.raises(SimulationError) as info:
            run(library, *arguments, seed=seed, **options)
        errors.append(info.value)
    kinds = {error.kind for error in errors}
    assert len(kinds) == 1, [str(e) for e in errors]
    return errors[-1]


def line_of(source: str, text: str) -> int:
    """The line of the compiled source that holds ``text``, which is on one line only."""
    (number,) = [n for n, line in enumerate(source.strip("\n").splitlines(), 2) if text in line]
    return number


def filled(shape: int | tuple[int, ...], dtype: Any = np.float32, seed: int = 0) -> np.ndarray:
    generator = np.random.default_rng(seed)
    return generator.integers(-8, 9, shape).astype(dtype)
