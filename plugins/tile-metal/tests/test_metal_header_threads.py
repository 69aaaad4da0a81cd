"""What the threads of a threadgroup do together by the header's device form, on threads of a host: shuffles, votes,
atomics that race for the parts of a word, and moves between address spaces."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from host_calls import numpy_type, pointer

THREADS = 64
NUMBERS = (
    "int8", "uint8", "int16", "uint16", "int32", "uint32", "float32", "float16", "bfloat16", "bool", "float8_e5m2",
)  # fmt: skip
SPACES = ("device", "threadgroup", "coherent")


def lane_read(kind, lane, operand, width):
    """The lane that a shuffle reads, as ``T.shfl`` defines it: the own one where there is none."""
    first = lane // width * width
    target = {
        "idx": first + operand % width, "xor": lane ^ operand, "up": lane - operand, "down": lane + operand,
    }[kind]  # fmt: skip
    return target if first <= target < first + width else lane


@pytest.mark.parametrize("name", [
    "int8", "uint16", "int32", "int64", "uint64", "bool", "float16", "bfloat16", "float32", "float8_e4m3fn",
])  # fmt: skip
def test_shuffles(host_library, name):
    bits = np.random.default_rng(5).integers(0, 1 << 63, 32, dtype=np.uint64)
    kind = numpy_type(name)
    values = (bits % 2 == 1) if name == "bool" else bits.astype(f"uint{8 * kind.itemsize}")
    for function, cases in {
        "idx": [(5, 32), (3, 8), (13, 4)], "xor": [(1, 32), (16, 32), (3, 8)], "up": [(1, 32), (3, 16)],
        "down": [(2, 32), (1, 4)],
    }.items():  # fmt: skip
        for operand, width in cases:
            result = np.zeros_like(values)
            getattr(host_library, f"shuffle_{function}_{name}")(pointer(values), pointer(result), operand, width)
            expected = [values[lane_read(function, lane, operand, width)] for lane in range(32)]
            np.testing.assert_array_equal(result, expected, f"{function} {operand} of {width}")


@pytest.mark.parametrize("name", ["int8", "uint8", "int16", "uint32", "float32", "float16", "bfloat16"])
def test_reductions_of_numbers(host_library, name):
    """Integers wrap, as numpy's do. Of floats the sums and products are exact here."""
    kind, random = numpy_type(name), np.random.default_rng(9)
    if name.startswith(("int", "uint")):
        values = random.integers(0, 1 << 32, 32, dtype=np.uint64).astype(kind)
    else:
        values = random.choice(np.float32([-2, -1, 1, 2, 0.5, -0.5]), 32).astype(kind)
    for function, ufunc in {"sum": np.add, "product": np.multiply, "min": np.minimum, "max": np.maximum}.items():
        result = np.zeros_like(values)
        getattr(host_library, f"lanes_{function}_{name}")(pointer(values), pointer(result))
        np.testing.assert_array_equal(result, np.full(32, ufunc.reduce(values, dtype=kind)), function)


@pytest.mark.parametrize("name", ["int8", "uint16", "int32", "bool"])
def test_reductions_of_bits(host_library, name):
    bits = np.random.default_rng(10).integers(0, 1 << 32, 32, dtype=np.uint64)
    drawn = bits % 3 == 0 if name == "bool" else bits.astype(name)
    for values in (drawn, drawn | drawn.dtype.type(1)):
        for function, ufunc in {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}.items():
            result = np.zeros_like(values)
            getattr(host_library, f"lanes_{function}_{name}")(pointer(values), pointer(result))
            np.testing.assert_array_equal(result, np.full(32, ufunc.reduce(values)), function)


@pytest.mark.parametrize("which", ["none", "all", "one", "some", "all but one"])
def test_votes(host_library, which):
    threads = np.arange(96)
    votes = {
        "none": threads < 0, "all": threads >= 0, "one": threads == 40, "some": threads % 5 == 1,
        "all but one": threads != 70,
    }[which]  # fmt: skip
    result = np.zeros((96, 6), np.int32)
    host_library.votes(96, pointer(votes), pointer(result))
    for first in range(0, 96, 32):
        group = votes[first : first + 32]
        ballot = sum(1 << lane for lane in range(32) if group[lane])
        expected = [group.any(), group.all(), np.uint32(ballot).view(np.int32)]
        assert (result[first : first + 32, :3] == expected).all()
    assert (result[:, 3:] == [votes.any(), votes.all(), votes.sum()]).all()


