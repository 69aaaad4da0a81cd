"""The pass thread_loops: how code is cut, where memory goes, which loops may become vectors."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tilecore.language as T
from tilecore.contract.passes import Pass, PassEnv
from tilecore.ir.nodes import (
    AllocBuffer,
    BufferStore,
    Evaluate,
    For,
    ForKind,
    IfThenElse,
    Var,
    tirx,
)
from tilecore.ir.thread_groups import ThreadGroups
from tilecore.ir.visit import collect
from tilecore.lowering.analysis.kernels import ThreadAxis, Threads
from tilecore.lowering.analysis.uniformity import Uniformity
from tilecore.lowering.loops.pipeline import STEPS
from tilecore.lowering.loops.thread_conflicts import Footprint
from tilecore.lowering.loops.thread_loops import thread_loops
from tilecore.lowering.tile_ops.registry import implementations_of
from tilecore.plugins import manager


def lowered(func):
    """The function before and after the pass, and the pass's report."""
    backend, target = manager.resolve("cpu")
    env = PassEnv(target, backend.target.capabilities(target), implementations_of(backend))
    current = func.ir
    for step in STEPS:
        if isinstance(step, Pass):
            if step.name == "thread_loops":
                break
            current = step.run(current, env)
    return current, thread_loops(current, env), env.report.get("threads", [])


def thread_nests(func):
    return [loop for loop in collect(func.body, For) if str(loop.loop_var.name) == "tx"]


