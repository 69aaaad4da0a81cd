# ruff: noqa: B905, RUF059, E731, E741, B007, B023, F841, RUF015, PT018, RUF043  bodies of kernels as users may write them
"""Python's own data under conditions and loops of the kernel, what leaves its block, and building without an end."""

from __future__ import annotations

import functools
import inspect
import itertools
from collections import deque

import numpy as np
import pytest

import tilecore.language as T
from tilecore.errors import LanguageError
from tilecore.interpreter import interpret


class Counter:
    def __init__(self):
        self.count = 0
        self.names = []

    def more(self):
        self.count += 1


class Settings:
    width = 4

    @functools.cached_property
    def lanes(self):
        return self.width * 2


GLOBAL = []
SETTINGS = Settings()
SHARED = Counter()


def keep(into, value):
    into.append(value)


def built(statements):
    """The kernel whose body calls ``statements(X, Y, bx)``, a T.macro."""
    macro = T.macro(statements)

    @T.prim_func
    def kernel(X: T.Tensor((8,), "int32"), Y: T.Tensor((8,), "int32")):
        with T.Kernel(8, threads=32) as bx:
            macro(X, Y, bx)

    return kernel


def append(X, Y, bx):
    l = []
    if bx > 3:
        l.append(1)  # here
    Y[bx] = len(l)


def append_in_else(X, Y, bx):
    l = []
    if bx > 3:
        Y[bx] = 1
    else:
        l.append(1)  # here
    Y[bx] = len(l)


def append_by_a_helper(X, Y, bx):
    l = []
    if bx > 3:  # here
        keep(l, 1)
    Y[bx] = len(l)


def append_to_a_global(X, Y, bx):
    for i in T.serial(4):
        GLOBAL.append(i)  # here


def append_in_a_while(X, Y, bx):
    n, l = T.alloc_var("int32", init=0), []
    while n < 3:
        n += 1
        l.append(n)  # here
    Y[bx] = len(l)


def append_in_parallel(X, Y, bx):
    l = []
    for i in T.Parallel(4):
        l.append(X[i])  # here
    Y[bx] = l[0]


def grown_in_place(X, Y, bx):
    l = [1]
    if bx > 3:  # here
        l += [2]
    Y[bx] = len(l)


def inner_list(X, Y, bx):
    table = {"a": [1]}
    if bx > 3:
        table["a"].append(2)  # here
    Y[bx] = len(table["a"])


def key(X, Y, bx):
    d = {1: 2}
    if bx > 3:
        d[1] = 3  # here
    Y[bx] = d[1]


def deleted(X, Y, bx):
    d = {1: 2}
    if bx > 3:
        del d[1]  # here
    Y[bx] = len(d)


def popped(X, Y, bx):
    d = deque([1, 2])
    if bx > 3:
        Y[bx] = d.popleft()  # here
    else:
        Y[bx] = d.popleft()


def set_member(X, Y, bx):
    s = set()
    if bx > 3:
        s.add(1)  # here
    Y[bx] = len(s)


def nonlocal_name(X, Y, bx):
    n = 0

    def bump():
        nonlocal n
        n += 1

    if bx > 3:  # here
        bump()
    Y[bx] = n


def attribute(X, Y, bx):
    if bx > 3:
        SHARED.count += 1  # here
    Y[bx] = SHARED.count


def attribute_by_a_method(X, Y, bx):
    counter = Counter()
    for i in range(4):  # here
        counter.more()
    Y[bx] = counter.count


def attribute_s_list(X, Y, bx):
    counter = Counter()
    if bx > 3:
        counter.names.append(1)  # here
    Y[bx] = len(counter.names)


def array(X, Y, bx):
    table = np.zeros(4)
    if bx > 3:
        table[0] = 5  # here
    Y[bx] = int(table[0])


def iterator(X, Y, bx):
    values = iter([1, 2])
    if bx > 3:
        Y[bx] = next(values)  # here
    else:
        Y[bx] = next(values)


def iterator_of_a_loop(X, Y, bx):
    values = iter([1, 2])
    if bx > 3:
        for v in values:  # here
            Y[bx] = v


def closure_read_later(X, Y, bx):
    n = X[bx]
    later = lambda: n
    if bx > 3:  # here
        n = X[0]
    Y[bx] = later()


def generator_of_a_loop(X, Y, bx):
    def values():
        for i in T.serial(4):
            yield X[i]

    for v in values():
        Y[bx] = v  # later


