"""Serial loops, choices, and the grid of blocks."""

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tilecore.language as T
from tilecore.errors import DeviceAssertError, InterpreterError, LanguageError, UnsupportedError
from tilecore.interpreter import Options, Program, interpret
from tilecore.ir.nodes import (
    AttrStmt,
    Bind,
    BufferLoad,
    BufferStore,
    Call,
    Evaluate,
    For,
    ForKind,
    IfThenElse,
    IntImm,
    Return,
    StringImm,
    Var,
    While,
    tirx,
)

from .kit import block, buffer, evaluate, function, launch, sample


def recorded(loop_of):
    """The values that a loop's variable takes: Y[n++] = i"""
    y, n, i = buffer("Y", (40,), "int32"), buffer("N", (1,), "int32"), Var("i", "int32")
    body = block(BufferStore(y, i, [BufferLoad(n, [0])]), BufferStore(n, BufferLoad(n, [0]) + IntImm("int32", 1), [0]))
    out, count = np.full(40, -99, np.int32), np.zeros(1, np.int32)
    interpret(function([y, n], launch(loop_of(i, body), 1)), out, count)
    return out[: count[0]].tolist()


@pytest.mark.parametrize("kind", [ForKind.SERIAL, ForKind.UNROLLED, ForKind.VECTORIZED])
@settings(max_examples=12, deadline=None)
@given(start=st.integers(-5, 5), extent=st.integers(-3, 15), step=st.none() | st.integers(1, 6))
def test_loop_variables(kind, start, extent, step):
    got = recorded(lambda i, body: For(i, start, extent, kind, body, step=step))
    assert got == list(range(start, start + extent, step or 1))


def test_a_step_that_is_not_positive_is_an_error():
    with pytest.raises(InterpreterError, match="the step of a loop is 0"):
        recorded(lambda i, body: For(i, 0, 5, ForKind.SERIAL, body, step=IntImm("int32", 0)))


def test_loops_bound_to_threads_are_refused():
    with pytest.raises(UnsupportedError, match="bound to threads"):
        recorded(lambda i, body: For(i, 0, 5, ForKind.THREAD_BINDING, body))


@pytest.mark.parametrize("loop", [T.serial, T.unroll, T.vectorized, lambda n: T.Pipelined(n, num_stages=3)])
def test_the_languages_sequential_loops(loop):
    @T.prim_func
    def kernel(Y: T.Tensor((6,), "int32")):
        with T.Kernel(1):
            Y[0] = 1
            for k in loop(5):
                Y[k + 1] = Y[k] * 2 + k

    y = np.zeros(6, np.int32)
    interpret(kernel, y)
    expected = [1]
    for k in range(5):
        expected.append(expected[-1] * 2 + k)
    assert y.tolist() == expected


