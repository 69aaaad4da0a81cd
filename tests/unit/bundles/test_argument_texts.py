"""The texts of arguments: in labels, and to find the kernel that was made for them."""

from __future__ import annotations

import collections
import enum
from types import SimpleNamespace

import numpy as np
import pytest

import tilecore.language as T
from tilecore.bundles.argument_texts import ANY_VALUE, argument_text, has_text, on_one_line, text_with_contents
from tilecore.dtypes import dtype

torch = pytest.importorskip("torch")

Sizes = collections.namedtuple("Sizes", "M N")
Extents = collections.namedtuple("Extents", "M N")
Colour = enum.Enum("Colour", "RED BLUE")


class Shaped:
    """No tensor, though it has a shape and an element type."""

    def __init__(self, shape, kind, block):
        self.shape, self.dtype, self.block = shape, kind, block

    def __repr__(self):
        return f"Shaped({self.shape}, {self.dtype!r}, {self.block})"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a  b", "'a  b'"),
        (["a  b", "\t"], r"['a  b', '\t']"),
        ({"a  b": np.int64(3)}, "{'a  b': 3}"),
        (np.int64(64), "64"),
        (np.float32(0.5), "0.5"),
        (np.float32(0.1), "0.10000000149011612"),
        (np.bool_(True), "True"),
        (np.str_("a  b"), "'a  b'"),
        ((np.int8(1), np.uint64(2**63)), "(1, 9223372036854775808)"),
        ({"b", "a"}, "{'a', 'b'}"),
        (frozenset({2, 1}), "frozenset({1, 2})"),
        (frozenset(), "frozenset()"),
        (Sizes(1, np.int32(2)), "Sizes(M=1, N=2)"),
        (torch.Size([4, 8]), "(4, 8)"),
        ((1,), "(1,)"),
        (np.float16, "'float16'"),
        (np.bool_, "'bool'"),
        (T.float16, "'float16'"),
        (torch.float16, "'float16'"),
        (np.dtype("float16"), "'float16'"),
        (np.dtype([("a.b", "i4")]), '''"[('a.b', '<i4')]"'''),
        (float, "<class 'float'>"),
        (np.ndarray, "<class 'numpy.ndarray'>"),
        (np.floating, "<class 'numpy.floating'>"),
        (torch.Tensor, "<class 'torch.Tensor'>"),
        (Shaped((4, 4), "float16", 32), "Shaped((4, 4), 'float16', 32)"),
        (Shaped(5, 1, 32), "Shaped(5, 1, 32)"),
        (np.zeros((2, 3), "int8"), "int8[2, 3]"),
        (torch.zeros(2, 3), "float32[2, 3]"),
        (torch.zeros(2, 3).t(), "float32[3, 2] strides [1, 3]"),
        (np.zeros((2, 3), "int16").T, "int16[3, 2] strides [1, 3]"),
        (T.Tensor((2, 3), "float16"), "float16[2, 3]"),
        (T.StridedTensor((2, 3), (1, 2), "float16"), "float16[2, 3] strides [1, 2]"),
    ],
)
def test_texts_in_labels(value, text):
    assert argument_text(value) == text
    assert has_text(value, text)


@pytest.mark.parametrize("value", [64, 0.5, True, "a  b"])
def test_scalars_of_numpy_are_their_values(value):
    """As ``tilecore.jit`` takes them."""
    assert argument_text(np.array(value)[()]) == argument_text(value)
    assert has_text(np.array(value)[()], text_with_contents(value))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a b", "a  b"),
        (["a b"], ["a  b"]),
        (np.int64(64), np.int64(16)),
        (np.float32(0.1), 0.1),
        (np.datetime64("2020-01-01"), np.datetime64("2020-01-02")),
        (1, True),
        (1, 1.0),
        (Sizes(1, 2), Extents(1, 2)),
        (Sizes(1, 2), (1, 2)),
        ((1, 2), [1, 2]),
        (Colour.RED, Colour.BLUE),
        (Shaped((4, 4), "float16", 32), Shaped((4, 4), "float16", 64)),
        (SimpleNamespace(text="a b"), SimpleNamespace(text="a  b")),
        (np.array([1, 2]), np.array([1, 3])),
        (np.array([1, 2]), np.array([1.0, 2.0])),
        (torch.tensor([1, 2]), torch.tensor([1, 3])),
        ([np.array([1, 2])], [np.array([1, 3])]),
        (np.array(1), np.array(2)),
        (np.array([1, 2]), torch.tensor([1, 2])),
    ],
)
def test_other_arguments_have_other_texts(one, other):
    assert has_text(one, text_with_contents(one))
    assert not has_text(other, text_with_contents(one))
    assert not has_text(one, text_with_contents(other))


def test_tensors_by_their_type():
    """As eager kernels are found: by shape, element type and strides."""
    text = argument_text(T.Tensor((4, 8), "float32"))
    for tensor in (np.ones((4, 8), "float32"), torch.ones(4, 8), Shaped((4, 8), dtype("float32"), 1)):
        assert has_text(tensor, text)
    for tensor in (torch.ones(8, 4).t(), np.ones((8, 4), "float32").T, torch.ones(4, 8).half(), torch.ones(8, 4)):
        assert not has_text(tensor, text)
    assert has_text(torch.ones(8, 4).t(), argument_text(T.StridedTensor((4, 8), (1, 4), "float32")))
    assert has_text(np.ones((8, 1), "float32").T, argument_text(T.Tensor((1, 8), "float32"))), "an axis of size 1"


@pytest.mark.skipif(not hasattr(torch, "float4_e2m1fn_x2"), reason="this torch has no pairs of 4 bits")
def test_pairs_of_elements():
    pairs = torch.empty((4, 8), dtype=torch.uint8).view(torch.float4_e2m1fn_x2)
    assert argument_text(pairs) == argument_text(T.Tensor((4, 16), "float4_e2m1fn"))
    assert argument_text(pairs[:, :2]) == "float4_e2m1fn[4, 4] strides [16, 1]"


@pytest.mark.filterwarnings("ignore:Sparse CSR")
def test_a_tensor_without_strides():
    assert argument_text(torch.zeros(2, 3).to_sparse_csr()) == "float32[2, 3]"


def test_contents_that_are_not_compared():
    """A text that no value has, as such an array may differ from any other."""
    tensor = torch.ones(2, requires_grad=True)
    text = text_with_contents(tensor)
    assert text == "float32[2] of contents that are not compared"
    assert not has_text(tensor, text)


def test_texts_that_stand_for_many():
    """A size that a kernel takes all of, and an argument that tells no kernels apart."""
    for text in ("float32[*, 8]", "float32[4, *]", "float32[*, *]", "float32[4, 8] strides [*, 1]"):
        assert has_text(np.ones((4, 8), "float32"), text)
        assert not has_text(np.ones((4, 8), "float64"), text)
        assert not has_text(np.ones((4, 8, 1), "float32"), text)
        assert not has_text("float32[4, 8]", text)
    assert not has_text(np.ones((4, 9), "float32"), "float32[*, 8]")
    assert not has_text(np.ones((8, 4), "float32").T, "float32[*, 8]")
    assert has_text(np.ones((4, 16), "float32")[:, :8], "float32[4, 8] strides [*, 1]")
    assert not has_text("'a*'", "'a*c'")
    assert all(has_text(value, ANY_VALUE) for value in (3, None, np.ones(3)))


def test_texts_on_one_line():
    assert on_one_line("f(a\n   b, '  ')") == "f(a b, '  ')"
    assert on_one_line("f('a  b') ") == "f('a  b') "