def iterator_unpacked(X, Y, bx):
    values = iter([1, 2, 3])
    if bx > 3:  # here
        a, b, c = values
    Y[bx] = next(values, 7)


def iterator_zipped(X, Y, bx):
    values = iter((1, 2, 3))
    for i in T.serial(4):  # here
        Y[bx] += sum(a * b for a, b in zip(values, [1, 2]))


def iterator_in_another(X, Y, bx):
    values = zip(range(8), map(str, range(8)))
    if bx > 3:  # here
        list(values)
    Y[bx] = len(list(values))


def generator(X, Y, bx):
    values = (2 * n for n in range(9))
    if bx > 3:  # here
        Y[bx] = sum(values)
    Y[bx] += sum(values)


def class_attribute(X, Y, bx):
    for i in T.serial(4):
        Settings.width += 1  # here
    Y[bx] = Settings.width


def attribute_of_a_function(X, Y, bx):
    if bx > 3:
        keep.calls = 1  # here
    Y[bx] = getattr(keep, "calls", 0)


def list_in_an_operand(X, Y, bx):
    counts = [0]

    def count():
        counts[0] += 1  # here
        return X[1]

    Y[bx] = X[0] and count()
    Y[bx] += counts[0]


def nonlocal_in_a_choice(X, Y, bx):
    last = 0

    def note():
        nonlocal last
        last = 5
        return X[1]  # here

    Y[bx] = note() if X[0] > 3 else 7
    Y[bx] += last


def iterator_in_a_chain(X, Y, bx):
    values = iter([4, 5])
    Y[bx] = 1 < X[0] < next(values)  # here


def popped_in_an_operand(X, Y, bx):
    values = [4, 5]
    Y[bx] = X[0] or values.pop()  # here


CHANGES = [
    *(list_in_an_operand, nonlocal_in_a_choice, iterator_in_a_chain, popped_in_an_operand),
    *(append, append_in_else, append_by_a_helper, append_to_a_global, append_in_a_while, append_in_parallel),
    *(grown_in_place, inner_list, key, deleted, popped, set_member, nonlocal_name, attribute, attribute_by_a_method),
    *(attribute_s_list, array, iterator, iterator_of_a_loop, closure_read_later),
    *(iterator_unpacked, iterator_zipped, iterator_in_another, generator, class_attribute, attribute_of_a_function),
]


def line_marked(function, mark):
    lines, first = inspect.getsourcelines(function)
    return first + next(i for i, line in enumerate(lines) if line.rstrip().endswith(mark))


@pytest.mark.parametrize("statements", CHANGES, ids=lambda f: f.__name__)
def test_a_change_of_python_s_data_under_the_kernel_s_decision_is_refused(statements):
    GLOBAL.clear()
    with pytest.raises(LanguageError) as raised:
        _ = built(statements).ir
    assert raised.value.location.line == line_marked(statements, "# here"), raised.value
    assert raised.value.hint


def test_a_generator_that_gives_values_inside_of_a_loop_of_the_kernel():
    with pytest.raises(LanguageError, match="generator"):
        _ = built(generator_of_a_loop).ir


def reads_only(X, Y, bx):
    """What is kept in an object by reading it, and iterators that are not advanced."""
    values, pairs = iter([1, 2]), zip([1], [2])
    for i in T.serial(2):
        Y[bx] += SETTINGS.lanes
    Y[bx] += next(values) + next(pairs)[1]


def test_reading_is_no_change():
    x, y = np.zeros(8, np.int32), np.zeros(8, np.int32)
    interpret(built(reads_only).ir, x, y)
    assert y.tolist() == [19] * 8


def metaprogram(X, Y, bx):
    """All of this is decided by Python, or made inside of the block that changes it."""
    names, table = [], {}
    for k in (0, 1, 2):
        names.append(k * 2)
        table[k] = X[k]
    if len(names) == 3:
        names.append(7)
    total = T.alloc_var("int32", init=0)
    for i in range(4):
        inner = [X[i]]
        inner.append(i)
        for j in (0, 1):
            inner[j] = inner[j] + 1
            total += inner[j]
        seen = {}
        seen["x"] = total
        if X[i] > 2:
            more = {1}
            more.add(2)
            total += len(more) + seen["x"]
    while len(names) > 2:
        names.pop()
    counter = Counter()
    counter.more()
    Y[bx] = total + len(names) + table[1] + counter.count


