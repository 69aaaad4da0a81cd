"""Layouts that kernels ask for: in the IR as expressions, so in the cache key, and without effect on cpu."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from fresh_processes import FOLDER, output_of

import tilecore
import tilecore.language as T
from tilecore import layout as L
from tilecore.errors import LanguageError
from tilecore.ir.nodes import Evaluate, For
from tilecore.ir.tile_ops import as_tile_call
from tilecore.ir.visit import collect
from tilecore.jit.request import ir_key, make_request


def annotated(layout_of, **options):
    @T.prim_func
    def kernel(A: T.Tensor((16, 64), "float16"), B: T.Tensor((16, 64), "float16")):
        with T.Kernel(1):
            tile = T.alloc_shared((16, 64), "float16")
            if layout_of is not None:
                T.annotate_layout({tile: layout_of(tile)}, **options)
            T.copy(A, tile)
            T.copy(tile, B)

    return kernel


def looped(layout):
    @T.prim_func
    def kernel(A: T.Tensor((16, 64), "float16")):
        with T.Kernel(1):
            for i, j in T.Parallel(16, 64, loop_layout=layout):
                A[i, j] = 0

    return kernel


def copied(layout):
    @T.prim_func
    def kernel(A: T.Tensor((16, 64), "float16")):
        with T.Kernel(1):
            tile = T.alloc_shared((16, 64), "float16")
            T.copy(A, tile, loop_layout=layout)

    return kernel


def key(func):
    return ir_key(func.ir, make_request(target="cpu"))


def by_copies(i, j, copy):
    return copy * 128 + i * 8 + j // 8, j % 8


def swapped(i, j):
    return i, j ^ (i % 8)


LAYOUTS = {
    "none": None,
    "linear": L.make_linear_layout,
    "full": L.make_full_bank_swizzled_layout,
    "half": L.make_half_bank_swizzled_layout,
    "own": lambda tile: T.Layout((16, 64), swapped),
    "another": lambda tile: T.Layout((16, 64), lambda i, j: (i, j ^ (i % 4))),
    "fragment": lambda tile: T.Fragment((16, 64), lambda i, j: (i * 8 + j // 8, j % 8)),
    "threads apart": lambda tile: T.Fragment(
        (16, 64), forward_thread_fn=lambda i, j: i * 8 + j % 8, forward_index_fn=lambda i, j: j // 8
    ),
    "copies": lambda tile: T.Fragment((16, 64), lambda i, j, copy: (copy * 128 + i * 8 + j // 8, j % 8), replicate=2),
    "more copies": lambda tile: T.Fragment(
        (16, 64), lambda i, j, copy: (copy * 128 + i * 8 + j // 8, j % 8), replicate=3
    ),
}


def test_kernels_that_differ_in_a_layout_have_different_keys():
    keys = {name: key(annotated(layout)) for name, layout in LAYOUTS.items()}
    assert len(set(keys.values())) == len(LAYOUTS), keys


@pytest.mark.parametrize("name", LAYOUTS)
def test_the_same_layout_gives_the_same_key(name):
    assert key(annotated(LAYOUTS[name])) == key(annotated(LAYOUTS[name]))


def test_two_functions_that_say_the_same_are_one_layout():
    assert key(annotated(lambda tile: T.Layout((16, 64), swapped))) == key(
        annotated(lambda tile: T.Layout([16, 64], lambda row, column: [row, column ^ (row % 8)]))
    )


@pytest.mark.parametrize("kernel_of", [looped, copied])
def test_layouts_of_loops_and_copies_are_in_the_key(kernel_of):
    layouts = [LAYOUTS[name](None) for name in ("fragment", "threads apart", "copies", "fragment")]
    first, second, third, again = (key(kernel_of(layout)) for layout in layouts)
    assert len({first, second, third}) == 3
    assert first == again
    with pytest.raises(LanguageError, match="loop_layout"):
        kernel_of("rows").ir  # noqa: B018


def test_keys_are_the_same_in_another_process():
    code = (
        f"import sys\nsys.path += {[str(Path(__file__).parent), FOLDER]!r}\n"
        "from test_layout_annotations import LAYOUTS, annotated, copied, key, looped\n"
        "print(key(annotated(LAYOUTS['half'])), key(looped(LAYOUTS['copies'](None))))"
    )
    expected = [key(annotated(LAYOUTS["half"])), key(looped(LAYOUTS["copies"](None)))]
    assert output_of(code).split() == expected


@pytest.mark.parametrize("name", [name for name in LAYOUTS if name != "none"])
def test_lowering_sees_the_layout(name):
    layout = LAYOUTS[name](annotated_tile := type("Tile", (), {"shape": (16, 64), "dtype": T.dtype("float16")})())
    assert annotated_tile.shape == layout.shape
    calls = [as_tile_call(node) for node in collect(annotated(LAYOUTS[name]).ir.body, Evaluate)]
    (call,) = [c for c in calls if c.op.name == "annotate"]
    assert call.key == "layout"
    assert str(call.rest[0].source.name) == "tile"
    assert [int(size) for size in call.hints["shape"]] == [16, 64]
    assert call.hints["kind"] == ("fragment" if isinstance(layout, T.Fragment) else "layout")
    index = call.hints["index"]
    extra = [1] if getattr(layout, "replicate", 1) > 1 else []
    for element in ([0, 0], [3, 41], [15, 63]):
        got = [int(place) for place in index.map_indices([*element, *extra])]
        if name == "threads apart":
            assert got == [element[0] * 8 + element[1] % 8, element[1] // 8]
        else:
            assert got == layout.map_forward_index([*element, *extra])


@pytest.mark.parametrize("name", LAYOUTS)
def test_on_cpu_a_layout_changes_nothing(name):
    a = np.random.default_rng(0).standard_normal((16, 64)).astype(np.float16)
    b = np.zeros_like(a)
    tilecore.compile(annotated(LAYOUTS[name]), target="cpu")(a, b)
    np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
    ("layout_of", "words"),
    [
        (lambda tile: T.Layout((16, 32), swapped), ["shape (16, 32)", "(16, 64)", "tile"]),
        (lambda tile: T.Layout((1024,), lambda i: i), ["shape (1024,)", "(16, 64)"]),
        (lambda tile: T.Layout((16, 64), lambda i: i), ["does not take 2 indices"]),
        (lambda tile: T.Layout((16, 64), lambda i, j: i * 0.5), ["integer expressions"]),
        (
            lambda tile: T.Layout((16, 64), lambda i, j: (i, j % 32)),
            ["must be injective", "tile[0, 0] and tile[0, 32]"],
        ),
        (lambda tile: T.Layout((16, 64), lambda i, j: (i, j - 1)), ["tile maps elements to negative indices"]),
        (lambda tile: "swizzled", ["'swizzled'", "a T.Layout, a T.Fragment, or a function"]),
        (lambda tile: lambda i: i, ["does not take 2 indices"]),
    ],
)
def test_layouts_that_do_not_fit_are_refused_at_their_line(layout_of, words):
    with pytest.raises(LanguageError) as caught:
        annotated(layout_of).ir  # noqa: B018
    text = str(caught.value)
    assert "T.annotate_layout({tile: layout_of(tile)}" in text
    assert "^^^" in text
    assert all(word in text for word in words), text


def test_a_function_stands_for_a_layout_of_the_buffers_shape():
    plain = annotated(lambda tile: lambda i, j: [j, i])
    assert key(plain) == key(annotated(lambda tile: T.Layout(tile.shape, lambda i, j: [j, i])))
    assert key(plain) != key(annotated(lambda tile: lambda i, j: [i, j]))


def test_a_second_layout_of_a_buffer_is_refused_unless_asked_for():
    def kernel_of(**options):
        @T.prim_func
        def kernel(A: T.Tensor((16, 64), "float16")):
            with T.Kernel(1):
                tile = T.alloc_shared((16, 64), "float16")
                T.annotate_layout({tile: L.make_linear_layout(tile)})
                T.annotate_layout({tile: L.make_swizzled_layout(tile)}, **options)
                T.copy(A, tile)

        return kernel

    with pytest.raises(LanguageError, match="tile already has a layout"):
        kernel_of().ir  # noqa: B018
    assert str(kernel_of(allow_reannotation=True).ir.script()).count("tile.annotate") == 2


def test_a_fragment_says_its_thread_in_one_way():
    for functions in ({}, {"forward_fn": swapped, "forward_thread_fn": swapped}):
        with pytest.raises(LanguageError, match="has both"):
            T.Fragment((16, 64), **functions)


@pytest.mark.parametrize("value", [object(), swapped, {"deep": [1, object()]}, np.zeros(2)])
def test_annotations_are_plain_data(value):
    """Anything else would have another text, and so another key, in every process."""

    def of_a_loop():
        @T.prim_func
        def kernel(A: T.Tensor((4,), "float32")):
            with T.Kernel(1):
                for i in T.Parallel(4, annotations={"mine": value}):
                    A[i] = 0

    def of_an_operation():
        @T.prim_func
        def kernel(A: T.Tensor((4,), "float32")):
            with T.Kernel(1):
                T.fill(A, 0, annotations={"mine": value})

    for define in (of_a_loop, of_an_operation):
        with pytest.raises(LanguageError, match="the annotation 'mine' is a") as caught:
            define()
        line = str(caught.value).splitlines()[3]
        assert "annotations={" in line, line


def test_plain_annotations_reach_the_ir():
    plain = {"a": 1, "b": "x", "c": [1, 2], "d": {"e": 0.5}, "f": np.int64(3), "g": True, "none": None, "no": False}

    @T.prim_func
    def kernel(A: T.Tensor((4,), "float32")):
        with T.Kernel(1):
            for i in T.Parallel(4, annotations=plain):
                A[i] = 0

    (loop,) = collect(kernel.ir.body, For)
    annotations = {key: value for key, value in loop.annotations.items() if key in plain}
    assert sorted(annotations) == ["a", "b", "c", "d", "f", "g"]
    assert [int(annotations[name]) for name in "afg"] == [1, 3, 1]
    assert str(annotations["b"]) == "x"


def negative_padding(tile):
    T.annotate_padding({tile: -3})  # here


def two_initial_values(tile):
    T.alloc_var("int32", 1, 2)  # here


def an_initial_value_twice(tile):
    T.alloc_var("int32", 1, init=2)  # here


def a_deleted_element(tile):
    del tile[0, 0]  # here


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (negative_padding, "the padding of T.annotate_padding is -3"),
        (two_initial_values, "T.alloc_var takes one initial value"),
        (an_initial_value_twice, "T.alloc_var takes one initial value"),
        (a_deleted_element, "an element of a buffer cannot be deleted"),
    ],
)
def test_statements_that_mean_nothing(body, message):
    macro = T.macro(body)

    with pytest.raises(LanguageError, match=message) as caught:

        @T.prim_func
        def kernel(A: T.Tensor((8, 8), "float32")):
            with T.Kernel(1):
                macro(T.alloc_shared((8, 8), "float32"))

    assert caught.value.location is not None
