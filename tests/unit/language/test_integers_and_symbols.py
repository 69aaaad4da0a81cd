"""Integer helpers on numbers and on expressions; sizes that have names."""

from __future__ import annotations

import pytest
from fresh_processes import imported_by
from hypothesis import assume, given
from hypothesis import strategies as st

import tilecore.language as T
from tilecore.errors import LanguageError
from tilecore.ir.analyzer import Analyzer
from tilecore.ir.nodes import IntImm, tirx
from tilecore.ir.visit import collect
from tilecore.language.symbols import ConstDim

WHOLE = st.integers(-1000, 1000)


def value(expression) -> int:
    """An expression of constants, worked out."""
    return int(Analyzer().simplify(expression).value)


@given(WHOLE, WHOLE)
def test_helpers_agree_on_numbers_and_expressions(a, b):
    assume(b != 0)
    x, y = tirx.const(a, "int64"), tirx.const(b, "int64")
    assert T.floordiv(a, b) == value(T.floordiv(x, y)) == a // b
    assert T.floormod(a, b) == value(T.floormod(x, y)) == a % b
    assert T.truncdiv(a, b) == value(T.truncdiv(x, y)) == int(a / b)
    assert T.truncmod(a, b) == value(T.truncmod(x, y)) == a - int(a / b) * b
    if a >= 0 and b > 0:
        assert T.ceildiv(a, b) == value(T.ceildiv(x, y)) == -(-a // b)
        assert T.align_up(a, b) == value(T.align_up(x, y))
        assert a <= T.align_up(a, b) < a + b


@given(st.integers(0, 2**40))
def test_next_power_of_2(n):
    power = T.next_power_of_2(n)
    assert power >= n
    assert power & (power - 1) == 0
    assert power == 1 or power // 2 < n


def test_integer_helpers_import_no_compiler():
    assert "tvm" not in imported_by("import tilecore.language as T; T.ceildiv(7, 2), T.next_power_of_2(5)")


def test_dynamic_sizes():
    single, (m, n), (p, q) = T.dynamic("m"), T.dynamic("m, n"), T.symbolic("p q", "int64")
    assert [str(v.name) for v in (single, m, n, p, q)] == ["m", "m", "n", "p", "q"]
    assert str(q.ty.dtype) == "int64"
    assert str(T.Var("k", "int64").ty.dtype) == "int64"
    assert isinstance(m, T.Var)
    assert isinstance(q, T.Var)
    assert not any(isinstance(value, T.Var) for value in (8, m * 2, "m", T.float32))
    for bad in ("", "1", "a-b"):
        with pytest.raises(LanguageError, match="is not a list of names"):
            T.dynamic(bad)
    with pytest.raises(LanguageError, match="float32"):
        T.dynamic("m", "float32")


def test_sizes_that_a_declaration_settles():
    m, _ = T.const("M, N")
    assert isinstance(m, ConstDim)
    assert repr(m) == "M"
    with pytest.raises(LanguageError, match="not known yet"):
        int(m)
    derived = [m + 1, 2 * m, -m, T.ceildiv(m, 5), (m + 3) // 2 % 4, 2**m, m * 0.5]
    assert [repr(size) for size in derived] == [
        "M + 1", "2 * M", "-M", "-((-M) // 5)", "((M + 3) // 2) % 4", "2 ** M", "M * (0.5)",
    ]  # fmt: skip
    for size in (m, derived[0]):
        for needed in (lambda s: s > 3, lambda s: s == 3, bool, range, abs, float):
            with pytest.raises(LanguageError, match="'M' is not known yet"):
                needed(size)
    m.set_value(12, "A.shape[0]")
    assert (m + 1, m // 5, m % 5, 2 * m, m == 12, m > 3, T.ceildiv(m, 5), range(m)[-1]) == (
        13,
        2,
        2,
        24,
        True,
        True,
        3,
        11,
    )
    assert [size.value for size in derived] == [13, 24, -12, 3, 3, 4096, 6.0]
    assert repr(derived[1]) == "24"
    derived[0].set_value(13, "A.shape[1]")
    with pytest.raises(LanguageError, match=r"the size M \+ 1 is 13") as caught:
        derived[0].set_value(14, "A.shape[1]")
    assert caught.value.found == "14 from A.shape[1]"
    m.set_value(12, "B.shape[0]")
    with pytest.raises(LanguageError, match="two values") as caught:
        m.set_value(13, "C.shape[1]")
    assert "13 from C.shape[1]" in str(caught.value)


def test_persistent_coordinates_cover_every_tile_once():
    """For any number of waves and group size; by the coordinates alone."""
    from tilecore.language.loops import _coordinates

    for sizes in ([7, 11], [5], [2, 3, 4], [1, 1], [8, 3]):
        total = 1
        for size in sizes:
            total *= size
        for group in (1, 3, 8):
            seen = set()
            for tile in range(total):
                constants = [IntImm("int32", s) for s in sizes]
                coordinates = _coordinates(IntImm("int32", tile), constants, min(group, sizes[-1]))
                seen.add(tuple(value(c) for c in coordinates))
            assert len(seen) == total
            assert all(0 <= c < s for point in seen for c, s in zip(point, sizes, strict=True))


def test_element_types_without_a_value_are_sizes_of_the_call():
    import numpy as np

    import tilecore

    size = T.int32()
    assert str((size & 3).ty.dtype) == "int32"
    assert isinstance(T.uint64(), T.Var)

    @T.prim_func
    def kernel(A: T.Tensor((size,), "int32")):
        with T.Kernel(1):
            for i in T.Parallel(size):
                A[i] = size

    compiled = tilecore.compile(kernel, target="cpu")
    for number in (5, 7):
        a = np.zeros(number, np.int32)
        compiled(a)
        assert a.tolist() == [number] * number


def test_a_size_that_no_argument_gives_is_refused():
    size = T.dynamic("m")
    with pytest.raises(LanguageError, match="reads the size 'm', whose value no argument gives") as caught:

        @T.prim_func
        def kernel(A: T.Tensor((4,), "int32")):
            with T.Kernel(1):
                A[0] = size

    assert caught.value.hint == "or pass the number as a scalar parameter, m: T.int32"


def test_bits_of_sizes_outside_of_kernels():
    """TVM's own operators would keep the lowest 32 bits of the number."""
    for kind, number in (("uint32", 2**32 - 1), ("int64", 2**63 - 1), ("int64", -(2**40)), ("uint64", 2**63)):
        size = T.Var("n", kind)
        for expression in (size & number, number | size, size ^ number):
            assert [int(c.value) for c in collect(expression, T.IntImm)] == [number]
            assert expression.dtype == kind