def test_python_s_own_decisions_change_python_s_data():
    x, y = np.arange(8, dtype=np.int32), np.zeros(8, np.int32)
    interpret(built(metaprogram).ir, x, y)
    total = 0
    for i in range(4):
        total += x[i] + 1 + i + 1
        if x[i] > 2:
            total += 2 + total
    assert y.tolist() == [total + 2 + 1 + 1] * 8


def key_of_a_dict(X, Y, bx):
    Y[bx] = {1: 2}.get(bx, 7)


def item_of_a_dict(X, Y, bx):
    Y[bx] = {1: 2}[bx]


def item_of_a_list(X, Y, bx):
    Y[bx] = [1, 2][bx]


def a_variable_as_a_key(X, Y, bx):
    n = T.alloc_var("int32", init=1)
    Y[bx] = {1: 2}.get(n, 7)


def an_element_as_a_key(X, Y, bx):
    Y[bx] = {1: 2}.get(X[0], 7)


def a_set_of_values(X, Y, bx):
    Y[bx] = len({bx, X[0]})


def by_a_helper(X, Y, bx):
    Y[bx] = looked_up({1: 2}, bx)


def looked_up(table, value):
    return table.get(value, 7)


LOOKUPS = [key_of_a_dict, item_of_a_dict, item_of_a_list, a_variable_as_a_key, an_element_as_a_key, a_set_of_values]


@pytest.mark.parametrize("statements", [*LOOKUPS, by_a_helper], ids=lambda f: f.__name__)
def test_python_looks_nothing_up_by_a_value_of_the_kernel(statements):
    with pytest.raises(LanguageError) as raised:
        _ = built(statements).ir
    assert raised.value.hint and raised.value.location is not None


def value_out_of_a_loop(X, Y, bx):
    for i in T.serial(4):
        l = [X[i]]
    Y[bx] = l[0]


def variable_of_a_loop(X, Y, bx):
    for i in T.serial(4):
        late = lambda: i
    Y[bx] = late()


def buffer_of_a_loop(X, Y, bx):
    for _ in T.serial(2):
        inner = T.alloc_local((4,), "int32")
        inner[0] = 1
        buffers = [inner]
    Y[bx] = buffers[0][0]


def variable_made_in_an_if(X, Y, bx):
    if bx > 3:
        n = T.alloc_var("int32", init=1)
    Y[bx] = n


def buffer_of_a_generator(X, Y, bx):
    def buffers():
        for _ in T.serial(1):
            inner = T.alloc_local((4,), "int32")
            inner[0] = 1
            yield inner

    Y[bx] = list(buffers())[0][0]


ESCAPES = [value_out_of_a_loop, variable_of_a_loop, buffer_of_a_loop, variable_made_in_an_if, buffer_of_a_generator]


@pytest.mark.parametrize("statements", ESCAPES, ids=lambda f: f.__name__)
def test_what_a_block_makes_is_used_inside_of_it(statements):
    with pytest.raises(LanguageError) as raised:
        _ = built(statements).ir
    assert raised.value.location is not None and raised.value.hint, raised.value


def test_an_index_of_another_kernel():
    indices = []

    with pytest.raises(LanguageError, match="the index bx is used outside"):

        @T.prim_func
        def kernel(X: T.Tensor((8,), "int32"), Y: T.Tensor((8,), "int32")):
            with T.Kernel(8, threads=32) as bx:
                indices.append(bx)
            with T.Kernel(8, threads=32) as by:
                Y[by] = X[indices[0]]


def test_a_value_of_another_kernel():
    values = []

    @T.prim_func
    def first(X: T.Tensor((8,), "int32")):
        with T.Kernel(8, threads=32) as bx:
            values.append(X[bx])

    with pytest.raises(LanguageError, match="a value of one kernel is used in another"):

        @T.prim_func
        def second(Y: T.Tensor((8,), "int32")):
            with T.Kernel(8, threads=32) as bx:
                Y[bx] = values[0]


def allocated_in_a_list(X, Y, bx):
    """Each belongs to the block in which it is asked for, though it is used in an inner one first."""
    sums = [T.alloc_var("int32", init=k) for k in (5, 6)]
    tiles = {"a": T.alloc_local((2,), "int32")}
    if X[0] < 0:
        sums[0] = 1
        tiles["a"][0] = 2
    tiles["a"][1] = 3
    Y[bx] = sums[0] + sums[1] + tiles["a"][1]


def test_what_a_container_holds_is_allocated_where_it_stands():
    x, y = np.arange(8, dtype=np.int32), np.zeros(8, np.int32)
    interpret(built(allocated_in_a_list).ir, x, y)
    assert y.tolist() == [14] * 8