def test_breaks_and_continues_of_nested_loops():
    @T.prim_func
    def kernel(Y: T.Tensor((1,), "int32")):
        with T.Kernel(1):
            n = T.alloc_var("int32", init=0)
            for a in T.serial(100):
                if a == 7:
                    break
                for b in T.serial(100):
                    if b > a:
                        break
                    if (a + b) % 3 == 0:
                        continue
                    n = n + 10 * a + b
                n = n + 1
            while n >= 0:
                n = n + 1
                if n % 5 == 0:
                    break
            Y[0] = n

    n = 0
    for a in range(7):
        n += sum(10 * a + b for b in range(a + 1) if (a + b) % 3) + 1
    y = np.zeros(1, np.int32)
    interpret(kernel, y)
    assert y[0] == (n // 5 + 1) * 5


def test_legacy_jump_calls():
    y, i = buffer("Y", (9,), "int32"), Var("i", "int32")
    body = block(
        IfThenElse(i.equal(2), evaluate("tirx.continue_loop"), None),
        IfThenElse(i.equal(5), evaluate("tirx.break_loop"), None),
        BufferStore(y, IntImm("int32", 1), [i]),
    )
    after = block(evaluate("tirx.thread_return"), BufferStore(y, IntImm("int32", 1), [8]))
    out = np.zeros(9, np.int32)
    interpret(function([y], launch(block(For(i, 0, 9, ForKind.SERIAL, body), after), 1)), out)
    assert out.tolist() == [1, 1, 0, 1, 1, 0, 0, 0, 0]


def test_a_return_inside_loops_ends_the_block():
    y, b, i = buffer("Y", (3, 4), "int32"), Var("b", "int32"), Var("i", "int32")
    loop = For(
        i,
        0,
        4,
        ForKind.SERIAL,
        block(IfThenElse(i > b, Return(IntImm("int32", 0)), None), BufferStore(y, IntImm("int32", 1), [b, i])),
    )
    spin = While(IntImm("bool", 1), block(loop, Return(IntImm("int32", 0))))
    out = np.zeros((3, 4), np.int32)
    interpret(function([y], launch(block(spin, BufferStore(y, IntImm("int32", 9), [b, 3])), 3, block_vars=(b,))), out)
    assert out.tolist() == [[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0]]


def test_a_loop_of_many_iterations_takes_no_memory_and_little_time():
    y, i = buffer("Y", (1,), "int64"), Var("i", "int64")
    stop = IfThenElse(i.equal(1000), tirx.Break(), None)
    loop = For(i, IntImm("int64", 0), IntImm("int64", 2**40), ForKind.SERIAL, block(BufferStore(y, i, [0]), stop))
    out = np.zeros(1, np.int64)
    began = time.perf_counter()
    interpret(function([y], launch(loop, 1)), out)
    assert out[0] == 1000
    assert time.perf_counter() - began < 5


def test_bound_variables():
    y, v, w = buffer("Y", (2,), "int32"), Var("v", "int32"), Var("w", "int32")
    body = block(Bind(v, IntImm("int32", 6)), Bind(w, v * v), BufferStore(y, v, [0]), BufferStore(y, w + v, [1]))
    out = np.zeros(2, np.int32)
    interpret(function([y], launch(body, 1)), out)
    assert out.tolist() == [6, 42]


def test_attributes_and_strings_have_no_meaning():
    y = buffer("Y", (1,), "int32")
    body = AttrStmt(StringImm("x"), "hint", IntImm("int32", 3), BufferStore(y, IntImm("int32", 5), [0]))
    out = np.zeros(1, np.int32)
    interpret(function([y], launch(block(Evaluate(StringImm("note")), body), 1)), out)
    assert out[0] == 5


def test_an_assert_statement():
    y = buffer("Y", (2,), "int32")
    text = [StringImm("Y must be "), StringImm("positive")]
    check = tirx.AssertStmt(BufferLoad(y, [0]) > 0, StringImm("ValueError"), text)
    main = function([y], launch(check, 1))
    interpret(main, np.int32([1, 0]))
    with pytest.raises(DeviceAssertError, match="Y must be positive"):
        interpret(main, np.int32([0, 0]))


# -- kernels -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("grid", [(5,), (3, 4), (2, 3, 4)])
def test_every_block_runs_once(grid):
    shape = tuple(reversed(grid))

    @T.prim_func
    def kernel(Y: T.Tensor(shape, "int32"), N: T.Tensor((1,), "int32")):
        with T.Kernel(*grid):
            where = T.get_block_bindings()
            Y[tuple(reversed(where))] += T.atomic_add(N[0], 1, return_prev=True)

    y, n = np.zeros(shape, np.int32), np.zeros(1, np.int32)
    interpret(kernel, y, n)
    assert y.reshape(-1).tolist() == list(range(y.size))  # x fastest
    y, n = np.zeros(shape, np.int32), np.zeros(1, np.int32)
    interpret(kernel, y, n, block_order="seeded", seed=3)
    assert sorted(y.reshape(-1)) == list(range(y.size))
    assert y.reshape(-1).tolist() != list(range(y.size))


def test_kernels_run_one_after_the_other():
    @T.prim_func
    def kernel(A: T.Tensor((8,), "int32"), B: T.Tensor((8,), "int32"), C: T.Tensor((8,), "int32")):
        with T.Kernel(8) as b:
            B[b] = A[7 - b] + 1
        with T.Kernel(4) as b:
            C[2 * b] = B[7 - 2 * b]
            C[2 * b + 1] = B[6 - 2 * b]

    a = sample("int32", 8)
    b, c = np.zeros((2, 8), np.int32)
    interpret(kernel, a, b, c, block_order="seeded")
    assert c.tolist() == (a + 1).tolist()


def test_an_empty_grid_runs_nothing():
    n = T.dynamic("n")

    @T.prim_func
    def kernel(A: T.Tensor((n,), "int32"), Y: T.Tensor((1,), "int32")):
        with T.Kernel(n):
            Y[0] = 1

    y = np.zeros(1, np.int32)
    interpret(kernel, np.zeros(0, np.int32), y)
    assert y[0] == 0


def test_a_kernel_inside_a_kernel_is_refused():
    y = buffer("Y", (1,), "int32")
    inner = launch(BufferStore(y, IntImm("int32", 1), [0]), 1)
    with pytest.raises(LanguageError, match="inside a kernel"):
        interpret(nested(y, inner), np.zeros(1, np.int32))


def nested(y, inner):
    return function([y], launch(block(BufferStore(y, IntImm("int32", 0), [0]), inner), 1))


def test_an_unknown_launch_axis_is_refused():
    from tilecore.ir.nodes import IterVar, Range

    axis = IterVar(Range(0, 2), Var("v", "int32"), IterVar.ThreadIndex, "vthread")
    body = AttrStmt(axis, "thread_extent", IntImm("int32", 2), Evaluate(IntImm("int32", 0)))
    with pytest.raises(UnsupportedError, match="'vthread'"):
        interpret(function([], body))


def test_code_outside_kernels():
    y, i = buffer("Y", (4,), "int32"), Var("i", "int32")
    out = np.zeros(4, np.int32)
    interpret(function([y], For(i, 0, 4, ForKind.SERIAL, BufferStore(y, i * i, [i]))), out)
    assert out.tolist() == [0, 1, 4, 9]


def test_a_program_runs_many_times():
    @T.prim_func
    def kernel(A: T.Tensor((T.dynamic("n"),), "int32"), k: T.int32):
        with T.Kernel(1):
            for i in T.Parallel(A.shape[0]):
                A[i] = A[i] * k

    program = Program(kernel)
    for n, k in ((3, 2), (5, -1), (0, 7)):
        a = np.arange(n, dtype=np.int32)
        program(a, k, options=Options(check=bool(n % 2)))
        assert a.tolist() == [v * k for v in range(n)]


def test_a_call_that_is_no_expression_is_named():
    main = function([], launch(Evaluate(Call("tirx.tvm_storage_sync", [StringImm("shared")], ret_ty="void")), 1))
    with pytest.raises(UnsupportedError, match="tvm_storage_sync"):
        interpret(main)