def race(library, space, kind, name, memory, values, rounds=1):
    """Memory of 8 elements after all threads' updates of their elements, and each thread's last old value."""
    old = np.zeros(THREADS, values.dtype)
    padded = np.concatenate([memory, np.zeros(32, memory.dtype)])  # whole words
    function = getattr(library, f"of_{space}_{kind}_{name}")
    function(THREADS, pointer(padded), pointer(values), pointer(old), rounds)
    assert not padded[8:].view(np.uint8).any()
    return padded[:8], old


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("name", NUMBERS)
def test_additions_are_lost_nowhere(host_library, space, name):
    kind = numpy_type(name)
    rounds = 1 if name in ("bool", "float8_e5m2") else 4
    memory, values = np.zeros(8, kind), np.ones(THREADS, kind)
    if name == "bool":
        values = (np.arange(THREADS) % 8 == 3) & (np.arange(THREADS) > 40)
    if name == "float8_e5m2":
        values = np.full(THREADS, 0.5, np.float32).astype(kind)  # sums to 4 exactly
    result, old = race(host_library, space, "add", name, memory, values, rounds)
    per_element = values.astype(np.float64).reshape(-1, 8).sum(0) * rounds
    np.testing.assert_array_equal(
        result.astype(np.float64), np.minimum(per_element, 1) if name == "bool" else per_element
    )
    if name != "bool" and rounds == 1:
        by_element = np.sort(old.astype(np.float64).reshape(-1, 8), axis=0)
        np.testing.assert_array_equal(by_element, np.arange(8)[:, None] * 0.5 * np.ones(8))


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("name", [name for name in NUMBERS if name != "bool"])
def test_extremes_and_exchanges(host_library, space, name):
    kind = numpy_type(name)
    values = np.random.default_rng(6).integers(0, 100, THREADS).astype(np.float32).astype(kind)
    if name.startswith(("int", "float", "bf")):
        values[::3] = -values[::3]
    memory, exact = np.full(8, 50, np.float32).astype(kind), values.astype(np.float64).reshape(-1, 8)
    largest, _ = race(host_library, space, "max", name, memory, values)
    np.testing.assert_array_equal(largest.astype(np.float64), np.maximum(exact.max(0), memory.astype(np.float64)))
    smallest, _ = race(host_library, space, "min", name, memory, values)
    np.testing.assert_array_equal(smallest.astype(np.float64), np.minimum(exact.min(0), memory.astype(np.float64)))
    last, old = race(host_library, space, "exchange", name, memory, values)
    left = np.concatenate([old.astype(np.float64).reshape(-1, 8), [last.astype(np.float64)]])
    brought = np.concatenate([exact, [memory.astype(np.float64)]])
    np.testing.assert_array_equal(np.sort(left, axis=0), np.sort(brought, axis=0))


@pytest.mark.parametrize("space", SPACES)
def test_bits_and_compare_and_swap(host_library, space):
    random = np.random.default_rng(7)
    for name in ("int8", "uint16", "int32", "uint32"):
        limits = np.iinfo(name)
        values = random.integers(limits.min, limits.max, THREADS, dtype=name)
        memory = random.integers(limits.min, limits.max, 8, dtype=name)
        for kind, ufunc in (("and", np.bitwise_and), ("or", np.bitwise_or), ("xor", np.bitwise_xor)):
            result, _ = race(host_library, space, kind, name, memory, values)
            np.testing.assert_array_equal(result, ufunc(ufunc.reduce(values.reshape(-1, 8), axis=0), memory))
    for name in ("float16", "float32", "uint8"):
        values = np.ones(THREADS, name)
        result, _ = race(host_library, space, "cas", name, np.zeros(8, name), values, rounds=4)
        np.testing.assert_array_equal(result, np.full(8, 32, name))


def test_moves(host_library):
    source = np.arange(32, dtype=np.uint8)
    aligned = np.zeros(64, np.uint8)
    start = -aligned.ctypes.data % 16
    for name in ("from_threadgroup", "to_threadgroup", "to_coherent", "from_coherent"):
        for size in (2, 4, 8, 16):
            aligned[:] = 0
            aligned[start : start + 16] = source[:16]
            to = aligned[start + 16 : start + 32]
            getattr(host_library, f"move_{name}")(size, pointer(to), ctypes.c_void_p(aligned.ctypes.data + start))
            np.testing.assert_array_equal(to[:size], source[:size])
            assert not to[size:].any()
