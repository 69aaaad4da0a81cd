"""Names mean what they mean where they stand: a parameter called T hides the language in its function alone."""

from __future__ import annotations

from textwrap import dedent

import pytest

from tilecore.porting.uses import read_program


def used(text):
    """The lines and paths of the uses."""
    return [(use.line, ".".join(use.path)) for use in read_program(dedent(text), "program.py").uses]


def test_a_parameter_hides_a_name_in_its_function_alone():
    text = """\
        import tilelang.language as T
        def f(x: T.int32, T=T.int8) -> T.int16:
            return T.gemm
        g = lambda T, a=T.int64: T.copy
        T.clear
    """
    assert used(text) == [
        (2, "language.int32"),
        (2, "language.int8"),
        (2, "language.int16"),
        (4, "language.int64"),
        (5, "language.clear"),
    ]


def test_an_import_in_a_function_holds_there_alone():
    text = """\
        from other import T
        def f():
            import tilelang.language as T
            def inside():
                T.gemm
            T.copy
        T.clear
    """
    assert used(text) == [(5, "language.gemm"), (6, "language.copy")]


def test_names_of_a_class_body_are_not_those_of_its_methods():
    text = """\
        import tilelang.language as T
        class A(T.Base):
            T = T.first = 3
            T.hidden
            def method(self):
                T.gemm
    """
    assert used(text) == [(2, "language.Base"), (6, "language.gemm")]


@pytest.mark.parametrize("comprehension", ["[T.x for T in y]", "{T.x: 1 for T in y}", "(T.x for T in y)"])
def test_the_variable_of_a_comprehension(comprehension):
    text = f"import tilelang.language as T\na = {comprehension}\nb = [T.gemm for y in z]\n"
    assert used(text) == [(3, "language.gemm")]


@pytest.mark.parametrize(
    "other", ["T = 3", "for T in x: pass", "with x as T: pass", "def T(): pass", "from x import T", "import T.x"]
)
def test_a_name_that_is_bound_to_something_else_as_well_is_not_judged(other):
    assert used(f"import tilelang.language as T\n{other}\nT.gemm\n") == []


def test_a_name_that_is_none_where_the_import_fails_is_judged():
    text = "try:\n    import tilelang\nexcept ImportError:\n    tilelang = None\ntilelang.jit\n"
    assert used(text) == [(5, "jit")]


def test_names_of_tvm_and_of_tilelangs_tvm_have_one_path():
    text = """\
        import tvm, tilelang
        import tvm.tirx as tir
        from tvm import DataType
        from tilelang import tvm as other
        tvm.IRModule; tir.Var; DataType("int8"); other.ir.Op; tilelang.tvm.te
    """
    assert [path for _, path in used(text)] == ["tvm.IRModule", "tvm.tirx.Var", "tvm.DataType", "tvm.ir.Op", "tvm.te"]
