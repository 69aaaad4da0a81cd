"""Layouts that users write: T.Layout for buffers in memory, T.Fragment for tiles distributed over threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from itertools import product
from typing import Any

from tilecore.caller import placed
from tilecore.errors import LanguageError, WrongTypeError
from tilecore.ir.attributes import LayoutAttr
from tilecore.language.integers import whole_number


class Layout:
    """The place of each element of a tile. ``forward_fn(i, j, ...)`` gives its physical indices (one or several)."""

    @placed
    def __init__(self, shape: Sequence[int], forward_fn: Callable[..., Any]) -> None:
        if not isinstance(shape, (tuple, list)):
            raise WrongTypeError(
                f"T.{type(self).__name__}: the shape is not a list or a tuple",
                found=repr(shape)[:80],
                expected="one size for each axis",
            )
        if not callable(forward_fn):
            raise WrongTypeError(
                f"T.{type(self).__name__}: {forward_fn!r} is not a function",
                expected="a function of one index for each axis: lambda i, j: ...",
            )
        self.shape = tuple(whole_number(size, f"a size of T.{type(self).__name__}", 1) for size in shape)
        self.forward_fn = forward_fn

    def map_forward_index(self, indices: Sequence[Any]) -> list[Any]:
        """Physical indices of the element at ``indices``."""
        result = self.forward_fn(*indices)
        return list(result) if isinstance(result, (tuple, list)) else [result]

    def __call__(self, *indices: Any) -> list[Any]:
        """Physical indices of the element at ``indices``."""
        return self.map_forward_index(indices)

    def get_input_shape(self) -> list[int]:
        """The sizes of the tile."""
        return list(self.shape)

    def get_output_shape(self) -> list[int]:
        """The sizes of the memory that it takes: along each physical axis the largest index and 1."""
        return [size + 1 for size in map(max, zip(*self._places().values(), strict=True))]

    def repeat(self, dim: int, factor: int) -> Layout:
        """The layout of ``factor`` such tiles along axis ``dim``, one after the other in memory: a new first physical
        axis counts them."""
        axis = range(len(self.shape))[dim]
        size = self.shape[axis]
        shape = [n * (whole_number(factor, "the factor", 1) if i == axis else 1) for i, n in enumerate(self.shape)]

        def place(*indices: Any) -> list[Any]:
            inside = [index % size if i == axis else index for i, index in enumerate(indices)]
            return [indices[axis] // size, *self.map_forward_index(inside)]

        return Layout(shape, place) if factor > 1 else self

    def expand(self, leading_shape: int | Sequence[int]) -> Layout:
        """The layout of a tile with further axes of these sizes in front of the others: their indices come first among
        the physical ones. ``layout.expand([4])[i, j, k]`` is at ``[i, *layout(j, k)]``; without sizes, the layout."""
        if not isinstance(leading_shape, (int, tuple, list)):
            raise WrongTypeError(
                "Layout.expand takes an int or a list of ints", found=repr(leading_shape)[:80], expected="[4]"
            )
        sizes = [leading_shape] if isinstance(leading_shape, int) else list(leading_shape)
        count = len(sizes)
        if count == 0:
            return self
        return Layout(
            [*sizes, *self.shape], lambda *indices: [*indices[:count], *self.map_forward_index(indices[count:])]
        )

    def get_forward_vars(self) -> list[Any]:
        """The variables that stand for the indices of an element in :meth:`get_forward_index`; those of all layouts
        are the same, so that expressions of several layouts can be compared."""
        return [_placeholder(axis) for axis in range(len(self.shape))]

    def get_forward_index(self) -> list[Any]:
        """The physical indices as expressions of :meth:`get_forward_vars`."""
        from tilecore.language.values import as_expr
        from tilecore.tracing.current import without_builder

        with without_builder():
            return [as_expr(index) for index in self.map_forward_index(self.get_forward_vars())]

    @property
    def index(self) -> list[Any]:
        """:meth:`get_forward_index`."""
        return self.get_forward_index()

    def get_linearized_forward_index(self) -> Any:
        """The number of the element's place in memory, whose physical axes are counted row by row: an expression of
        :meth:`get_forward_vars`."""
        first, *others = self.get_forward_index()
        place = first
        for index, size in zip(others, self.get_output_shape()[1:], strict=True):
            place = place * size + index
        return place

    def is_equal(self, other: Any) -> bool:
        """Whether the other is a layout of the same kind and shape that puts every element at the same place."""
        return type(other) is type(self) and other.shape == self.shape and other._places() == self._places()

    def _places(self) -> dict[tuple[int, ...], tuple[int, ...]]:
        """The physical indices of every element, as numbers."""
        return {index: index_numbers(self.map_forward_index(index)) for index in product(*map(range, self.shape))}

    def to_ir(self) -> dict[str, Any]:
        """The layout as plain data for the IR: kind, shape, and ``index``, an IndexMap from an element to its place."""
        return {
            LayoutAttr.KIND: LayoutAttr.MEMORY,
            LayoutAttr.SHAPE: list(self.shape),
            LayoutAttr.INDEX: self._index_map(self.forward_fn, len(self.shape)),
        }

    def _index_map(self, function: Callable[..., Any], arguments: int) -> Any:
        """``function``, which takes ``arguments`` indices, as an IndexMap of the variables i0, i1, ..., whose text does
        not depend on the names that the user gave."""
        from tilecore.ir.nodes import Var, tirx
        from tilecore.language.values import as_expr

        indices = [Var(f"i{axis}", "int32") for axis in range(arguments)]
        try:
            results = function(*indices)
        except TypeError as error:
            raise LanguageError(f"the function of {self!r} does not take {arguments} indices: {error}") from error
        places = [as_expr(place) for place in (results if isinstance(results, (tuple, list)) else [results])]
        for place in places:
            if not str(place.ty.dtype).startswith(("int", "uint")):
                raise LanguageError(f"the function of {self!r} returns {place}", expected="integer expressions")
        return tirx.IndexMap(indices, places, None)

    def __repr__(self) -> str:
        return f"T.{type(self).__name__}({self.shape})"


@cache
def _placeholder(axis: int) -> Any:
    """The variable that stands for the index along an axis of any layout."""
    from tilecore.ir.nodes import Var

    return Var(f"i{axis}", "int32")


class _Copies(int):
    """The number of copies of each element of a fragment; called, the fragment with ``count`` times as many."""

    fragment: Fragment

    def __call__(self, count: int) -> Fragment:
        return self.fragment.with_copies(count)


class Fragment(Layout):
    """Which thread holds each element, and in which of its registers.

    Give either ``forward_fn(i, j) -> (thread, index)``, or ``forward_thread_fn`` and ``forward_index_fn``. With
    ``replicate`` > 1 the functions that give the thread take a further argument, the index of the copy.
    """

    @placed
    def __init__(
        self,
        shape: Sequence[int],
        forward_fn: Callable[..., Any] | None = None,
        forward_thread_fn: Callable[..., Any] | None = None,
        replicate: int = 1,
        forward_index_fn: Callable[..., Any] | None = None,
    ) -> None:
        if (forward_fn is None) == (forward_thread_fn is None):
            raise LanguageError("a T.Fragment has both forward_fn and forward_thread_fn", expected="one of them")
        super().__init__(shape, forward_fn or (lambda *i: [forward_index_fn(*i)] if forward_index_fn else []))
        self.forward_thread_fn = forward_thread_fn
        self.replicate = _Copies(whole_number(replicate, "T.Fragment(replicate=...)", 1))
        self.replicate.fragment = self

    def expand(self, leading_shape: int | Sequence[int]) -> Layout:
        """Raises LanguageError: a fragment has no further axes of memory."""
        raise LanguageError(
            "T.Fragment has no expand",
            expected="fragment.repeat([4, 1, 1]) of a fragment with an axis of extent 1 in front",
        )

    def get_thread_size(self) -> int:
        """The number of threads: the largest index of one and 1."""
        return max(thread for thread, *_ in self._places().values()) + 1

    def map_forward_thread(self, indices: Sequence[Any]) -> Any:
        """The thread of the element at ``indices`` (with ``replicate`` > 1 also the copy)."""
        return self.thread_and_place(*indices)[0]

    def with_copies(self, count: int) -> Fragment:
        """``fragment.replicate(count)``: each element is held by ``count`` times as many threads; the threads of each
        copy follow those of the one before."""
        whole_number(count, "the number of copies", 1)
        threads, before, axes = self.get_thread_size(), int(self.replicate), len(self.shape)

        def thread(*indices: Any) -> Any:
            copy = indices[axes] if before * count > 1 else 0
            return self._thread(indices[:axes], copy % before) + copy // before * threads

        return Fragment(self.shape, None, thread, before * count, lambda *indices: self._register(indices))

    def repeat(  # type: ignore[override]
        self, repeats: Sequence[int], repeat_on_thread: bool = False, lower_dim_first: bool = True
    ) -> Fragment:
        """``repeats[axis]`` such tiles along each axis: each thread has the elements of all in further registers, or,
        with repeat_on_thread, further threads have them. lower_dim_first: those along the last axis follow one another
        first."""
        counts = [whole_number(count, "a number of repeats", 1) for count in repeats]
        registers = max((place[0] for _, *place in self._places().values() if place), default=0) + 1
        threads, axes = self.get_thread_size(), range(len(self.shape))

        def tile(indices: Sequence[Any]) -> Any:
            number: Any = 0
            for axis in axes if lower_dim_first else reversed(axes):
                number = number * counts[axis] + indices[axis] // self.shape[axis]
            return number

        def inside(indices: Sequence[Any]) -> list[Any]:
            return [indices[axis] % self.shape[axis] for axis in axes]

        def thread(*indices: Any) -> Any:
            first = self._thread(inside(indices), indices[len(axes)] if self.replicate > 1 else 0)
            return first + tile(indices) * threads if repeat_on_thread else first

        def register(*indices: Any) -> Any:
            first = self._register(inside(indices))
            return first if repeat_on_thread else first + tile(indices) * registers

        shape = [size * count for size, count in zip(self.shape, counts, strict=True)]
        return Fragment(shape, None, thread, int(self.replicate), register)

    def _thread(self, indices: Sequence[Any], copy: Any) -> Any:
        return self.thread_and_place(*indices, *([copy] if self.replicate > 1 else []))[0]

    def _register(self, indices: Sequence[Any]) -> Any:
        _, *places = self.thread_and_place(*indices, *([0] if self.replicate > 1 else []))
        return places[0] if places else 0

    def _places(self) -> dict[tuple[int, ...], tuple[int, ...]]:
        """The thread and the register of every copy of every element, as numbers."""
        shape = (*self.shape, int(self.replicate)) if self.replicate > 1 else self.shape
        return {index: index_numbers(self.thread_and_place(*index)) for index in product(*map(range, shape))}

    def to_ir(self) -> dict[str, Any]:
        """As :meth:`Layout.to_ir`. ``index`` gives the thread, and then the index of the register; with ``replicate``
        > 1 its last argument is the index of the copy."""
        arguments = len(self.shape) + (self.replicate > 1)
        index = self._index_map(self.thread_and_place, arguments)
        return {
            LayoutAttr.KIND: LayoutAttr.FRAGMENT,
            LayoutAttr.SHAPE: list(self.shape),
            LayoutAttr.REPLICATE: int(self.replicate),
            LayoutAttr.INDEX: index,
        }

    def thread_and_place(self, *indices: Any) -> list[Any]:
        """The thread and the index of the register of the element at ``indices`` (with ``replicate`` > 1 also the
        copy)."""
        if self.forward_thread_fn is None:
            result = self.forward_fn(*indices)
            return list(result) if isinstance(result, (tuple, list)) else [result]
        return [self.forward_thread_fn(*indices), *self.map_forward_index(indices[: len(self.shape)])]


def index_numbers(values: Sequence[Any]) -> tuple[int, ...]:
    """The values, which are constants of Python or of the IR, as numbers."""
    return tuple(value if isinstance(value, int) else _constant(value) for value in values)


def _constant(value: Any) -> int:
    from tilecore.ir.analyzer import Analyzer

    return int(Analyzer().simplify(value))


def layout_hint(layout: Any) -> dict[str, Any]:
    """The value of ``loop_layout=`` as plain data for the IR."""
    if not isinstance(layout, Layout):
        raise LanguageError("loop_layout is not a T.Fragment", found=repr(layout)[:80], expected="a T.Fragment")
    return layout.to_ir()
