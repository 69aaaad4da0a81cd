"""Code that some threads of a block do: who does what, which barriers, what is refused."""

from __future__ import annotations

from contextlib import contextmanager

import pytest

import tilecore
import tilecore.language as T
from tilecore.errors import LanguageError, UnsupportedError
from tilecore.interpreter.program import Program
from tilecore.ir.build import constant, op_name
from tilecore.ir.nodes import AttrStmt, Bind, Evaluate, IfThenElse
from tilecore.ir.thread_ranges import ThreadRange, for_threads, has_ranges, range_of
from tilecore.ir.tile_ops import as_tile_call
from tilecore.ir.visit import collect
from tilecore.lowering.simt.note_ranges import HINT
from tilecore.tracing.current import current

from .kit import calls, lowered


@contextmanager
def some(first: int, count: int):
    """The code inside is done by ``count`` threads from ``first`` on."""
    builder = current("some")
    span = builder.span
    with builder.block("threads") as frame:
        yield
    builder.emit(for_threads(ThreadRange(first, count), frame.body(), span=span))


def two_roles(threads=192, split=64, rest=128):
    """Each role fills a buffer of its own and reads it turned; then all threads read both."""

    @T.prim_func
    def kernel(X: T.Tensor((256,), "float32"), Y: T.Tensor((3, 256), "float32")):
        with T.Kernel(1, threads=threads):
            a, b = T.alloc_shared((256,), "float32"), T.alloc_shared((256,), "float32")
            f = T.alloc_fragment((256,), "float32")
            with some(0, split):
                T.copy(X, a)
                for i in T.Parallel(256):
                    Y[0, i] = a[255 - i]
            with some(split, rest):
                T.copy(X, f)
                T.copy(f, b)
                for i in T.Parallel(256):
                    Y[1, i] = b[255 - i]
            for i in T.Parallel(256):
                Y[2, i] = a[i] + b[255 - i]

    return kernel


def ranges_in(body) -> list[ThreadRange]:
    return [r for node in collect(body, AttrStmt) if (r := range_of(node)) is not None]


def test_each_role_is_partitioned_over_its_threads():
    func, env = lowered(two_roles(), "bind_threads")
    assert ranges_in(func.body) == [ThreadRange(0, 64), ThreadRange(64, 128)]
    (held,) = [row for row in env.report["layouts"] if row["buffer"] == "f"]
    assert "128" in str(held)
    assert env.facts["inferred"][0].fragments.popitem()[1].threads == 128


def test_operations_know_how_many_do_them():
    func, _ = lowered(two_roles(), "note_ranges")
    found = [as_tile_call(node) for name in ("tile.copy",) for node in calls(func.body, name)]
    assert [call.hints.get(HINT) for call in found] == [64, 128, 128]


def test_barriers_are_of_the_role_and_none_is_between_roles():
    func, _ = lowered(two_roles(), "place_ranges")
    named = [[constant(a) for a in node.value.args] for node in calls(func.body, "simt.named_barrier")]
    assert named == [[1, 64], [2, 128]]
    assert len(calls(func.body, "tile.sync_threads")) == 1  # before all threads read what the roles wrote
    assert not has_ranges(func.body)
    conditions = [str(node.condition) for node in collect(func.body, IfThenElse)]
    assert "tx < 64" in conditions
    assert "tx >= 64" in conditions


def test_a_role_waits_for_what_all_threads_wrote():
    @T.prim_func
    def kernel(X: T.Tensor((128,), "float32"), Y: T.Tensor((128,), "float32")):
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((128,), "float32")
            T.copy(X, a)
            with some(64, 64):
                for i in T.Parallel(128):
                    Y[i] = a[127 - i]

    func, _ = lowered(kernel, "place_ranges")
    assert len(calls(func.body, "tile.sync_threads")) == 1
    assert not calls(func.body, "simt.named_barrier")


def test_all_threads_meet_before_the_first_role():
    """Roles may wait for each other: no barrier of the block stands between them."""

    @T.prim_func
    def kernel(X: T.Tensor((128,), "float32"), Y: T.Tensor((2, 128), "float32")):
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((128,), "float32")
            T.copy(X, a)
            with some(0, 64):
                T.copy(X, Y[0, :])
            with some(64, 64):
                for i in T.Parallel(128):
                    Y[1, i] = a[127 - i]

    func, _ = lowered(kernel, "insert_barriers")
    order = [
        "barrier" if isinstance(node, Evaluate) else str(range_of(node))
        for node in collect(func.body, Evaluate, AttrStmt)
        if range_of(node) is not None or (isinstance(node, Evaluate) and op_name(node.value) == "tile.sync_threads")
    ]
    assert order == ["barrier", "threads 0 to 63", "threads 64 to 127"]


def test_a_role_that_comes_again_waits_for_itself():
    @T.prim_func
    def kernel(X: T.Tensor((4, 128), "float32"), Y: T.Tensor((4, 128), "float32")):
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((128,), "float32")
            for k in T.serial(4):
                with some(0, 64):
                    T.copy(X[k, :], a)
                with some(0, 64):
                    for i in T.Parallel(128):
                        Y[k, i] = a[127 - i]

    func, _ = lowered(kernel, "place_ranges")
    assert len(calls(func.body, "simt.named_barrier")) == 2  # before it is read, and before it is filled again
    assert not calls(func.body, "tile.sync_threads")


def test_the_barrier_of_the_kernel_is_the_roles_inside():
    @T.prim_func
    def kernel(X: T.Tensor((128,), "float32"), Y: T.Tensor((128,), "float32")):
        with T.Kernel(1, threads=128):
            with some(32, 96):
                T.sync_threads()
                T.copy(X, Y)

    func, _ = lowered(kernel, "place_ranges")
    (barrier,) = calls(func.body, "simt.named_barrier")
    assert [constant(a) for a in barrier.value.args] == [1, 96]


def test_shared_memory_of_roles_is_not_shared():
    @T.prim_func
    def kernel(X: T.Tensor((1024,), "float32"), Y: T.Tensor((2, 1024), "float32")):
        with T.Kernel(1, threads=128):
            with some(0, 64):
                a = T.alloc_shared((1024,), "float32")
                T.copy(X, a)
                T.copy(a, Y[0, :])
            with some(64, 64):
                b = T.alloc_shared((1024,), "float32")
                T.copy(X, b)
                T.copy(b, Y[1, :])

    _, env = lowered(kernel, "plan_shared")
    (row,) = env.report["shared_memory"]
    assert row["bytes"] == 2 * 4096


def test_a_range_of_all_threads_goes_away():
    @T.prim_func
    def kernel(X: T.Tensor((128,), "float32"), Y: T.Tensor((128,), "float32")):
        with T.Kernel(1, threads=64):
            with some(0, 64):
                T.copy(X, Y)

    func, _ = lowered(kernel, "note_ranges")
    assert not has_ranges(func.body)


@pytest.mark.parametrize(
    ("first", "count", "words"),
    [(128, 64, "threads that do not reach it"), (0, 16, "a part of a warp"), (16, 32, "a part of a warp")],
)
def test_ranges_that_are_wrong(first, count, words):
    @T.prim_func
    def kernel(X: T.Tensor((128,), "float32"), Y: T.Tensor((128,), "float32")):
        with T.Kernel(1, threads=128):
            with some(first, count):
                T.copy(X, Y)

    with pytest.raises(LanguageError, match=words) as caught:
        lowered(kernel, "note_ranges")
    assert caught.value.location is not None


def test_a_fragment_of_two_roles():
    @T.prim_func
    def kernel(X: T.Tensor((128,), "float32"), Y: T.Tensor((128,), "float32")):
        with T.Kernel(1, threads=128):
            f = T.alloc_fragment((128,), "float32")
            with some(0, 64):
                T.copy(X, f)
            with some(64, 64):
                T.copy(f, Y)

    with pytest.raises(LanguageError, match="f is held in registers of threads 0 to 63 and used by threads 64 to 127"):
        lowered(kernel, "infer_layouts")


def test_in_a_place_that_some_threads_reach():
    @T.prim_func
    def kernel(X: T.Tensor((128,), "float32"), Y: T.Tensor((128,), "float32")):
        with T.Kernel(1, threads=128):
            if T.get_thread_binding() % 2 == 0:
                with some(0, 64):
                    T.copy(X, Y)

    with pytest.raises(LanguageError, match="reached by some threads of the block only"):
        lowered(kernel, "note_ranges")


def test_targets_without_threads_refuse():
    for attempt in (lambda: tilecore.compile(two_roles(), target="cpu"), lambda: Program(two_roles())):
        with pytest.raises(UnsupportedError, match="code for some threads of a block") as caught:
            attempt()
        assert caught.value.location is not None


def test_a_barrier_of_more_threads_than_the_role_has():
    @T.prim_func
    def kernel(X: T.Tensor((128,), "float32"), Y: T.Tensor((128,), "float32")):
        with T.Kernel(1, threads=128):
            with some(0, 64):
                T.sync_threads(1, 64)
                T.copy(X, Y)
                T.sync_threads(2, 128)

    with pytest.raises(LanguageError, match=r"T\.sync_threads waits for 128 threads in code that 64 threads execute"):
        lowered(kernel, "note_ranges")


@pytest.mark.parametrize("in_a_loop", [False, True])
def test_code_of_the_same_threads_twice_has_a_number_of_its_own_each_time(in_a_loop):
    """A variable is bound once in a kernel."""

    @T.prim_func
    def kernel(X: T.Tensor((128,), "int32"), Y: T.Tensor((128,), "int32")):
        with T.Kernel(1, threads=128):
            s = T.alloc_shared((128,), "int32")
            for _ in T.serial(2) if in_a_loop else range(1):
                with some(64, 64):
                    for i in T.Parallel(128):
                        s[i] = X[i]
                with some(64, 64):
                    for i in T.Parallel(128):
                        Y[i] = s[127 - i]

    module, _ = lowered(kernel)
    (func,) = module.functions.values()
    bound = [bind.var for bind in collect(func.body, Bind)]
    assert len(bound) == len(set(bound)) >= 2
