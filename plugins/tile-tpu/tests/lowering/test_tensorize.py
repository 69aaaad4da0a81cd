"""tensorize: which nests of parallel loops become commands, which stay with the control core, and why.

``tests/ops`` tests the commands of each expression; these tests are of the decisions of the pass.
"""

from __future__ import annotations

import inspect
import re

import pytest
from one_pass import around_pass
from tile_tpu.lowering.state import GuardedBuffers

import tilecore.language as T
from tilecore.testing.kernel_text import lines, text

PASS = "tensorize"
N = T.dynamic("n")
_VIEW = re.compile(r"T\.tpu\.view\((\w+), (?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)")


def kernel_of(use, rows=128, dtype="float32", blocks=2):
    """``use(X, a, b, v, n, bx)`` of a tensor, two tiles and a vector of integers."""

    @T.prim_func
    def kernel(X: T.Tensor((rows, 16), dtype), n: T.int32):
        with T.Kernel(blocks) as bx:
            a = T.alloc_shared((64, 16), dtype)
            b = T.alloc_shared((64, 16), dtype)
            v = T.alloc_shared((64,), "int32")
            use(X, a, b, v, n, bx)

    return kernel


def code(func):
    """The statements without allocations; views appear as their buffers."""
    statements = (
        line for line in text(func).splitlines() if "= T.alloc_buffer(" not in line and "= T.int32()" not in line
    )
    return _VIEW.sub(r"\1", "\n".join(statements)).replace("T.tpu.", "")


def tensorized(use, **options):
    """The code after the pass, and the environment."""
    _, after, env = around_pass(kernel_of(use, **options), PASS)
    return code(after), env


# -- nests that become commands -----------------------------------------------------------------------------------


@T.macro
def add(X, a, b, v, n, bx):
    for i, j in T.Parallel(64, 16):
        a[i, j] = b[i, j] + 1.0


def test_a_nest_becomes_commands():
    """The rows of the tiles are in lanes. The tiles and their local buffers stay allocated."""
    before, after, env = around_pass(kernel_of(add), PASS)
    added = [line for line in text(after).splitlines() if line not in text(before)]
    assert added == [
        't = T.alloc_buffer((16,), scope="tpu.local", layout=None)',
        "T.tpu.add(T.tpu.view(a, 0, 0, 1, 64, 1, 16, 0, 16, 0, 1), "
        "T.tpu.view(b, 0, 0, 1, 64, 1, 16, 0, 16, 0, 1), T.float32(1.0))",
    ]
    assert "T.parallel" in text(before)
    assert "T.parallel" not in text(after)
    assert env.report["nests"] == [{"line": line_of(add), "by": "tensor unit"}]
    assert "not_vectorized" not in env.report


def line_of(use, words="in T.Parallel("):
    """The line of the first loop of a macro."""
    source, first = inspect.getsourcelines(use.__wrapped__)
    return first + next(number for number, line in enumerate(source) if words in line)


@T.macro
def two_statements(X, a, b, v, n, bx):
    for i, j in T.Parallel(64, 16):
        a[i, j] = b[i, j] + 1.0
        b[i, j] = a[i, j] * 2.0


def test_each_statement_is_done_for_all_iterations_before_the_next():
    assert tensorized(two_statements)[0] == "add(a, b, T.float32(1.0))\nmul(b, a, T.float32(2.0))"


@T.macro
def one_iteration(X, a, b, v, n, bx):
    for i in T.Parallel(1):
        a[i, 3] = 1.0


@T.macro
def vectorized(X, a, b, v, n, bx):
    for i in T.vectorized(16):
        a[5, i] = 1.0


@T.macro
def in_a_serial_loop(X, a, b, v, n, bx):
    for _ in T.serial(3):
        for i, j in T.Parallel(64, 16):
            a[i, j] = b[i, j]


@T.macro
def with_a_serial_loop(X, a, b, v, n, bx):
    for i, j in T.Parallel(64, 16):
        for _ in T.serial(n):
            a[i, j] = a[i, j] + b[i, j]


@T.macro
def under_a_condition_of_the_block(X, a, b, v, n, bx):
    for i, j in T.Parallel(64, 16):
        if n > 3:
            a[i, j] = b[i, j]
        else:
            a[i, j] = 0.0


