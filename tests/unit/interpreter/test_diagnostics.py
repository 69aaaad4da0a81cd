"""print, device_assert, assume; and that errors point at the user's line."""

import numpy as np
import pytest

import tilecore.language as T
from tilecore.errors import DeviceAssertError, InterpreterError, OutOfBoundsError
from tilecore.interpreter import interpret
from tilecore.ir.nodes import BufferLoad, BufferStore, Evaluate, IntImm, SourceName, Span
from tilecore.ir.tile_ops import tile_call, tile_statement

from .kit import block, buffer, function, launch


def printed(kernel, *args) -> list[str]:
    lines: list[str] = []
    interpret(kernel, *args, print_hook=lines.append)
    return lines


def test_one_line_for_each_block():
    @T.prim_func
    def kernel(A: T.Tensor((3,), "float16")):
        with T.Kernel(3) as b:
            T.print(b, "block")
            T.print(A[b] * 2, "twice")

    assert printed(kernel, np.float16([1, 2.5, 3])) == [
        "block: 0", "twice: 2", "block: 1", "twice: 5", "block: 2", "twice: 6",
    ]  # fmt: skip


def test_a_buffer_is_printed_element_by_element():
    @T.prim_func
    def kernel(A: T.Tensor((2, 2), "int32")):
        with T.Kernel(1, threads=4):
            s = T.alloc_shared((2, 2), "int32")
            T.copy(A, s)
            T.print(s, msg="tile")

    assert printed(kernel, np.int32([[1, 2], [3, 4]])) == [
        "tile[0, 0]: 1",
        "tile[0, 1]: 2",
        "tile[1, 0]: 3",
        "tile[1, 1]: 4",
    ]


def test_values_of_threads_are_printed_one_by_one():
    @T.prim_func
    def kernel(A: T.Tensor((4,), "int32")):
        with T.Kernel(1, threads=4):
            tx = T.get_thread_binding()
            T.print(7, "all")
            if A[tx] > 2:
                T.print(A[tx] * 10 + tx, "mine")

    assert printed(kernel, np.int32([1, 5, 2, 9])) == ["all: 7", "mine: 51", "mine: 93"]


def test_each_thread_that_comes_prints_where_not_all_do():
    @T.prim_func
    def kernel(A: T.Tensor((4,), "int32")):
        with T.Kernel(1, threads=4):
            s = T.alloc_shared((1,), "int32")
            T.fill(s, 3)
            if T.get_thread_binding() >= 2:
                T.print(A[0], "some")
                T.print(s, "tile")
            for _ in T.Parallel(3):
                T.print(A[0], "iteration")

    lines = printed(kernel, np.int32([7, 5, 2, 9]))
    assert lines == ["some: 7"] * 2 + ["tile[0]: 3"] * 2 + ["iteration: 7"] * 3


def test_values_of_iterations_are_printed_one_by_one():
    @T.prim_func
    def kernel(A: T.Tensor((2, 2), "int32")):
        with T.Kernel(1):
            for i, j in T.Parallel(2, 2):
                T.print(A[i, j], "at")

    assert printed(kernel, np.int32([[1, 2], [3, 4]])) == ["at: 1", "at: 2", "at: 3", "at: 4"]


def test_lines_go_to_standard_output_by_default(capsys):
    interpret(function([], launch(tile_statement("print", ["hello"]), 1)))
    assert capsys.readouterr().out == "hello\n"


def test_device_assert():
    @T.prim_func
    def kernel(A: T.Tensor((4,), "int32")):
        with T.Kernel(1):
            for i in T.Parallel(4):
                if i != 1:
                    T.device_assert(A[i] > 0, "A must be positive")

    interpret(kernel, np.int32([1, -1, 3, 4]))
    with pytest.raises(DeviceAssertError, match=r"A must be positive \(i = 2") as caught:
        interpret(kernel, np.int32([1, -1, -3, 4]))
    assert "T.device_assert(A[i] > 0" in caught.value.location.excerpt()


def test_assume():
    @T.prim_func
    def kernel(n: T.int32):
        with T.Kernel(1):
            T.assume(n % 8 == 0)

    interpret(kernel, 16)
    with pytest.raises(InterpreterError, match="assumption does not hold") as caught:
        interpret(kernel, 17)
    assert "n % 8" in caught.value.found


# -- places ------------------------------------------------------------------------------------------------------


def test_errors_point_at_the_line_and_columns():
    @T.prim_func
    def kernel(A: T.Tensor((4,), "int32")):
        with T.Kernel(1):
            for k in T.serial(5):
                A[k] = 1

    with pytest.raises(OutOfBoundsError) as caught:
        interpret(kernel, np.zeros(4, np.int32))
    place = caught.value.location
    text = place.excerpt().splitlines()[1].partition("| ")[2]
    assert place.file == __file__
    assert text[place.column : place.end_column] == "A[k] = 1"


def spanned(line):
    return Span(SourceName("some.py"), line, line, 5, 9)


def test_a_node_without_a_span_is_at_the_statement_around_it():
    y = buffer("Y", (4,), "int32")
    store = BufferStore(y, BufferLoad(y, [IntImm("int32", 9)]), [0], span=spanned(12))
    inner = tile_call("device_assert", [IntImm("bool", 0), "no"])
    for statement, line in ((store, 12), (Evaluate(inner, span=spanned(30)), 30)):
        main = function([y], launch(block(BufferStore(y, IntImm("int32", 0), [0]), statement), 1))
        with pytest.raises(InterpreterError) as caught:
            interpret(main, np.zeros(4, np.int32))
        assert str(caught.value.location) == f"some.py:{line}:5"


def test_the_span_of_an_expression_is_nearer():
    y = buffer("Y", (4,), "int32")
    load = BufferLoad(y, [IntImm("int32", 9)], span=spanned(13))
    main = function([y], launch(BufferStore(y, load + IntImm("int32", 1), [0], span=spanned(12)), 1))
    with pytest.raises(OutOfBoundsError) as caught:
        interpret(main, np.zeros(4, np.int32))
    assert caught.value.location.line == 13


def test_without_spans_there_is_no_place():
    y = buffer("Y", (4,), "int32")
    with pytest.raises(OutOfBoundsError) as caught:
        interpret(function([y], launch(BufferStore(y, IntImm("int32", 1), [4]), 1)), np.zeros(4, np.int32))
    assert caught.value.location is None