def test_kernels_that_do_not_ask_for_threads_are_left_alone():
    @T.prim_func
    def kernel(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32")):
        with T.Kernel(2, threads=32) as b:
            s = T.alloc_shared((32,), "float32")
            n = T.alloc_var("int32", init=0)
            T.copy(A[b * 32], s)
            T.sync_threads()
            for i in T.Parallel(32):
                B[b * 32 + i] = s[i] + n

    before, after, report = lowered(kernel)
    assert after.body.same_as(before.body)
    assert report == []


def test_regions_end_where_threads_meet():
    @T.prim_func
    def kernel(A: T.Tensor((32,), "float32"), B: T.Tensor((32,), "float32")):
        with T.Kernel(1, threads=32):
            tx = T.get_thread_binding()
            s = T.alloc_shared((32,), "float32")
            a = A[tx] * 2.0
            s[tx] = a
            s[tx] = s[tx] + 1.0
            B[tx] = s[31 - tx]
            B[tx] = B[tx] + a

    _, after, report = lowered(kernel)
    assert [entry["statements"] for entry in report] == [3, 2]
    assert [entry["loops"] for entry in report] == ["parallel", "parallel"]
    assert len(thread_nests(after)) == 2
    buffers = [alloc.buffer for alloc in collect(after.body, AllocBuffer) if str(alloc.buffer.name) == "a"]
    assert [list(map(int, buffer.shape)) for buffer in buffers] == [[32]]


def test_memory_of_one_region_stays_inside_its_loops():
    @T.prim_func
    def kernel(A: T.Tensor((8, 4), "float32"), B: T.Tensor((8, 4), "float32")):
        with T.Kernel(1, threads=8):
            tx = T.get_thread_binding()
            short, long = T.alloc_local((4,), "float32"), T.alloc_local((4,), "float32")
            for k in T.serial(4):
                short[k] = A[tx, k]
                long[k] = short[k] + A[tx, 3 - k]
            T.sync_threads()
            for i, j in T.Parallel(8, 4):
                B[i, j] = 1.0
            for k in T.serial(4):
                B[tx, k] = B[tx, k] + long[k]

    _, after, _ = lowered(kernel)
    first, second = thread_nests(after)
    assert [str(alloc.buffer.name) for alloc in collect(first, AllocBuffer)] == ["short"]
    assert not collect(second, AllocBuffer)
    outside = {str(a.buffer.name): [int(s) for s in a.buffer.shape] for a in collect(after.body, AllocBuffer)}
    assert outside == {"short": [4], "long": [8, 4]}


def test_loops_stay_outside_when_threads_meet_in_them():
    @T.prim_func
    def kernel(A: T.Tensor((8,), "float32"), B: T.Tensor((8,), "float32")):
        with T.Kernel(1, threads=8):
            tx = T.get_thread_binding()
            s = T.alloc_shared((8,), "float32")
            alone, together = T.alloc_var("float32", init=0.0), T.alloc_var("float32", init=0.0)
            for k in T.serial(5):
                alone = alone + A[(tx + k) % 8]
            for _ in T.serial(3):
                s[tx] = alone
                together = together + s[7 - tx]
            B[tx] = alone + together

    _, after, _ = lowered(kernel)
    serial = [loop for loop in collect(after.body, For) if "tile.loop" in loop.annotations]
    inside = [len([n for n in collect(loop.body, For) if str(n.loop_var.name) == "tx"]) for loop in serial]
    assert sorted(inside) == [0, 2]


def test_what_the_block_does_once_stays_outside_the_loops():
    @T.prim_func
    def kernel(B: T.Tensor((8,), "int32")):
        with T.Kernel(1, threads=8):
            tx = T.get_thread_binding()
            total = T.alloc_var("int32", init=0)
            for k in T.serial(3):
                T.print(k, "round")
                total = total + k * tx
            B[tx] = total

    _, after, _ = lowered(kernel)
    prints = [e for e in collect(after.body, Evaluate) if "print" in str(e.value)]
    assert len(prints) == 1
    assert not any(collect(nest.body, Evaluate) for nest in thread_nests(after))


def test_threads_that_do_not_take_part_are_remembered():
    @T.prim_func
    def kernel(B: T.Tensor((64,), "int32")):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            if T.get_warp_idx() == 1:
                B[tx] = T.warp_reduce_sum(tx) + 1
            else:
                B[tx] = 5

    _, after, _ = lowered(kernel)
    flags = [a.buffer for a in collect(after.body, AllocBuffer) if str(a.buffer.dtype) == "bool"]
    assert len(flags) == 1
    guards = [node for node in collect(after.body, IfThenElse) if flags[0] in collect(node.condition, Var)]
    assert len(guards) == 3  # the value that is joined, the store of the result, the other side


@pytest.mark.parametrize(
    ("index", "kind"),
    [
        (lambda x, y: [x + 8 * y], "parallel"),
        (lambda x, y: [y, x], "parallel"),
        (lambda x, y: [(x + 8 * y) // 8, (x + 8 * y) % 8], "parallel"),
        (lambda x, y: [x * 4 + y], "parallel"),
        (lambda x, y: [3, 100 - x - 8 * y], "parallel"),
        (lambda x, y: [x + 7 * y], "serial"),
        (lambda x, y: [x // 2, y], "serial"),
        (lambda x, y: [x], "serial"),
        (lambda x, y: [(x + 8 * y) % 31], "serial"),
        (lambda x, y: [(x + 8 * y) * (x + 8 * y)], "parallel"),
    ],
)
def test_loops_are_parallel_when_every_thread_has_its_elements(index, kind):
    rank = len(index(0, 0))

    @T.prim_func
    def kernel(B: T.Tensor((1024,) * rank, "int32")):
        with T.Kernel(1, threads=(8, 4)):
            x, y = T.get_thread_binding(0), T.get_thread_binding(1)
            where = index(x, y)
            B[where] = x

    _, after, report = lowered(kernel)
    assert [entry["loops"] for entry in report] == [kind]
    (nest,) = thread_nests(after)
    assert nest.kind == (ForKind.PARALLEL if kind == "parallel" else ForKind.SERIAL)


def test_loops_with_effects_are_serial():
    @T.prim_func
    def kernel(A: T.Tensor((8,), "int32"), B: T.Tensor((8,), "int32")):
        with T.Kernel(1, threads=8):
            tx = T.get_thread_binding()
            T.atomic_add(A[tx], 1)
            n = T.alloc_var("int32", init=tx)
            while n > 3:
                n = n - 2
            B[tx] = n

    assert [entry["loops"] for entry in lowered(kernel)[2]] == ["serial"]


@pytest.mark.parametrize(("access", "regions"), [("w", 2), ("r", 1)])
def test_what_a_function_writes_is_written_when_others_read_it(access, regions):
    """It may write further elements than the one whose address it gets."""

    @T.prim_func
    def kernel(Y: T.Tensor((8,), "int32")):
        with T.Kernel(1, threads=8):
            tx = T.get_thread_binding()
            s = T.alloc_shared((8,), "int32")
            T.call_extern("handle", "f", T.access_ptr(s[tx], access))
            Y[tx] = s[tx]

    assert len(lowered(kernel)[2]) == regions


# -- against plain enumeration ---------------------------------------------------------------------------------

terms = st.recursive(
    st.one_of(st.sampled_from(["x", "y", "z"]), st.integers(-5, 9)),
    lambda inner: st.one_of(
        st.tuples(st.sampled_from("+-*"), inner, inner),
        st.tuples(st.sampled_from(["//", "%"]), inner, st.integers(1, 7)),
    ),
    max_leaves=6,
)


def build(term, values):
    if isinstance(term, str):
        return values[term]
    if isinstance(term, int):
        return term
    op, a, b = term
    left, right = build(a, values), build(b, values)
    return {"+": lambda: left + right, "-": lambda: left - right, "*": lambda: left * right}.get(
        op, (lambda: left // right) if op == "//" else (lambda: left % right)
    )()


@settings(max_examples=200, deadline=None)
@given(st.lists(terms, min_size=1, max_size=3), st.sampled_from([(4, 3, 2), (6, 1, 1), (1, 5, 2)]))
def test_independence_of_stores_agrees_with_enumeration(index, sizes):
    variables = {letter: Var(letter, "int32") for letter in "xyz"}
    outer = Var("k", "int32")
    threads = Threads(tuple(ThreadAxis(n, variables[n], e) for n, e in zip("xyz", sizes, strict=True)))
    fixed = {n: (variables[n] if e > 1 else tirx.const(0, "int32")) for n, e in zip("xyz", sizes, strict=True)}
    buffer = tirx.decl_buffer([64] * len(index), "int32", "B", scope="global", layout=None)
    where = [tirx.const(0, "int32") + build(t, fixed) + outer * 3 for t in index]
    store = BufferStore(buffer, tirx.const(1, "int32"), where)
    claimed = Footprint([store], Uniformity(store, threads)).is_independent()
    z, y, x = np.meshgrid(*(np.arange(s) for s in reversed(sizes)), indexing="ij")
    places = [np.broadcast_to(build(t, {"x": x, "y": y, "z": z}), x.shape).ravel() for t in index]
    distinct = np.unique(np.stack(places), axis=1).shape[1] == threads.count
    assert claimed <= distinct
    if all(not isinstance(t, tuple) or "*" not in str(t) for t in index):
        assert claimed == distinct


@given(st.integers(1, 70), st.integers(0, 40), st.sampled_from([1, 2, 4, 8]))
def test_groups_of_threads_are_a_partition(threads, extent, stride):
    if stride > 1:
        threads, extent = max(extent, 1) * stride * 2, max(extent, 1)
    groups = ThreadGroups.of(threads, extent, stride)
    numbers = np.arange(threads)
    of = groups.group(numbers)
    assert set(of) == set(range(groups.count))
    for group in range(groups.count):
        size = min(groups.extent, threads - group * groups.extent) if stride == 1 else groups.extent
        assert sorted(groups.member(group, p) for p in range(size)) == sorted(numbers[of == group])