@pytest.mark.parametrize(
    ("use", "expected"),
    [
        (one_iteration, "fill(a, T.float32(1.0))"),
        (vectorized, "fill(t, T.float32(1.0))\nshift(a, t)"),
        (in_a_serial_loop, "for _ in T.serial(3, annotations={'tile.loop': 'serial'}):\n    copy(a, b)"),
        (with_a_serial_loop, "for _ in range(n):\n    add(a, a, b)"),
        (
            under_a_condition_of_the_block,
            "if n > 3:\n    copy(a, b)\nelse:\n    fill(a, T.float32(0.0))",
        ),
    ],
)
def test_nests_of_all_kinds(use, expected):
    commands, env = tensorized(use)
    assert commands.replace('"', "'") == expected
    assert [row["by"] for row in env.report["nests"]] == ["tensor unit"]


def test_nests_are_chosen_one_by_one():
    @T.macro
    def use(X, a, b, v, n, bx):
        for i, j in T.Parallel(64, 16):
            a[i, j] = 0.0
        for i in T.Parallel(64):
            v[i] = v[i] // 7
        for i, j in T.Parallel(64, 16):
            b[i, j] = 0.0

    commands, env = tensorized(use)
    assert commands == lines(
        """
        fill(a, T.float32(0.0))
        for i_1 in T.parallel(64, annotations={"tile.loop": "parallel"}):
            v_1[i_1] = v_1[i_1] // 7
        fill(b, T.float32(0.0))
        """
    )
    assert [row["by"] for row in env.report["nests"]] == ["tensor unit", "control core", "tensor unit"]


# -- the outermost loop by the control core -----------------------------------------------------------------------


@T.macro
def squares(X, a, b, v, n, bx):
    for i, j in T.Parallel(4, 16):
        a[i * i, j] = 1.0


@T.macro
def two_squares(X, a, b, v, n, bx):
    for i, k, j in T.Parallel(2, 3, 16):
        a[i * i + k * k, j] = 1.0


@T.macro
def unknown_length(X, a, b, v, n, bx):
    for i, j in T.Parallel(n, 16):
        a[i, j] = 1.0


@T.macro
def no_iterations(X, a, b, v, n, bx):
    for i, j in T.Parallel(0, 16):
        a[i, j] = 1.0


@T.macro
def scattered_rows(X, a, b, v, n, bx):
    for i, j in T.Parallel(64, 16):
        a[v[i], j] = 1.0


@pytest.mark.parametrize(
    ("use", "loop"),
    [
        (squares, "for i in range(4):"),
        (two_squares, "for i, k in T.grid(2, 3):"),
        (unknown_length, "for i in range(n):"),
        (no_iterations, "for i in range(0):"),
        (scattered_rows, "for i in range(64):"),
    ],
)
def test_the_outermost_loop_may_be_one_of_the_control_core(use, loop):
    commands, env = tensorized(use)
    assert commands == f"{loop}\n    fill(t, T.float32(1.0))\n    shift(a, t)"
    assert env.report["nests"] == [{"line": line_of(use), "by": "tensor unit"}]


def test_the_lengths_of_loops_of_the_control_core_are_known():
    @T.macro
    def use(X, a, b, v, n, bx):
        for i, k, j in T.Parallel(2, 3, 16):
            a[i * i + k * k, j] = X[k * 60, j]

    def by(rows):
        (row,) = tensorized(use, rows=rows)[1].report["nests"]
        return row["by"]

    assert by(rows=121) == "tensor unit"
    assert by(rows=120) == "control core", "a single row that may lie outside of its tensor"


# -- what stays with the control core -----------------------------------------------------------------------------


@T.macro
def atomics(X, a, b, v, n, bx):
    for i, j in T.Parallel(64, 16):
        T.atomic_add(X[i, j], 1.0)


@T.macro
def one_target(X, a, b, v, n, bx):
    for i, j in T.Parallel(64, 16):
        a[i, 0] = b[i, j]


@T.macro
def repeated(X, a, b, v, n, bx):
    for _ in T.vectorized(8):
        a[0, 0] = a[0, 0] + 1.0


@T.macro
def unknown_single_loop(X, a, b, v, n, bx):
    for i in T.Parallel(n):
        a[i, 0] = 1.0


@T.macro
def no_single_iteration(X, a, b, v, n, bx):
    for i in T.Parallel(0):
        a[i, 0] = 1.0


@T.macro
def divided(X, a, b, v, n, bx):
    for i in T.Parallel(64):
        v[i] = v[i] // 7


