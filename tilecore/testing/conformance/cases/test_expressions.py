"""Random expressions, of correct types and exact in every float type: each target against the interpreter."""

from __future__ import annotations

import numpy as np
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import tilecore.language as T

from .kit import check, element, sample, zeros

N = 37  # no multiple of a vector
KINDS = ("int8", "uint8", "int16", "int32", "uint32", "int64", "float16", "float32", "float64", "bool")
NUMBERS = KINDS[:-1]
INTEGERS = KINDS[:6]
FLOATS = KINDS[6:9]
LIMIT = 60  # floats stay within it after a product, so that all arithmetic on them is exact


def trees(kind: str, depth: int) -> st.SearchStrategy:
    """Expressions of element type ``kind`` as nested tuples."""
    if depth == 0:
        return st.one_of(*leaves(kind))
    return st.one_of(*leaves(kind), *inner(kind, depth - 1))


def leaves(kind: str) -> list[st.SearchStrategy]:
    index = st.tuples(st.sampled_from([1, 2, 5, N - 1]), st.integers(0, N - 1))
    strategies = [st.tuples(st.just("load"), st.just(kind), index)]
    if kind == "bool":
        return [*strategies, st.tuples(st.just("const"), st.just(kind), st.booleans())]
    low = 0 if kind.startswith("u") else -9
    return [
        *strategies,
        st.tuples(st.just("const"), st.just(kind), st.integers(low, 9)),
        st.tuples(st.just("position"), st.just(kind)),
    ]


def inner(kind: str, depth: int) -> list[st.SearchStrategy]:
    def of(*kinds: str) -> list[st.SearchStrategy]:
        return [trees(k, depth) for k in kinds]

    def node(names: list[str], *parts: st.SearchStrategy) -> st.SearchStrategy:
        return st.tuples(st.sampled_from(names), st.just(kind), *parts)

    choice = node(["select", "ternary", "if_then_else"], *of("bool", kind, kind))
    if kind == "bool":
        compared = st.sampled_from(NUMBERS).flatmap(
            lambda k: node(["<", "<=", ">", ">=", "==", "!="], trees(k, depth), trees(k, depth))
        )
        return [choice, compared, node(["and", "or"], *of("bool", "bool")), node(["not"], *of("bool"))]
    strategies = [choice, node(["+", "-", "*", "max", "min"], *of(kind, kind))]
    if kind in INTEGERS:
        strategies.append(node(["//", "%", "&", "|", "^"], *of(kind, kind)))
        strategies.append(node(["<<", ">>"], trees(kind, depth), st.integers(0, 7)))
        strategies.append(st.sampled_from(INTEGERS).flatmap(lambda k: node(["cast"], trees(k, depth))))
        strategies.append(node(["~"], *of(kind)))
    else:
        strategies.append(node(["neg", "abs", "half"], *of(kind)))
        strategies.append(st.sampled_from([*FLOATS, "int8"]).flatmap(lambda k: node(["cast"], trees(k, depth))))
    return strategies


def build(tree, arrays, i):
    """The tree as an expression of the kernel for element ``i``."""
    name, kind, *parts = tree
    if name == "load":
        step, start = parts[0]
        return arrays[kind][(i * step + start) % N]
    if name == "const":
        return T.cast(parts[0], kind)
    if name == "position":
        return T.cast(i % 8, kind)
    values = [build(p, arrays, i) if isinstance(p, tuple) else p for p in parts]
    return _OPERATIONS[name](kind, *values)


def product(kind, a, b):
    return T.clamp(a * b, T.cast(-LIMIT, kind), T.cast(LIMIT, kind)) if kind in FLOATS else a * b


def added(kind, value):
    return T.clamp(value, T.cast(-LIMIT, kind), T.cast(LIMIT, kind)) if kind in FLOATS else value


_OPERATIONS = {
    "+": lambda k, a, b: added(k, a + b),
    "-": lambda k, a, b: added(k, a - b),
    "*": product,
    "max": lambda k, a, b: T.max(a, b),
    "min": lambda k, a, b: T.min(a, b),
    "//": lambda k, a, b: a // (b | T.cast(1, k)),
    "%": lambda k, a, b: a % (b | T.cast(1, k)),
    "&": lambda k, a, b: a & b,
    "|": lambda k, a, b: a | b,
    "^": lambda k, a, b: a ^ b,
    "<<": lambda k, a, n: a << T.cast(n, k),
    ">>": lambda k, a, n: a >> T.cast(n, k),
    "~": lambda k, a: ~a,
    "neg": lambda k, a: -a,
    "abs": lambda k, a: T.abs(a),
    "half": lambda k, a: T.floor(a * T.cast(0.5, k)),
    "cast": lambda k, a: T.cast(a, k),
    "select": lambda k, c, a, b: T.Select(c, a, b),
    "ternary": lambda k, c, a, b: T.if_then_else(c, a, b),
    "if_then_else": lambda k, c, a, b: T.if_then_else(T.any_of(c, False), a, b),
    "<": lambda k, a, b: a < b,
    "<=": lambda k, a, b: a <= b,
    ">": lambda k, a, b: a > b,
    ">=": lambda k, a, b: a >= b,
    "==": lambda k, a, b: a == b,
    "!=": lambda k, a, b: a != b,
    "and": lambda k, a, b: T.all_of(a, b),
    "or": lambda k, a, b: T.any_of(a, b),
    "not": lambda k, a: T.if_then_else(a, False, True),
}


def kernel_of(jobs, serial):
    """A kernel that computes every (tree, condition or None) of ``jobs`` for every element."""

    @T.prim_func
    def kernel(
        X0: T.Tensor((N,), KINDS[0]),
        X1: T.Tensor((N,), KINDS[1]),
        X2: T.Tensor((N,), KINDS[2]),
        X3: T.Tensor((N,), KINDS[3]),
        X4: T.Tensor((N,), KINDS[4]),
        X5: T.Tensor((N,), KINDS[5]),
        X6: T.Tensor((N,), KINDS[6]),
        X7: T.Tensor((N,), KINDS[7]),
        X8: T.Tensor((N,), KINDS[8]),
        X9: T.Tensor((N,), KINDS[9]),
        Integers: T.Tensor((len(jobs), N), "int64"),
        Floats: T.Tensor((len(jobs), N), "float64"),
    ):
        with T.Kernel(1):
            arrays = dict(zip(KINDS, (X0, X1, X2, X3, X4, X5, X6, X7, X8, X9), strict=True))
            for number, (tree, condition) in enumerate(jobs):
                out = Floats if tree[1] in FLOATS else Integers
                for i in T.serial(N) if serial else T.Parallel(N):
                    if condition is None or build(condition, arrays, i):
                        out[number, i] = build(tree, arrays, i)

    return kernel


def inputs():
    arrays = []
    for seed, kind in enumerate(KINDS):
        if kind in FLOATS:
            arrays.append(np.random.default_rng(seed).integers(-9, 10, N).astype(element(kind)))
        else:
            arrays.append(sample(kind, N, seed))
    return arrays


jobs = st.lists(
    st.tuples(st.sampled_from(KINDS).flatmap(lambda k: trees(k, 2)), st.none() | trees("bool", 1)),
    min_size=1,
    max_size=10,
)


# a failure is not made smaller: every try is a compilation
@settings(max_examples=16, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
@given(jobs=jobs, serial=st.booleans())
def test_random_expressions(target, jobs, serial):
    kernel = kernel_of(jobs, serial)
    check(kernel, target, *inputs(), zeros("int64", (len(jobs), N)), zeros("float64", (len(jobs), N)))
