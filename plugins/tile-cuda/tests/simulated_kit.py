"""Small hand-written kernels on the simulated device, with tensor maps."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from tile_cuda.headers import INCLUDE
from tile_cuda.launch.tensor_maps import TensorMap
from tile_cuda.simulated_maps import simulated_map

from tilecore.errors import ToolchainError
from tilecore.simulate.arguments import Tensor
from tilecore.simulate.compilers import find_compiler
from tilecore.simulate.device import Run, SimulatedDevice
from tilecore.simulate.errors import SimulationError
from tilecore.simulate.library import KernelLibrary

try:
    find_compiler()
    needs_compiler = pytest.mark.skipif(False, reason="")
except ToolchainError as error:
    needs_compiler = pytest.mark.skip(reason=error.message)

DTYPES = {"float16": "tc_half", "float32": "float", "int32": "int", "uint8": "unsigned char", "int8": "signed char"}
HEADER = '#include "tilecore_cuda.h"\n'


@functools.lru_cache(maxsize=256)
def compiled(source: str, symbol: str) -> KernelLibrary:
    return SimulatedDevice().compile(source if source.startswith("#include") else HEADER + source, [symbol], INCLUDE)


def run(
    source: str, symbol: str, threads: int, *arguments: Any, maps: Sequence[TensorMap] = (), grid: Sequence[int] = (1,),
    shared: int = 0, seed: int = 0, **options: Any,
) -> Run:  # fmt: skip
    """arguments: (name, array, access), or a number. maps: of constant sizes, by the slots of the arguments."""
    simulated_arguments = [Tensor.of(*a) if isinstance(a, tuple) else int(a) for a in arguments]
    records = [simulated_map(tensor_map, simulated_arguments, {}, symbol) for tensor_map in maps]
    launch = {name: options.pop(name) for name in ("cluster",) if name in options}
    device = SimulatedDevice(**{"seconds": 60.0, "allow_same_value": True, "own_proxy": True, **options})
    library = compiled(source, symbol)
    return device.run(library, symbol, grid, (threads,), [*simulated_arguments, *records], shared, seed, **launch)


def caught(
    source: str, *arguments: Any, seeds: Sequence[int] = (0, 1, 2), kinds: Sequence[str] = (), **options: Any
) -> SimulationError:  # fmt: skip
    """The error of a wrong kernel: of one kind whatever the order of threads, or of some of ``kinds``."""
    errors = []
    for seed in seeds:
        with pytest.raises(SimulationError) as info:
            run(source, *arguments, seed=seed, **options)
        errors.append(info.value)
    found_kinds = {error.kind for error in errors}
    assert found_kinds <= set(kinds) if kinds else len(found_kinds) == 1, [str(e) for e in errors]
    return errors[-1]


def planted(source: str, old: str, new: str = "") -> str:
    assert source.count(old) == 1, (source.count(old), old)
    return source.replace(old, new)


def map_of(slot: int, array: np.ndarray, box: Sequence[int], name: str = "", **facts: Any) -> TensorMap:
    """Of a whole array, whose axes the map counts from the innermost, as it does those of ``box``."""
    shape, strides = array.shape[::-1], array.strides[::-1][1:]
    tensor_map = TensorMap(slot, str(array.dtype), shape, strides, tuple(box), name=name or f"slot {slot}", **facts)
    assert tensor_map.fault() is None, tensor_map.fault()
    return tensor_map


def aligned(array: np.ndarray) -> np.ndarray:
    """The same in memory that a tensor map may start at."""
    memory = np.zeros(array.nbytes + 64, np.uint8)
    start = -memory.ctypes.data % 64
    copy = memory[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy
