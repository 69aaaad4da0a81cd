"""check_threads: errors for what only some threads do, or each in its own way, of what the block does together."""

from __future__ import annotations

import pytest

import tilecore.language as T
from tilecore.errors import LanguageError, LimitError

from ..one_pass import LOOPS, SIMT, before_and_after
from ..simt.kit import code_of_threads, lowered

PASS = "check_threads"


def kernel_of(body, threads=128):
    """body: a macro that takes a tensor, integers, another tensor, a shared buffer and the thread index."""

    @T.prim_func
    def kernel(X: T.Tensor((4, 128), "float32"), F: T.Tensor((128,), "int32"), Y: T.Tensor((4, 128), "float32")):
        with T.Kernel(1, threads=threads):
            tx = T.get_thread_binding()
            tile = T.alloc_shared((128,), "float32")
            body(X, F, Y, tile, tx)

    return kernel


def refused(kernel, words, target=SIMT, **capabilities):
    with pytest.raises((LanguageError, LimitError), match=words) as caught:
        before_and_after(kernel, PASS, target, **capabilities)
    return caught.value


def unchanged(kernel, target=SIMT):
    before, after = before_and_after(kernel, PASS, target)
    return before == after


# -- what only some threads reach ------------------------------------------------------------------------------------


@T.macro
def copy_in_an_if(X, F, Y, tile, tx):
    if tx < 63:  # part of a warp
        T.copy(X[0, :], tile)  # here


@T.macro
def barrier_under_data_of_a_thread(X, F, Y, tile, tx):
    if F[tx] > 0:
        T.sync_threads()  # here


@T.macro
def parallel_in_a_loop_of_its_own_length(X, F, Y, tile, tx):
    for k in T.serial(F[tx]):
        for i in T.Parallel(128):  # here
            Y[k, i] = 0


@T.macro
def fill_in_a_while(X, F, Y, tile, tx):
    n = T.alloc_var("int32", init=0)
    while n < F[tx]:
        n += 1
        T.fill(tile, 1)  # here


@T.macro
def copy_behind_a_break(X, F, Y, tile, tx):
    for k in T.serial(4):
        if F[tx] > k:
            break
        T.copy(X[k, :], tile)  # here


@T.macro
def copy_in_an_else_two_levels_down(X, F, Y, tile, tx):
    if F[0] > 0:
        if tx % 2 == 0:
            Y[0, tx] = 1
        else:
            if F[1] > 0:
                T.copy(X[0, :], tile)  # here


REACHED_BY_SOME = {
    copy_in_an_if: ("T.copy", "the divergent `if`"),
    barrier_under_data_of_a_thread: ("T.sync_threads", "the divergent `if`"),
    parallel_in_a_loop_of_its_own_length: ("T.Parallel", "the divergent loop"),
    fill_in_a_while: ("T.fill", "the divergent loop"),
    copy_behind_a_break: ("T.copy", "the divergent loop"),
    copy_in_an_else_two_levels_down: ("T.copy", "the divergent `if`"),
}


@pytest.mark.parametrize("target", [SIMT, LOOPS])
@pytest.mark.parametrize("body", REACHED_BY_SOME, ids=lambda body: body.__name__)
def test_what_the_block_does_together_is_refused_where_threads_part_ways(body, target):
    operation, place = REACHED_BY_SOME[body]
    error = refused(kernel_of(body), rf"^{operation} is reached by only some threads of the block", target)
    assert f"it stands in {place} of line" in str(error)
    assert "move it out of" in str(error)
    assert "# here" in error.location.excerpt()


# -- operands that differ between threads ----------------------------------------------------------------------------


@T.macro
def copy_from_a_row_for_each_thread(X, F, Y, tile, tx):
    T.copy(X[tx % 4, :], tile)  # here


@T.macro
def fill_with_a_number_of_each_thread(X, F, Y, tile, tx):
    value = F[tx]
    T.fill(tile, value)  # here


def test_operands_of_a_block_operation_are_the_same_in_all_threads():
    error = refused(kernel_of(copy_from_a_row_for_each_thread), "an operand of T.copy differs between threads")
    assert "found: tx" in str(error)
    assert "# here" in error.location.excerpt()
    refused(kernel_of(fill_with_a_number_of_each_thread), "an operand of T.fill differs between threads")


@T.macro
def parallel_with_the_thread_index(X, F, Y, tile, tx):
    for i in T.Parallel(128):
        Y[0, i] = tx


@T.macro
def parallel_with_a_number_of_each_thread(X, F, Y, tile, tx):
    local = T.alloc_local((1,), "int32")
    local[0] = F[tx]
    for i in T.Parallel(128):
        Y[0, i] = local[0]


@pytest.mark.parametrize(
    ("body", "name"), [(parallel_with_the_thread_index, "tx"), (parallel_with_a_number_of_each_thread, "local")]
)
def test_iterations_of_a_parallel_loop_belong_to_no_thread(body, name):
    error = refused(kernel_of(body), r"a value that differs between threads stands in T\.Parallel")
    assert f"found: {name}\n" in str(error)


# -- what is allowed -------------------------------------------------------------------------------------------------


@T.macro
def under_a_uniform_condition(X, F, Y, tile, tx):
    if F[0] > 0:
        for k in T.serial(F[1]):
            T.copy(X[k, :], tile)
            T.sync_threads()


@T.macro
def one_atomic_of_each_thread(X, F, Y, tile, tx):
    if tx < 64:
        T.atomic_add(Y[0, 0], X[0, tx])
        T.atomic_add(Y[0, tx : tx + 1], tile[0:1])


@T.macro
def copy_to_memory_of_each_thread(X, F, Y, tile, tx):
    local = T.alloc_local((4,), "float32")
    if tx < 64:
        T.copy(X[0, tx : tx + 4], local)


@T.macro
def plain_code_of_some_threads(X, F, Y, tile, tx):
    if tx < 64:
        for i in T.serial(F[tx]):
            Y[0, i] = X[0, tx]


@T.macro
def parallel_that_writes_memory_of_each_thread(X, F, Y, tile, tx):
    local, scale = T.alloc_local((4,), "float32"), T.alloc_local((1,), "float32")
    scale[0] = X[0, tx]
    for i in T.Parallel(4):
        local[i] = scale[0] * X[1, i]


ALLOWED = [
    under_a_uniform_condition,
    one_atomic_of_each_thread,
    copy_to_memory_of_each_thread,
    plain_code_of_some_threads,
    parallel_that_writes_memory_of_each_thread,
]


@pytest.mark.parametrize("target", [SIMT, LOOPS])
@pytest.mark.parametrize("body", ALLOWED, ids=lambda body: body.__name__)
def test_other_code_passes_as_it_is(body, target):
    assert unchanged(kernel_of(body), target)


@T.macro
def sum_of_a_warp_in_an_if(X, F, Y, tile, tx):
    if tx < 64:
        Y[0, tx] = T.warp_reduce_sum(X[0, tx])


@T.macro
def any_of_the_block_in_an_if(X, F, Y, tile, tx):
    if tx < 64:
        Y[0, tx] = T.cast(T.syncthreads_or(F[tx]), "float32")  # here


def test_reductions_across_threads_need_the_threads_that_they_are_over():
    assert unchanged(kernel_of(sum_of_a_warp_in_an_if))
    error = refused(kernel_of(any_of_the_block_in_an_if), "a reduction over all threads is reached by only some")
    assert "# here" in error.location.excerpt()


# -- the number of threads -------------------------------------------------------------------------------------------


def test_a_block_of_too_many_threads():
    error = refused(kernel_of(under_a_uniform_condition, threads=1025), "a block has too many threads")
    assert isinstance(error, LimitError)
    assert "found: 1025" in str(error)
    assert "at most 1024" in str(error)
    assert "1 less" in str(error)
    assert "T.Kernel" in error.location.excerpt()


def test_the_largest_block_and_targets_without_a_limit():
    assert unchanged(kernel_of(under_a_uniform_condition, threads=1024))
    before, after = before_and_after(kernel_of(under_a_uniform_condition, threads=2048), PASS, max_threads=0)
    assert before == after


# -- jumps and values of a range of threads --------------------------------------------------------------------------


def beside_a_jump(operation, jump, first=False):
    """A loop with a jump of threads 0 to 63, and something that all threads do together, before it or behind it."""

    @T.macro
    def together(X, Y, a, k):
        if operation == "copy":
            T.copy(X[k, :], a)
        elif operation == "sync_threads":
            T.sync_threads()
        elif operation == "Parallel":
            for i in T.Parallel(128):
                Y[k, i] = X[k, i]
        elif operation == "more" and T.get_thread_binding() < 96:
            T.copy(X[k, :], a)

    @T.prim_func
    def kernel(X: T.Tensor((4, 128), "int32"), F: T.Tensor((4,), "int32"), Y: T.Tensor((4, 128), "int32")):
        with T.Kernel(1, threads=128):
            tx = T.get_thread_binding()
            a, b = T.alloc_shared((128,), "int32"), T.alloc_shared((128,), "int32")
            for k in T.serial(4):
                if first:
                    together(X, Y, a, k)
                if tx < 64:
                    T.copy(X[k, :], b)
                    if F[k] > 0:
                        if jump == "break":
                            break
                        else:
                            continue
                if not first:
                    together(X, Y, a, k)

    return kernel


@pytest.mark.usefixtures("conditions_are_ranges")
@pytest.mark.parametrize("operation", ["copy", "sync_threads", "Parallel", "more"])
@pytest.mark.parametrize("jump", ["break", "continue"])
@pytest.mark.parametrize("first", [True, False])
def test_what_all_threads_do_beside_a_jump_of_some(operation, jump, first):
    error = refused(beside_a_jump(operation, jump, first), "is reached by only some threads of the block")
    assert error.location is not None
    assert "threads 0 to 63 have a `break` or `continue` of their own" in str(error)
    assert "let all threads jump together" in str(error)


@pytest.mark.usefixtures("conditions_are_ranges")
def test_a_jump_that_single_threads_of_a_range_take():
    @T.prim_func
    def kernel(X: T.Tensor((4, 128), "int32"), F: T.Tensor((128,), "int32")):
        with T.Kernel(1, threads=128):
            tx = T.get_thread_binding()
            a = T.alloc_shared((128,), "int32")
            for k in T.serial(4):
                if tx < 64:
                    T.copy(X[k, :], a)
                    if F[tx] > k:
                        continue

    refused(kernel, "is reached by only some threads of the block")


def flagged(inside):
    """A variable that a range alone sets, and a copy under it, of the range or of the block."""

    @T.prim_func
    def kernel(X: T.Tensor((128,), "int32"), Y: T.Tensor((128,), "int32")):
        with T.Kernel(1, threads=128):
            flag = T.alloc_var("int32", init=0)
            with code_of_threads(0, 64):
                flag = X[0]
                if inside and flag > 0:
                    T.copy(X, Y)
            if not inside and flag > 0:
                T.copy(X, Y)

    return kernel


@pytest.mark.usefixtures("conditions_are_ranges")
def test_a_value_that_only_a_range_sets_differs_between_it_and_the_others():
    lowered(flagged(inside=True), "place_ranges")
    refused(flagged(inside=False), r"T\.copy is reached by only some threads of the block")


def test_a_range_of_threads_where_only_some_come():
    @T.macro
    def body(X, F, Y, tile, tx):
        if tx % 2 == 0:
            with code_of_threads(0, 64):
                T.copy(X[0, :], Y[0, :])

    refused(kernel_of(body), "code for a range of threads is reached by only some threads of the block")
