"""Random kernels of threads that pass values through shared memory, on each target and by the interpreter.

A program is a list of steps. Threads go through ``Together`` steps together; in a ``Apart`` step (a condition or loop
of each thread) they keep to their own elements of ``r`` and only read other memory.
"""

import math
from contextlib import suppress

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tilecore.language as T

from .kit import Compiled, check, sample, zeros

SIZES = {8: (8, 1, 1), 12: (4, 3, 1), 40: (40, 1, 1), 24: (2, 4, 3)}


# -- expressions: nested tuples, over a dict of what the kernel has -------------------------------------------


def value(e, k):
    match e:
        case ("const", number):
            return number
        case ("tid" | "u" | "p0" | "p1" | "i", *_):
            return k[e[0]] + 0
        case ("own",):
            return k["r"][k["tid"]]
        case ("load", name, index):
            return k[name][value(index, k) % k["count"]]
        case ("if", a, b, c):
            return T.if_then_else(value(a, k) % 3 == 1, value(b, k), value(c, k))
        case (op, a, b):
            x, y = value(a, k), value(b, k)
            return x + y if op == "+" else x * y if op == "*" else T.max(x, y) if op == "max" else x ^ y
    raise AssertionError(e)


def small_value(e, k):
    """The value in a small range, so that products stay in int32."""
    return T.cast(value(e, k), "int32") & 511


@T.macro
def run(program, k):
    for step in program:
        if step[0] == "p":
            k[step[1]] = small_value(step[2], k)
        elif step[0] == "write":  # every thread another element
            _, name, factor, shift, e = step
            k[name][(k["tid"] * factor + shift) % k["count"]] = small_value(e, k)
        elif step[0] == "own":
            k["r"][k["tid"]] = small_value(step[1], k)
        elif step[0] == "u":
            k["u"] = small_value(step[1], k)
        elif step[0] == "for":
            for i in T.serial(step[1] if step[1] > 0 else k["u"] % 3):
                run(step[2], {**k, "i": i})
        elif step[0] == "while":
            left = T.alloc_var("int32", init=step[1])
            while left > 0:
                run(step[2], {**k, "i": left})
                left = left - 1
        elif step[0] == "if together" or step[0] == "if apart":
            if small_value(step[1], k) % 2 == 0:
                run(step[2], k)
            else:
                run(step[3], k)
        elif step[0] == "for apart":
            for _ in T.serial(small_value(step[1], k) % 4):
                run(step[2], k)
                if small_value(step[3], k) % 5 == 0:
                    break
        elif step[0] == "parallel":
            for j in T.Parallel(k["count"]):
                k["q"][j] = k["s"][(j + step[1]) % k["count"]] + k["u"]
        elif step[0] == "copy":
            T.copy(k["s"], k["q"])
        elif step[0] == "atomic":
            T.atomic_add(k["s"][small_value(step[1], k) % k["count"]], small_value(step[2], k))
        elif step[0] == "warp":
            k["p0"] = T.warp_reduce_max(small_value(step[1], k))
        elif step[0] == "count":
            k["u"] = T.syncthreads_count(small_value(step[1], k) % 3 == 0)


def kernel_of(program, count):
    sizes = SIZES[count]

    @T.prim_func
    def kernel(X: T.Tensor((count,), "int32"), U: T.Tensor((4,), "int32"), Y: T.Tensor((5, count), "int32")):
        with T.Kernel(1, threads=sizes):
            tx, ty, tz = T.get_thread_bindings()
            tid = tx + sizes[0] * (ty + sizes[1] * tz)
            s, q, r = (T.alloc_shared((count,), "int32") for _ in range(3))
            s[tid] = X[tid]
            q[tid] = tid
            r[tid] = 1
            have = {"tid": tid, "s": s, "q": q, "r": r, "X": X, "i": T.int32(1), "count": count}
            have["p0"], have["p1"] = T.alloc_var("int32", init=tid), T.alloc_var("int32", init=3)
            have["u"] = T.alloc_var("int32", init=U[1])
            run(program, have)
            Y[0, tid] = have["p0"]
            Y[1, tid] = have["p1"] + 1000 * have["u"]
            Y[2, tid] = s[tid]
            Y[3, tid] = q[tid]
            Y[4, tid] = r[tid]

    return kernel