@T.macro
def loops_of_different_length(X, a, b, v, n, bx):
    for i in T.Parallel(64):
        for _ in T.serial(v[i]):
            a[i, 0] = a[i, 0] + 1.0


@T.macro
def large_array(X, a, b, v, n, bx):
    for i in T.Parallel(64):
        x = T.alloc_local((17,), "float32")
        x[0] = 1.0
        a[i, 0] = x[0]


@T.macro
def variable_of_the_control_core(X, a, b, v, n, bx):
    x = T.alloc_local((64,), "float32")
    for i in T.Parallel(64):
        a[i, 0] = x[i]


@pytest.mark.parametrize(
    ("use", "reason"),
    [
        (atomics, "the parallel loop has a side effect other than a store"),
        (one_target, "several iterations write the same element of a"),
        (repeated, "the iterations of a T.vectorized loop store to the same element"),
        (unknown_single_loop, "the range of a parallel loop is not a compile-time constant that begins at 0"),
        (no_single_iteration, "a parallel loop has no iterations"),
        (divided, "the tensor unit divides integers by constant powers of two only"),
        (loops_of_different_length, "the iterations have inner loops of different lengths"),
        (large_array, "x, an array of each iteration, has over 16 elements or an unsupported type"),
        (variable_of_the_control_core, "x is a variable of the control core"),
    ],
)
def test_nests_that_the_tensor_unit_does_not_support_stay_unchanged(use, reason):
    """explain() has the reason, with the user's line."""
    before, after, env = around_pass(kernel_of(use), PASS)
    assert text(before) == text(after)
    line = line_of(use, "in T.vectorized(" if use is repeated else "in T.Parallel(")
    assert env.report["nests"] == [{"line": line, "by": "control core", "because": reason}]
    assert env.report["not_vectorized"] == [{"line": line, "reason": f"on the control core: {reason}"}]


@pytest.mark.parametrize(
    ("dtype", "reason"),
    [(dtype, f"no engine supports {dtype}, the element type of a") for dtype in ("int4", "int64", "float64")]
    + [("bfloat16", ""), ("int8", "")],
)
def test_types_that_no_engine_has(dtype, reason):
    @T.macro
    def use(X, a, b, v, n, bx):
        for i, j in T.Parallel(64, 16):
            a[i, j] = a[i, j] + b[i, j]

    commands, env = tensorized(use, dtype=dtype)
    assert env.report["nests"][0].get("because", "") == reason
    assert commands.startswith("for i in T.parallel(64" if reason else "add(a, a, b)")


def test_tiles_with_views_are_in_one_lane():
    @T.macro
    def use(X, a, b, v, n, bx):
        c = T.view(a, (1024,), "int32")
        c[0] = 1
        for i, j in T.Parallel(64, 16):
            a[i, j] = 1.0

    _, env = tensorized(use)
    assert env.report["nests"][0]["because"] == "the lanes of a do not match those of the loop"


# -- ends of tensors ----------------------------------------------------------------------------------------------


@T.macro
def rows_of_the_block(X, a, b, v, n, bx):
    for i, j in T.Parallel(64, 16):
        a[i, j] = X[bx * 64 + i, j]


@T.macro
def rows_of_the_first_block(X, a, b, v, n, bx):
    if bx < 1:
        for i, j in T.Parallel(64, 16):
            a[i, j] = X[bx * 64 + i, j]


@T.macro
def rows_of_a_serial_loop(X, a, b, v, n, bx):
    for k in T.serial(2):
        for i, j in T.Parallel(64, 16):
            a[i, j] = X[k * 64 + i, j]


@pytest.mark.parametrize("use", [rows_of_the_block, rows_of_a_serial_loop])
def test_blocks_and_loops_that_end_with_the_tensor_need_no_check(use):
    assert "if " not in tensorized(use, rows=128)[0]
    assert "if " in tensorized(use, rows=127)[0]


def test_the_end_of_a_tensor_cuts_a_load():
    """The elements outside of the tensor are filled first."""
    assert tensorized(rows_of_the_block, rows=100)[0] == lines(
        """
        if 100 - T.max(bx * 64, 36) < 64:
            fill(a, T.float32(0.0))
        if 100 - T.max(bx * 64, 36) > 0:
            load(a, X)
        """
    )


def test_the_condition_around_a_nest_is_known_in_it():
    assert tensorized(rows_of_the_first_block, rows=100)[0] == "if bx < 1:\n    load(a, X)"


