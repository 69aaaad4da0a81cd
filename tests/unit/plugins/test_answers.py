"""What a backend answers when its functions are called: each field of the record is checked."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from tilecore.contract.adapter import ForeignTensor
from tilecore.contract.records import Capabilities
from tilecore.errors import PluginError
from tilecore.ir.thread_calls import MEMORY_ORDERS
from tilecore.plugins.answers import record

ORIGIN = SimpleNamespace(kind="acme", package="tile-acme", version="1.5")
GOOD = Capabilities(frozenset({"float32"}), frozenset({"shared"}), frozenset({"copy"}))


def answered(**fields):
    return record(ORIGIN, "TargetSpec.capabilities", Capabilities)(replace(GOOD, **fields))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *(("warp", value) for value in (1, 2, 32, 64)),
        *(("index_bits", value) for value in (32, 64)),
        ("atomic_orders", frozenset()),
        ("atomic_orders", frozenset({"relaxed"})),
        ("atomic_orders", frozenset(MEMORY_ORDERS)),
        ("max_threads", 0),
        ("dtypes", frozenset({"float32", "float_of_a_later_version"})),
    ],
)
def test_legal_capabilities(field, value):
    assert getattr(answered(**{field: value}), field) == value


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *(("warp", value) for value in (0, -1, 3, 48, 32.0, True, None)),
        *(("index_bits", value) for value in (0, 16, 128, "64")),
        ("atomic_orders", frozenset({"relaxed", "sloppy"})),
        ("atomic_orders", "relaxed"),
        ("max_threads", -1),
        ("shared_bytes", -5),
        ("dtypes", "float32"),
    ],
)
def test_wrong_capabilities(field, value):
    with pytest.raises(PluginError, match=f"TargetSpec.capabilities returned a wrong value: field '{field}'"):
        answered(**{field: value})


MEMORY = ForeignTensor(0x7000, (5, 0), (0, -1), (2, 32, 1), (2, 0), owner=object())


def test_a_tensor_that_a_protocol_of_the_device_describes():
    assert record(ORIGIN, "adapter.foreign_tensor", ForeignTensor)(MEMORY) is MEMORY


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("address", -1),
        ("address", None),
        ("shape", (5, -1)),
        ("shape", [5]),
        ("strides", None),
        ("strides", (1.0,)),
        ("dtype", (2, 32)),
        ("dtype", "float32"),
        ("device", (2, 0, 0)),
        ("read_only", 1),
    ],
)
def test_wrong_tensors(field, value):
    with pytest.raises(PluginError, match=f"foreign_tensor returned a wrong value: field '{field}'"):
        record(ORIGIN, "adapter.foreign_tensor", ForeignTensor)(replace(MEMORY, **{field: value}))
