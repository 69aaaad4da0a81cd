"""Runs a kernel on a target and by the interpreter, and compares what both wrote."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tilecore
from tilecore.compiler import CompileOptions, emit, lower
from tilecore.dtypes import FACTS
from tilecore.errors import LimitError
from tilecore.interpreter import interpret
from tilecore.lowering.analysis.needs import needs
from tilecore.plugins import manager

from . import thread_code
from .features import has_feature as has_feature
from .gather import gather
from .on_device import HOST, device_of, ready

FLOATS = ("float64", "float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2")
INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
DTYPES = (*FLOATS, *INTEGERS, "bool")
SEED = 0  # of all values: --seed
COMPILE_ONLY = False  # nothing runs: --level 1


def element(dtype: str) -> np.dtype:
    """The numpy dtype of a tensor with this element type."""
    return np.dtype(bool) if dtype == "bool" else np.dtype(getattr(np, dtype, None) or getattr(ml_dtypes, dtype))


def sample(dtype: str, shape: Any, seed: int = 0) -> np.ndarray:
    """Varied values: integers within +-100 (what the type allows), floats around 0."""
    rng = np.random.default_rng(seed if not SEED else [SEED, seed])
    kind = element(dtype)
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if kind.kind in "iu":
        return rng.integers(0 if kind.kind == "u" else -100, 101, shape).astype(kind)
    return rng.standard_normal(shape).astype(np.float32).astype(kind)


def every_value(dtype: str) -> np.ndarray:
    """All values of an 8- or 16-bit type; of a wider one its corners and random bits."""
    kind = element(dtype)
    if dtype == "bool":
        return np.array([False, True])
    bits = kind.itemsize * 8
    if bits <= 16:
        return np.arange(2**bits, dtype=f"uint{bits}").view(kind)
    rng = np.random.default_rng(bits)
    raw = rng.integers(0, 2**bits, 4000, dtype=f"uint{bits}").view(kind)
    if kind.kind in "iu":
        limits = np.iinfo(kind)
        corners = np.array([limits.min, limits.min + 1, 0, 1, limits.max - 1, limits.max], kind)
        if kind.kind == "i":
            corners = np.append(corners, np.array([-1, -2], kind))
        corners = np.append(corners, np.array([2**24 + 2**16 + 1], kind))  # a float32 cuts the last bit off
        return np.concatenate([corners, raw, (raw >> (bits // 2)).astype(kind)])
    powers = np.ldexp(1.0, np.arange(-70, 71)).astype(kind)
    halves = np.arange(-300, 300).astype(kind) + kind.type(0.5)
    corners = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, 1e38, -1e38], kind)
    between = [1 + 2.0**-places + sign * 2.0**-30 for places in (2, 3, 4, 8, 9, 11, 12) for sign in (1, -1)]
    corners = np.append(corners, np.array(between, kind))  # not to be rounded twice
    return np.concatenate([corners, raw, powers, -powers, powers * kind.type(1.5), halves])


def wide(array: np.ndarray) -> np.ndarray:
    """The values as float64, or as they are for integers, for comparing."""
    with np.errstate(invalid="ignore"):  # signalling NaN
        return array if array.dtype.kind in "iub" else array.astype(np.float64)


def same(got: np.ndarray, expected: np.ndarray, label: str = "") -> None:
    """Equal in every element; NaN equals NaN, and -0 equals 0."""
    np.testing.assert_array_equal(wide(got), wide(expected), err_msg=label)


def close(got: np.ndarray, expected: np.ndarray, steps: float = 4.0, label: str = "") -> None:
    """Integers equal; floats within ``steps`` units of the last place of the largest magnitude in ``want``."""
    if expected.dtype.kind in "iub":
        same(got, expected, label)
        return
    facts = FACTS[str(expected.dtype)]
    finite = np.abs(wide(expected)[np.isfinite(wide(expected))])
    scale = float(finite.max(initial=0.0))
    unit = 2.0**-facts.significand
    np.testing.assert_allclose(
        wide(got), wide(expected), rtol=steps * unit, atol=steps * unit * scale, equal_nan=True, err_msg=label
    )


def copies(args: Any) -> list[Any]:
    """Copies of the arrays that keep their strides; other arguments as they are."""
    return [_copy(arg) if isinstance(arg, np.ndarray) else arg for arg in args]


def _copy(array: np.ndarray) -> np.ndarray:
    if array.flags.c_contiguous:
        return array.copy()
    base = array
    while isinstance(base.base, np.ndarray):
        base = base.base
    fresh = base.copy(order="K")
    start = array.__array_interface__["data"][0] - base.__array_interface__["data"][0]
    return np.ndarray(array.shape, array.dtype, fresh, start, array.strides)


def has_warps(target: str) -> bool:
    """Do the threads of a block run on their own, in warps, rather than in step?"""
    if target == thread_code.NAME:
        return True
    backend, resolved = manager.resolve(target)
    return backend.target.capabilities(resolved).warp > 1


def moves(source: str, buffer: str, size: int) -> bool:
    """Does the source read or write ``size`` bytes of the buffer at once, by the function that emitted code has for it?
    In C it is ``tc_move<16>(Y + ...``; in languages that are not C, ``tc.move(16, tc.at(Y, ...``."""
    return re.search(rf"[<(]{size}\W+(?:tc\.at\()?{buffer}\b", source) is not None


def reduces_only_in_uniform_code(target: str) -> bool:
    """Do threads reduce through shared memory only, so that all threads of a block must execute the reduction?"""
    if target == thread_code.NAME:
        return False
    backend, resolved = manager.resolve(target)
    return backend.lowering.family == "simt" and backend.target.capabilities(resolved).warp == 1


def needs_the_host(target: str, why: str) -> None:
    """Skips where kernels run on a device of their own rather than in this process."""
    if target != thread_code.NAME:
        backend, resolved = manager.resolve(target)
        chosen = next((a for a in backend.adapters.values() if a.available(resolved).present), None)
        if chosen is not None and device_of(backend, chosen) != HOST:
            pytest.skip(why)


_TOO_MUCH = ((re.compile(r"the kernel needs \d+ bytes of shared memory"), "so much on-chip memory of a block"),
             (re.compile(r"a block has too many threads"), "so many threads of a block"))  # fmt: skip


class Compiled(Exception):
    """The kernel compiled, and no more is asked for: ends a case well."""


def lacking(func: Any, target: str) -> None:
    """Skips what needs something that the target does not declare."""
    backend, resolved = manager.resolve(target)
    capabilities = backend.target.capabilities(resolved)
    missing = next((need for need in needs(func.ir) if not need.is_met(capabilities)), None)
    if missing is not None:
        pytest.skip(f"not declared: {missing}")


def needs_type(target: str, dtype: str) -> None:
    """Skips where the target does not declare an element type."""
    backend, resolved = manager.resolve(target)
    dtypes = backend.target.capabilities(resolved).dtypes
    if dtypes and dtype not in dtypes:
        pytest.skip(f"not declared: element type {dtype}")


@contextmanager
def within_limits() -> Iterator[None]:
    """Skips what needs more shared memory or threads of a block than the target declares."""
    try:
        yield
    except LimitError as error:
        what = next((words for pattern, words in _TOO_MUCH if pattern.match(error.message)), None)
        if what is None:
            raise
        pytest.skip(f"not declared: {what} ({error.expected})")


def _compile(func: Any, target: str) -> None:
    """To source, for the execution backend that the place names, else for the target's first."""
    backend, resolved = manager.resolve(target)
    options = CompileOptions((), {}, (), False)
    module, _ = lower(func.ir, backend, resolved, options)
    emitted = emit(module, backend, resolved, getattr(target, "backend", None) or "")
    assert emitted.source.strip(), "there is no source"
    name = str(func.ir.attrs["global_symbol"])
    gather(name, str(resolved), emitted.source, emitted.source_format or backend.codegen.emits)


def compiled(func: Any, target: str, **options: Any) -> Any:
    """The kernel of a T.prim_func on a target."""
    if target == thread_code.NAME:
        return thread_code.Kernel(func)
    lacking(func, target)
    with within_limits():
        if COMPILE_ONLY:
            _compile(func, target)
            raise Compiled
        kernel = tilecore.compile(func, target=target, **options)
    artifact = kernel.artifact
    gather(artifact.name, artifact.target, artifact.source, artifact.source_format)
    return ready(kernel)


def runs_kernels() -> None:
    """Skips a case that is about running kernels where nothing is run (--level 1)."""
    if COMPILE_ONLY:
        pytest.skip("level 1 runs no kernel")


def needs_a_launch(target: str) -> None:
    """Skips a case that is about the launch where the code of threads is run without one."""
    if target == thread_code.NAME:
        pytest.skip("no launch checks the call")


def check(func: Any, target: str, *args: Any, compare: Callable[..., None] = same, **options: Any) -> list[np.ndarray]:
    """Run on copies of ``args``, interpret on others, and compare every array. Returns what the target wrote."""
    kernel = compiled(func, target, **options)
    return rerun(kernel, func, *args, compare=compare)


def rerun(kernel: Any, func: Any, *args: Any, compare: Callable[..., None] = same) -> list[np.ndarray]:
    """As :func:`check`, with a kernel that is compiled already."""
    got, expected = copies(args), copies(args)
    kernel(*got)
    interpret(func.ir, *expected)
    names = [p.name for p in kernel.params]
    for name, mine, other in zip(names, got, expected, strict=True):
        if isinstance(mine, np.ndarray):
            compare(mine, other, label=f"{func.__name__}: {name}")
    return [g for g in got if isinstance(g, np.ndarray)]


def zeros(dtype: str, shape: Any) -> np.ndarray:
    return np.zeros(shape, element(dtype))
