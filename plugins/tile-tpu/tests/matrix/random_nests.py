"""Random kernels of T.Parallel nests over tiles, as nested tuples that hypothesis shrinks.

Floats are small integers, which every type represents exactly, so that results are equal in any order of rounding. A
program is (shape of the tiles, {name: element type}, sizes of the tensors, whether these are known only at the call,
nests); a nest is (extents, statements).
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
from hypothesis import strategies as st

import tilecore.language as T

FLOATS = ("float32", "float16", "bfloat16")
INTEGERS = ("int32", "int16", "int8", "uint8", "uint16", "uint32")
STORED = {"float8_e4m3fn": "float32", "float8_e5m2": "float32", "bool": "int32"}  # in memory: what is computed in
STEPS = (0, 0, 0, 1, 16)  # of a tensor's index, for one block
EXTENTS = (1, 2, 3, 8, 15, 16, 17, 31, 33, 63, 64, 65, 70, 130)
ROWS, COLUMNS = "r", "c"  # vectors beside the tiles


@st.composite
def programs(draw: Any) -> tuple:
    rank = draw(st.sampled_from((1, 2, 2, 2, 3)))
    small = st.sampled_from((1, 2, 3, 5))
    extents = st.sampled_from(EXTENTS)
    shape = tuple([draw(small) for _ in range(rank - 2)] + [draw(extents) for _ in range(min(rank, 2))])
    kinds = st.sampled_from((*FLOATS, *INTEGERS, *STORED))
    types = {name: draw(kinds) for name in "xyz"}
    types["r"], types["c"] = types["x"], types["y"]
    tensor = tuple(max(1, size + draw(st.sampled_from((0, 0, -1, -7, 4)))) for size in shape)
    count = draw(st.integers(1, 3))
    return shape, types, tensor, draw(st.booleans()), tuple(draw(nests(shape, types, tensor)) for _ in range(count))


@st.composite
def nests(draw: Any, shape: tuple, types: dict, tensor: tuple) -> tuple:
    rank = len(shape)
    form = draw(st.sampled_from(("tile",) * 4 + (("rows", "columns") if rank == 2 else ())))
    if form == "rows":
        return (shape[0],), (draw(statements((shape[0],), shape, types, tensor, (ROWS,))),)
    if form == "columns":
        return (shape[1],), (draw(statements((shape[1],), shape, types, tensor, (COLUMNS,))),)
    whole = draw(st.booleans())
    extents = shape if whole else tuple(draw(st.integers(1, size)) for size in shape)
    targets = ("x", "y", "z", "Y") if whole else ("x", "y", "z")
    count = draw(st.integers(1, 3))
    body: list[tuple] = []
    for _ in range(count):
        body.append(draw(statements(extents, shape, types, tensor, targets)))
    return extents, tuple(body)


@st.composite
def statements(draw: Any, extents: tuple, shape: tuple, types: dict, tensor: tuple, targets: tuple) -> tuple:
    """(form, target, its index, value, condition, other value)"""
    target = draw(st.sampled_from(targets))
    if target in (ROWS, COLUMNS):
        index: tuple = (("loop", 0, 1, 0, 0),)
    elif target == "Y":
        order = draw(st.sampled_from((tuple(range(len(shape))),) * 4 + (tuple(reversed(range(len(shape)))),)))
        index = tuple(("loop", a, 1, draw(st.sampled_from((0, 0, 1, -2))), draw(st.sampled_from(STEPS))) for a in order)
    else:
        index = tuple(
            ("loop", a, 1, draw(st.integers(0, size - extent)), 0)
            for a, (size, extent) in enumerate(zip(shape, extents, strict=True))
        )
    dtype = computed(types["x" if target == "Y" else target])
    make = values(extents, shape, types, tensor, dtype, 3)
    forms = ("plain", "plain", "if", "if-else", "variable", "loop")
    return (
        draw(st.sampled_from(forms)), target, index, draw(make), draw(conditions(extents, shape, types, tensor)),
        draw(make),
    )  # fmt: skip


@st.composite
def reads(draw: Any, extents: tuple, shape: tuple, types: dict, tensor: tuple) -> tuple:
    """(what, its index): an element of a tile, a vector or the tensor X"""
    names = ["x", "y", "z", "X"]
    if len(shape) == 2:
        names += [ROWS, COLUMNS]
    name = draw(st.sampled_from(names))
    if name == "X":
        loops = range(len(extents))
        return "X", tuple(
            (
                "loop",
                draw(st.sampled_from((min(a, len(extents) - 1), *loops))),
                1,
                draw(st.sampled_from((0, 0, 1, -3))),
                draw(st.sampled_from(STEPS)),
            )
            for a in range(len(shape))
        )
    sizes = {ROWS: shape[-2:-1], COLUMNS: shape[-1:]}.get(name, shape)
    index = []
    for axis, size in enumerate(sizes):
        preferred = len(extents) - 1 if name == COLUMNS else axis
        order = [preferred, *range(len(extents))]
        fitting = [loop for loop in order if loop < len(extents) and extents[loop] <= size]
        loop = draw(st.sampled_from((*fitting, *fitting[:1] * 3, -1))) if fitting else -1
        if loop < 0:
            index.append(("number", draw(st.integers(0, size - 1))))
            continue
        most = (size - 1) // (extents[loop] - 1) if extents[loop] > 1 else 1
        factor = draw(st.integers(1, min(most, 2))) if most > 1 else 1
        index.append(("loop", loop, factor, draw(st.integers(0, size - 1 - factor * (extents[loop] - 1))), 0))
    return name, tuple(index)


def computed(dtype: str) -> str:
    return STORED.get(dtype, dtype)


def values(extents: tuple, shape: tuple, types: dict, tensor: tuple, dtype: str, depth: int) -> Any:
    is_float = dtype in FLOATS
    leaves = st.one_of(
        reads(extents, shape, types, tensor).map(lambda read: ("read", read)),
        st.integers(0, 5).map(lambda n: ("number", n)),
        st.integers(0, len(extents) - 1).map(lambda loop: ("loop", loop)),
    )
    if depth == 0:
        return leaves
    inner = st.deferred(lambda: values(extents, shape, types, tensor, dtype, depth - 1))
    tests = st.deferred(lambda: conditions(extents, shape, types, tensor, depth - 1))
    two = ("+", "-", "max", "min") + (() if is_float else ("*", "&", "|", "^"))
    unary = ("-", "abs", "double") + (("floor", "half") if is_float else ("~", "<<", ">>", "//", "%"))
    return st.one_of(
        leaves,
        st.tuples(st.sampled_from(two), inner, inner),
        st.tuples(st.sampled_from(unary), inner),
        st.tuples(st.just("if"), tests, inner, inner),
        st.tuples(st.just("as"), st.sampled_from(FLOATS if is_float else INTEGERS), inner),
    )


def conditions(extents: tuple, shape: tuple, types: dict, tensor: tuple, depth: int = 2) -> Any:
    loops = st.integers(0, len(extents) - 1)
    relations = st.sampled_from(("<", "<=", ">", ">=", "==", "!="))
    leaves = st.one_of(
        st.tuples(st.just("edge"), relations, loops, st.sampled_from((0, 1, 3, 16, 40, 64))),
        st.tuples(st.just("loops"), relations, loops, loops, st.integers(-3, 3)),
        st.tuples(st.just("block"), relations, st.integers(0, 1)),
    )
    if depth <= 0:
        return leaves
    inner = st.deferred(lambda: conditions(extents, shape, types, tensor, depth - 1))
    numbers = st.deferred(lambda: values(extents, shape, types, tensor, "int32", 1))
    return st.one_of(
        leaves,
        st.tuples(st.just("numbers"), relations, numbers, numbers),
        st.tuples(st.sampled_from(("and", "or", "&", "|")), inner, inner),
        st.tuples(st.just("not"), inner),
    )


# -- as kernels -----------------------------------------------------------------------------------------------------


def _small(number: Any, dtype: str) -> Any:
    """The value reduced to a range that all types represent exactly."""
    if dtype in FLOATS:
        return T.max(T.min(number, T.cast(8, dtype)), T.cast(-8, dtype))
    return number


def _to(number: Any, source: str, dtype: str) -> Any:
    if source in INTEGERS and dtype in FLOATS:
        return T.cast(T.cast(number, "int32") & 7, dtype)
    return T.cast(number, dtype)


def _index(index: tuple, loops: tuple, block: Any) -> tuple:
    indices = []
    for entry in index:
        if entry[0] == "number":
            indices.append(entry[1])
            continue
        _, loop, factor, first, step = entry
        at = loops[loop] * factor + first
        indices.append(at + block * step if step else at)
    return tuple(indices)


def _value(node: tuple, dtype: str, has: dict, loops: tuple) -> Any:
    match node:
        case ("read", (name, index)):
            kind = has["types"]["x" if name == "X" else name]
            read = has[name][_index(index, loops, has["block"])]
            return _to(T.cast(read, computed(kind)), computed(kind), dtype)
        case ("number", n):
            return T.cast(n, dtype)
        case ("loop", loop):
            return _to(loops[loop], "int32", dtype)
        case ("if", test, a, b):
            return T.if_then_else(
                _condition(test, has, loops), _value(a, dtype, has, loops), _value(b, dtype, has, loops)
            )
        case ("as", other, a):
            return (
                _to(_small(_value(a, dtype, has, loops), dtype), dtype, other)
                if other == dtype
                else _back(_small(_value(a, dtype, has, loops), dtype), dtype, other)
            )
        case (operator, a):
            return _unary(operator, _value(a, dtype, has, loops), dtype)
        case (operator, a, b):
            return _binary(operator, _value(a, dtype, has, loops), _value(b, dtype, has, loops))
    raise AssertionError(node)


def _back(number: Any, dtype: str, other: str) -> Any:
    return T.cast(T.cast(number, other), dtype)


def _unary(operator: str, a: Any, dtype: str) -> Any:
    match operator:
        case "-":
            return -a
        case "abs":
            return T.abs(a)
        case "double":
            return a * T.cast(2, dtype)
        case "floor":
            return T.floor(a)
        case "half":
            return T.floor(a * T.cast(0.5, dtype))
        case "~":
            return ~a
        case "<<":
            return a << T.cast(2, dtype)
        case ">>":
            return a >> T.cast(3, dtype)
        case "//":
            return a // T.cast(4, dtype)
        case "%":
            return a % T.cast(8, dtype)
    raise AssertionError(operator)


def _binary(operator: str, a: Any, b: Any) -> Any:
    match operator:
        case "+":
            return a + b
        case "-":
            return a - b
        case "*":
            return a * b
        case "max":
            return T.max(a, b)
        case "min":
            return T.min(a, b)
        case "&":
            return a & b
        case "|":
            return a | b
        case "^":
            return a ^ b
    raise AssertionError(operator)


def _related(relation: str, a: Any, b: Any) -> Any:
    match relation:
        case "<":
            return a < b
        case "<=":
            return a <= b
        case ">":
            return a > b
        case ">=":
            return a >= b
        case "==":
            return a == b
    return a != b


def _condition(node: tuple, has: dict, loops: tuple) -> Any:
    match node:
        case ("edge", relation, loop, number):
            return _related(relation, loops[loop], number)
        case ("loops", relation, a, b, shift):
            return _related(relation, loops[a], loops[b] + shift)
        case ("block", relation, number):
            return _related(relation, has["block"], number)
        case ("numbers", relation, a, b):
            return _related(relation, _value(a, "int32", has, loops), _value(b, "int32", has, loops))
        case ("and", a, b):
            return T.all_of(_condition(a, has, loops), _condition(b, has, loops))
        case ("or", a, b):
            return T.any_of(_condition(a, has, loops), _condition(b, has, loops))
        case ("&", a, b):
            return _condition(a, has, loops) & _condition(b, has, loops)
        case ("|", a, b):
            return _condition(a, has, loops) | _condition(b, has, loops)
        case ("not", a):
            return ~_condition(a, has, loops)
    raise AssertionError(node)


@T.macro
def _statement(node, has, loops):
    form, target, index, first, test, second = node
    dtype = computed(has["types"]["x" if target == "Y" else target])
    at = _index(index, loops, has["block"])
    if target == "Y":
        at = (has["block"], *at)
    place = has[target]
    value = lambda expression: _small(_value(expression, dtype, has, loops), dtype)  # noqa: E731
    if form == "if":
        if _condition(test, has, loops):
            place[at] = value(first)
    elif form == "if-else":
        if _condition(test, has, loops):
            place[at] = value(first)
        else:
            place[at] = value(second)
    elif form == "variable":
        v = T.alloc_var(dtype, init=value(first))
        if _condition(test, has, loops):
            v = value(second)
        place[at] = v
    elif form == "loop" and target != "Y":
        for _ in T.serial(2):
            place[at] = _small(T.cast(place[at], dtype) + value(first), dtype)
    else:
        place[at] = value(first)


@T.macro
def _nest(nest, has):
    extents, body = nest
    if len(extents) == 1:
        for i in T.Parallel(*extents):
            for node in body:
                _statement(node, has, (i,))
    elif len(extents) == 2:
        for i, j in T.Parallel(*extents):
            for node in body:
                _statement(node, has, (i, j))
    else:
        for h, i, j in T.Parallel(*extents):
            for node in body:
                _statement(node, has, (h, i, j))


def kernel_of(program: tuple) -> tuple[Any, list[np.ndarray]]:
    """The kernel and its arguments: X, R, C, and the outputs Y (of each block) and each tile at the end."""
    shape, types, sizes, dynamic, program_nests = program
    tensor = tuple(T.dynamic(f"n{axis}") for axis in range(len(sizes))) if dynamic else sizes
    rows, columns = shape[-2] if len(shape) > 1 else shape[0], shape[-1]
    blocks = 2

    @T.prim_func
    def kernel(
        X: T.Tensor(tensor, types["x"]), R: T.Tensor((rows,), types["r"]), C: T.Tensor((columns,), types["c"]),
        Y: T.Tensor((blocks, *tensor), types["x"]), XO: T.Tensor((blocks, *shape), types["x"]),
        YO: T.Tensor((blocks, *shape), types["y"]), ZO: T.Tensor((blocks, *shape), types["z"]),
    ):  # fmt: skip
        with T.Kernel(blocks) as block:
            x, y = T.alloc_shared(shape, types["x"]), T.alloc_fragment(shape, types["y"])
            z = T.alloc_fragment(shape, types["z"])
            r, c = T.alloc_fragment((rows,), types["r"]), T.alloc_fragment((columns,), types["c"])
            T.copy(R, r)
            T.copy(C, c)
            T.copy(X[tuple(slice(0, size) for size in shape)], x)
            T.fill(y, 1)
            T.fill(z, 3)
            has = {"x": x, "y": y, "z": z, "r": r, "c": c, "X": X, "Y": Y, "block": block, "types": types}
            for nest in program_nests:
                _nest(nest, has)
            every = tuple(slice(0, size) for size in shape)
            T.copy(x, XO[(block, *every)])
            T.copy(y, YO[(block, *every)])
            T.copy(z, ZO[(block, *every)])

    inputs = [("x", sizes), ("r", (rows,)), ("c", (columns,))]
    outputs = [("x", (blocks, *sizes)), *((name, (blocks, *shape)) for name in "xyz")]
    arrays = [_numbers(types[name], size, seed) for seed, (name, size) in enumerate(inputs)]
    return kernel, [*arrays, *(np.zeros(size, _numpy(types[name])) for name, size in outputs)]


def _numpy(dtype: str) -> np.dtype:
    return np.dtype(bool) if dtype == "bool" else np.dtype(getattr(ml_dtypes, dtype, None) or dtype)


def _numbers(dtype: str, shape: tuple, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if computed(dtype) in FLOATS:
        return rng.integers(-8, 9, shape).astype(np.float32).astype(_numpy(dtype))
    limits = np.iinfo(dtype)
    return rng.integers(limits.min, int(limits.max) + 1, shape, dtype=dtype)