def test_the_condition_around_a_nest_is_not_known_in_its_else():
    @T.macro
    def use(X, a, b, v, n, bx):
        if bx < 1:
            a[0, 0] = 1.0
        else:
            for i, j in T.Parallel(64, 16):
                a[i, j] = X[bx * 64 + i, j]

    commands = tensorized(use, rows=100)[0]
    assert commands.index("else:") < commands.index("fill(a, ") < commands.index("load(a, X)")


def test_sizes_of_tensors_are_not_negative():
    @T.prim_func
    def kernel(X: T.Tensor((N + 64, 16), "float32"), Y: T.Tensor((N, 16), "float32")):
        with T.Kernel(1):
            a = T.alloc_shared((64, 16), "float32")
            for i, j in T.Parallel(64, 16):
                a[i, j] = X[i, j]

    assert code(around_pass(kernel, PASS)[1]) == "load(a, X)"


# -- tables -------------------------------------------------------------------------------------------------------


@T.macro
def functions(X, a, b, v, n, bx):
    for i, j in T.Parallel(64, 16):
        a[i, j] = T.exp(b[i, j])
    for i, j in T.Parallel(64, 16):
        b[i, j] = T.exp(a[i, j])


@T.macro
def function_of_the_control_core(X, a, b, v, n, bx):
    for i, j in T.Parallel(64, 16):
        a[i, j] = T.exp(b[i, j])
        T.atomic_add(X[i, j], 1.0)


def test_a_table_is_loaded_once_at_the_beginning_of_a_kernel():
    _, after, _ = around_pass(kernel_of(functions), PASS)
    first = text(after).splitlines()
    assert first[0] == 'exp_table = T.alloc_buffer((32,), scope="tpu.local", layout=None)'
    assert first[1] == 'T.tpu.load_table(T.tpu.view(exp_table, 0, 0, 1, 64, 1, 32, 32, 32, 32, 1), "exp")'
    assert text(after).count("load_table") == 1
    assert text(after).count("T.tpu.exp(") == 2


def test_each_kernel_has_its_own_tables():
    @T.prim_func
    def kernels(X: T.Tensor((64, 16), "float32")):
        for step in [1, 2, 3]:
            with T.Kernel(1):
                a = T.alloc_shared((64, 16), "float32")
                for i, j in T.Parallel(64, 16):
                    if step == 2:
                        a[i, j] = 1.0
                    else:
                        a[i, j] = T.exp(X[i, j])

    commands = code(around_pass(kernels, PASS)[1])
    assert re.findall(r"load_table|fill(?=\(\w+, T.float32\(1)", commands) == ["load_table", "fill", "load_table"]


def test_nests_that_stay_need_no_tables():
    commands, env = tensorized(function_of_the_control_core)
    assert "load_table" not in commands
    assert env.report["nests"][0]["because"] == "the parallel loop has a side effect other than a store"


# -- the state that it leaves -------------------------------------------------------------------------------------


@T.macro
def masked(X, a, b, v, n, bx):
    for i, j in T.Parallel(64, 16):
        if j > i:
            a[i, j] = b[i, j]


@T.macro
def masked_of_the_control_core(X, a, b, v, n, bx):
    for i, j in T.Parallel(64, 16):
        if j > i:
            a[i, j] = b[i, j]
        T.atomic_add(X[i, j], 1.0)


@pytest.mark.parametrize(
    ("use", "guarded"),
    [
        (add, []),
        (masked, ["a", "b"]),
        (under_a_condition_of_the_block, []),  # which holds for all iterations or none
        (masked_of_the_control_core, []),  # no command uses it
    ],
)
def test_memory_that_commands_use_under_a_condition_is_noted(use, guarded):
    _, env = tensorized(use)
    buffers = env.state(GuardedBuffers).buffers
    assert sorted(str(buffer.name) for buffer in buffers) == guarded
    assert all(str(buffer.scope()) == "tpu.local" for buffer in buffers)


# -- options ------------------------------------------------------------------------------------------------------


def test_fast_math_lets_floats_saturate():
    @T.macro
    def use(X, a, b, v, n, bx):
        for i, j in T.Parallel(64, 16):
            a[i, j] = T.exp(b[i, j])

    exact = code(around_pass(kernel_of(use), PASS)[1])
    fast = code(around_pass(kernel_of(use), PASS, config={"tl.enable_fast_math": True})[1])
    assert "select_less(" in exact
    assert fast.splitlines()[1:] == ["exp(a, b, work, work_1, exp_table)"]
