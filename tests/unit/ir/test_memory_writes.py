"""What a statement may write: stores, operations on tiles, atomics, foreign functions, and others at barriers."""

from __future__ import annotations

import pytest

import tilecore.language as T
from tilecore.ir.analyzer import Analyzer
from tilecore.ir.lasting import branch_scope, lasting
from tilecore.ir.memory_writes import Memory, may_alias, writes_of
from tilecore.ir.nodes import IfThenElse, TensorLoad
from tilecore.ir.visit import collect, stores


def kernel(statement):
    """One branch under a condition on P[0], S[0] and local[0], with one statement, and writes of them outside of it."""

    @T.prim_func
    def func(
        P: T.Tensor((4,), "int32"),
        Q: T.Tensor((8,), "int32"),
        R: T.Tensor((4,), "float32"),
        Y: T.Tensor((64,), "int32"),
    ):
        with T.Kernel(1, threads=64):
            S = T.alloc_shared((4,), "int32")
            local = T.alloc_local((2,), "int32")
            P[0] = 3
            T.fill(S, 0)
            local[0] = 1
            view = T.view(P, (2, 2))
            if P[0] < 4 and S[0] < 4 and local[0] < 4 and Q[0] < 4:
                if statement == "nothing":
                    Y[0] = 1
                elif statement == "store":
                    P[1] = 2
                elif statement == "view":
                    view[1, 0] = 2
                elif statement == "tile operation":
                    T.fill(S, 1)
                elif statement == "atomic":
                    T.atomic_add(P[0], 1)
                elif statement == "atomic with a value":
                    Y[1] = T.atomic_add(P[0], 1, return_prev=True)
                elif statement == "atomic read":
                    Y[1] = T.atomic_load(P[0], "relaxed")
                elif statement == "acquire":
                    Y[1] = T.atomic_load(Y[0], "acquire")
                elif statement == "barrier":
                    T.sync_threads()
                elif statement == "function":
                    T.call_extern("handle", "f", T.access_ptr(local, "w"), T.access_ptr(P[0], "r"))
                elif statement == "function without addresses":
                    Y[0] = T.call_extern("int32", "f", 1)
                elif statement == "in place":
                    R[0] = 1.0

    return func.ir


CHANGED = {
    "nothing": "",
    "store": "P",
    "view": "P",
    "tile operation": "S",
    "atomic": "P",
    "atomic with a value": "P",
    "atomic read": "",
    "acquire": "P S",
    "barrier": "P S",
    "function": "P S local",
    "function without addresses": "P S",  # there may be a barrier in it
    "in place": "",  # R and P are both written, so that no call may give one tensor for them
}


@pytest.mark.parametrize("statement", CHANGED)
def test_what_a_statement_may_change(statement):
    func = kernel(statement)
    memory = Memory(func.body)
    (branch,) = collect(func.body, IfThenElse)
    buffers = {str(b.name): b for b in (load.source for load in collect(branch.condition, TensorLoad))}
    writes = writes_of(branch.then_case)
    changed = [name for name in ("P", "Q", "S", "local") if memory.may_change(writes, buffers[name])]
    assert " ".join(changed) == CHANGED[statement]
    facts = lasting(branch.condition, branch.then_case, memory)
    assert all((f"{name}[" not in str(facts)) == (name in changed) for name in buffers)


def test_what_a_branch_knows_ends_at_a_barrier():
    for statement, provable in (("nothing", True), ("barrier", False)):
        func = kernel(statement)
        (branch,) = collect(func.body, IfThenElse)
        load = next(x for x in collect(branch.condition, TensorLoad) if str(x.source.name) == "P")
        analyzer = Analyzer()
        with branch_scope(analyzer, branch, Memory(func.body)):
            assert analyzer.can_prove(load < 64) == provable


def test_one_tensor_for_two_parameters():
    @T.prim_func
    def func(
        A: T.Tensor((32,), "int32"), B: T.Tensor((16, 2), "float32"), C: T.Tensor((32,), "float16"),
        D: T.Tensor((T.dynamic("n"),), "int32"),
    ):  # fmt: skip
        with T.Kernel(1):
            B[0, 0] = A[0]
            C[0] = D[0]

    a, b, c, d = func.ir.params[:4]
    assert may_alias(a, b)
    assert not may_alias(a, c)
    assert may_alias(b, d)
    memory = Memory(func.ir.body)
    first, second = (writes_of(store) for store in stores(func.ir.body))
    assert memory.may_change(first, a)
    assert not memory.may_change(first, a, in_place=False)
    assert not memory.may_change(second, a)
    assert not memory.may_change(first, c), "both are written"