def always(X, Y, bx):
    while True:
        Y[bx] = 1


def always_with_a_break_elsewhere(X, Y, bx):
    while 1:
        for k in (0, 1):
            break


def never_changes(X, Y, bx):
    n = 0
    while n < 4:
        Y[bx] = 1


def never_reaches_its_break(X, Y, bx):
    n = 0
    while True:
        if n:
            break


def counts_on(X, Y, bx):
    for n in itertools.count():
        Y[bx] = n


def assigns_and_never_changes(X, Y, bx):
    while (n := 1) > 0:
        Y[bx] = n


ENDLESS = [always, always_with_a_break_elsewhere, never_changes, never_reaches_its_break, counts_on]


@pytest.mark.parametrize("statements", [*ENDLESS, assigns_and_never_changes], ids=lambda f: f.__name__)
def test_building_ends(statements, monkeypatch):
    monkeypatch.setattr("tilecore.frontend.python_loops.MAX_ITERATIONS", 300)
    with pytest.raises(LanguageError, match="never ends|iterations"):
        _ = built(statements).ir


def test_a_kernel_of_too_many_statements(monkeypatch):
    monkeypatch.setattr("tilecore.tracing.builder.MOST_STATEMENTS", 300)

    def statements(X, Y, bx):
        for k in list(range(200)):
            for j in (0, 1):
                Y[k % 8] = j

    with pytest.raises(LanguageError, match="more than 300 statements"):
        _ = built(statements).ir


def ends(X, Y, bx):
    n = 0
    while True:
        n += 1
        Y[bx] = n
        if n > 4:
            break


def test_a_while_that_python_leaves():
    x, y = np.arange(8, dtype=np.int32), np.zeros(8, np.int32)
    interpret(built(ends).ir, x, y)
    assert y.tolist() == [5] * 8


@T.macro
def stored(x: T.Ref, value):
    x = value


@T.macro
def not_stored(x, value):
    x = value


def references(X, Y, bx):
    n, listed = T.alloc_var("int32", init=1), [T.alloc_var("int32", init=2)]
    stored(n, 5)
    stored(listed[0], 6)
    stored(X[bx], 7)
    Y[bx] = n * 100 + listed[0] * 10 + X[bx]
    not_stored(n, 9)
    Y[bx] = Y[bx] * 10 + n


def test_a_parameter_that_is_a_reference_stores_in_the_caller_s():
    x, y = np.arange(8, dtype=np.int32), np.zeros(8, np.int32)
    interpret(built(references).ir, x, y)
    assert y.tolist() == [5675] * 8


def test_a_reference_to_what_cannot_be_stored_to():
    def statements(X, Y, bx):
        stored(3, 5)

    with pytest.raises(LanguageError, match="cannot be stored to"):
        _ = built(statements).ir


def assigned_in_an_operand(X, Y, bx):
    if bx > 3 and (t := X[bx]) > 0:
        Y[bx] = t


def assigned_in_a_chain(X, Y, bx):
    if 0 < bx < (t := X[bx]):
        Y[bx] = t


@pytest.mark.parametrize("statements", [assigned_in_an_operand, assigned_in_a_chain], ids=lambda f: f.__name__)
def test_a_name_assigned_in_an_operand_that_runs_only_sometimes(statements):
    with pytest.raises(LanguageError, match=":="):
        _ = built(statements).ir


def read_only_where_it_is_used(X, Y, bx):
    values = [X[bx] if bx < 8 else 0, bx < 8 and X[bx] ** 2 > 0]
    Y[bx] = values[0] + (1 if values[1] else 0)


def test_an_operand_reads_memory_only_where_it_is_evaluated():
    @T.prim_func
    def kernel(X: T.Tensor((8,), "int32"), Y: T.Tensor((16,), "int32")):
        with T.Kernel(16, threads=32) as bx:
            T.macro(read_only_where_it_is_used)(X, Y, bx)

    x, y = np.arange(8, dtype=np.int32), np.zeros(16, np.int32)
    interpret(kernel.ir, x, y)
    assert y.tolist() == [0, *range(2, 9), *[0] * 8]


def test_many_values_are_held():
    """Thousands of reads of one list, each held."""

    def statements(X, Y, bx):
        values = [X[k % 8] for k in list(range(600))]
        X[0] = 9
        Y[bx] = values[0] + values[599]

    _ = built(statements).ir
