"""The blocks and launches of a call, from its slots."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from tile_tpu.launch import TensorSlot, call_of, merged

from tilecore.artifact.records import Artifact, Entry, ScalarParam, TensorParam, Workspace


def tensor(name, start, end, access="r"):
    return TensorSlot(name, start, "uint8", (end - start,), access=access)


def test_tensors_apart():
    blocks, homes = merged([tensor("b", 200, 300, "w"), tensor("a", 0, 100)])
    assert [(b.name, b.host, b.nbytes, b.copy_in, b.copy_out) for b in blocks] == [
        ("a", 0, 100, True, False),
        ("b", 200, 100, True, True),
    ]
    assert homes == [1, 0]


@pytest.mark.parametrize(
    ("ranges", "spans"),
    [
        ([(0, 100), (50, 150)], [(0, 150)]),
        ([(0, 100), (20, 30), (90, 95)], [(0, 100)]),
        ([(0, 100), (0, 100)], [(0, 100)]),
        ([(0, 100), (100, 200)], [(0, 100), (100, 200)]),
        ([(0, 100), (50, 50), (100, 200)], [(0, 100), (50, 50), (100, 200)]),  # one without elements
        ([(0, 100), (90, 200), (150, 160), (199, 300)], [(0, 300)]),
    ],
)
def test_overlapping_tensors_share_a_block(ranges, spans):
    for order in (ranges, ranges[::-1]):
        tensors = [tensor(f"t{i}", *r) for i, r in enumerate(order)]
        blocks, homes = merged(tensors)
        assert sorted((b.host, b.host + b.nbytes) for b in blocks) == spans
        for slot, home in zip(tensors, homes, strict=True):
            assert blocks[home].host <= slot.address
            assert slot.address + slot.nbytes <= blocks[home].host + blocks[home].nbytes


def test_the_copies_of_blocks():
    blocks, _ = merged([tensor("x", 0, 8, "r"), tensor("y", 4, 12, "w"), tensor("s", 99, 120, "rw")], {"s"})
    assert [(b.name, b.copy_in, b.copy_out) for b in blocks] == [("x and y", True, True), ("s", False, False)]


def test_a_call():
    params = (TensorParam("X", "float16", (6,), access="r"), ScalarParam("n", "int16"), ScalarParam("s", "float64"))
    fields = {"fields": ["handle", "handle", "int16", "float64"]}
    entries = (
        Entry("a_kernel", (4, 1, 1), attributes={"cores": 8, **fields}),
        Entry("b_kernel", (0, 1, 1), attributes={"cores": 8, **fields}),
        Entry("c_kernel", (1, 1, 1), attributes={"cores": 1, **fields}),
    )
    workspaces = (Workspace("W", "float32", (5,)),)
    artifact = Artifact("k", "tpu", "tile-tpu", "cmodel", params, (), workspaces, entries, (), "", "c", b"", "cmodel")
    slots = (ctypes.c_int64 * 4)(0x1000, 0x2000, -3, int(np.float64(2.5).view(np.int64)))
    grids = (ctypes.c_int64 * 12)(4, 1, 1, 0, 0, 1, 1, 0, 1, 1, 1, 0)
    blocks, launches = call_of(artifact, ctypes.addressof(slots), ctypes.addressof(grids))
    assert [(b.name, b.nbytes, b.copy_in) for b in blocks] == [("X", 12, True), ("W", 20, False)]
    assert [(x.entry, x.items) for x in launches] == [("a_kernel", 8), ("c_kernel", 1)]
    assert len(launches[0].arguments) == 32
    filled = launches[0].with_addresses([0xAABB, 0xCCDD])
    expected = np.zeros(1, np.dtype([("X", "u8"), ("W", "u8"), ("n", "i2"), ("s", "f8")], align=True))
    expected[0] = (0xAABB, 0xCCDD, -3, 2.5)
    assert expected.dtype.itemsize == 32
    got = np.frombuffer(filled, expected.dtype)
    assert got == expected


def test_nothing_to_launch():
    artifact = Artifact(
        "k", "tpu", "tile-tpu", "cmodel", (), (), (), (Entry("a", (0, 1, 1), attributes={"fields": []}),), (), "", "c",
        b"", "cmodel",
    )  # fmt: skip
    slots, grids = (ctypes.c_int64 * 1)(), (ctypes.c_int64 * 4)(0, 1, 1, 0)
    assert call_of(artifact, ctypes.addressof(slots), ctypes.addressof(grids)) == ([], [])