# -- programs -------------------------------------------------------------------------------------------------


def expressions(leaves, loads):
    """Expressions of these leaves that load from the buffers ``loads``."""
    base = st.one_of(st.integers(0, 9).map(lambda n: ("const", n)), st.sampled_from([(name,) for name in leaves]))

    def larger(inner):
        options = [
            st.tuples(st.sampled_from("+*^"), inner, inner),
            st.tuples(st.just("max"), inner, inner),
            st.tuples(st.just("if"), inner, inner, inner),
        ]
        if loads:
            options.append(st.tuples(st.just("load"), st.sampled_from(loads), inner))
        return st.one_of(options)

    return st.recursive(base, larger, max_leaves=4)


ANY = expressions(["tid", "u", "p0", "p1", "i"], ["X", "s", "q", "r"])
NOT_S = expressions(["tid", "u", "p0", "p1", "i"], ["X", "q", "r"])
NOT_Q = expressions(["tid", "u", "p0", "p1", "i"], ["X", "s", "r"])
SAME = expressions(["u", "u", "i"], ["X"])
READING = expressions(["tid", "u", "p0", "p1", "i", "own"], ["X", "s", "q"])

apart_leaf = st.one_of(
    st.tuples(st.just("p"), st.sampled_from(["p0", "p1"]), READING), st.tuples(st.just("own"), READING)
)
apart = st.recursive(
    apart_leaf,
    lambda inner: st.one_of(
        st.tuples(st.just("if apart"), READING, st.lists(inner, min_size=1, max_size=2), st.lists(inner, max_size=1)),
        st.tuples(st.just("for apart"), READING, st.lists(inner, min_size=1, max_size=2), READING),
    ),
    max_leaves=4,
)


def together(count):
    factors = [f for f in range(1, count) if math.gcd(f, count) == 1]
    shift, factor = st.integers(0, count - 1), st.sampled_from(factors)
    leaf = st.one_of(
        st.tuples(st.just("p"), st.sampled_from(["p0", "p1"]), ANY),
        st.tuples(st.just("write"), st.just("s"), factor, shift, NOT_S),
        st.tuples(st.just("write"), st.just("q"), factor, shift, NOT_Q),
        st.tuples(st.just("own"), ANY.filter(lambda e: "'r'" not in repr(e))),
        st.tuples(st.just("u"), SAME),
        st.tuples(st.just("parallel"), shift),
        st.tuples(st.just("copy")),
        st.tuples(st.just("atomic"), NOT_S, NOT_S),
        st.tuples(st.just("warp"), ANY),
        st.tuples(st.just("count"), ANY),
        st.tuples(st.just("if apart"), READING, st.lists(apart, min_size=1, max_size=2), st.lists(apart, max_size=1)),
        st.tuples(st.just("for apart"), READING, st.lists(apart, min_size=1, max_size=2), READING),
    )
    several = lambda inner: st.lists(inner, min_size=1, max_size=3)  # noqa: E731
    return st.recursive(
        leaf,
        lambda inner: st.one_of(
            st.tuples(st.just("for"), st.integers(0, 3), several(inner)),
            st.tuples(st.just("while"), st.integers(0, 2), several(inner)),
            st.tuples(st.just("if together"), SAME, several(inner), st.lists(inner, max_size=2)),
        ),
        max_leaves=6,
    )


programs = st.sampled_from(sorted(SIZES)).flatmap(
    lambda count: st.tuples(st.just(count), st.lists(together(count), min_size=2, max_size=6))
)


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(case=programs)
def test_random_programs_of_threads(target, case):
    count, program = case
    x, u = np.abs(sample("int32", count)), np.arange(4, dtype=np.int32) + 2
    with suppress(Compiled):  # of one program; the next one follows
        check(kernel_of(program, count), target, x, u, zeros("int32", (5, count)))
