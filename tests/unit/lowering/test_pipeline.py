"""Pipelines: edits by name at gaps and passes, what is refused, and the runner."""

from __future__ import annotations

from dataclasses import fields, replace
from types import SimpleNamespace

import pytest

import tilecore
import tilecore.language as T
from tilecore.contract.passes import ExtensionPoint, Pass, PassEdit, PassEnv
from tilecore.contract.records import Backend
from tilecore.contract.state import Workspaces
from tilecore.errors import LoweringError, PluginError, UnsupportedError
from tilecore.interpreter.program import Program
from tilecore.ir.build import const, seq
from tilecore.ir.nodes import Evaluate, IRModule, PrimFunc, Var, structural_mutate, tirx
from tilecore.ir.thread_calls import SHUFFLE, WAIT_ASYNC
from tilecore.ir.thread_ops import thread_call
from tilecore.ir.tile_ops import tile_call
from tilecore.lowering import pipeline
from tilecore.lowering.buffers.outline_kernels import OUTLINE_KERNELS, outline_kernels
from tilecore.lowering.edits import edited, warn_of_moved
from tilecore.lowering.loops.pipeline import STEPS
from tilecore.lowering.pipeline import family_steps, lower
from tilecore.lowering.tile_ops.registry import implementations_of
from tilecore.plugins import manager

from .simt.kit import code_of_threads


def step(name):
    return Pass(name, lambda func, env: func)


OWNER = SimpleNamespace(kind="acme", package="tile-acme", version="1.5")
LIST = [step("a"), ExtensionPoint("gap"), step("b"), ExtensionPoint("end")]


def names(*edits, contract=2):
    return "".join(step.name for step in edited(LIST, edits, OWNER, contract))


def test_edits():
    x, y = step("x"), step("y")
    assert names() == "ab", "gaps vanish"
    assert names(PassEdit("insert", "gap", x)) == "axb"
    assert names(PassEdit("insert", "end", x)) == "abx"
    assert names(PassEdit("insert", "a", x)) == "axb", "after, unless told otherwise"
    assert names(PassEdit("insert", "a", x, "before")) == "xab"
    assert names(PassEdit("insert", "b", x, "before")) == "axb"
    assert names(PassEdit("insert", "gap", x, "before"), PassEdit("insert", "gap", y)) == "axyb"
    assert names(PassEdit("replace", "a", x)) == "xb"
    assert names(PassEdit("remove", "a")) == "b"
    assert names(PassEdit("remove", "a"), PassEdit("remove", "b")) == ""


def test_passes_inserted_at_one_place_run_in_the_order_written():
    x, y, z = step("x"), step("y"), step("z")
    assert names(PassEdit("insert", "gap", x), PassEdit("insert", "x", y)) == "axyb"
    assert names(PassEdit("insert", "gap", x), PassEdit("insert", "gap", y)) == "axyb"
    assert names(PassEdit("insert", "b", x, "before"), PassEdit("insert", "b", y, "before")) == "axyb"
    assert names(*(PassEdit("insert", "gap", s) for s in (x, y, z))) == "axyzb"
    # y follows x wherever x is, and z comes after both
    assert names(PassEdit("insert", "gap", x), PassEdit("insert", "x", y), PassEdit("insert", "gap", z)) == "axyzb"
    assert names(PassEdit("insert", "a", x), PassEdit("insert", "gap", y), PassEdit("insert", "a", z)) == "axzyb"
    removed = PassEdit("insert", "a", x), PassEdit("remove", "x"), PassEdit("insert", "a", y)
    assert names(*removed) == "ayb"


def test_a_backend_written_for_contract_1_keeps_its_order():
    x, y = step("x"), step("y")
    assert names(PassEdit("insert", "gap", x), PassEdit("insert", "gap", y), contract=1) == "ayxb"
    assert names(PassEdit("insert", "gap", x), PassEdit("insert", "x", y), contract=1) == "axyb"


@pytest.mark.parametrize(
    "edit", [PassEdit("insert", "c", step("x")), PassEdit("remove", "c"), PassEdit("replace", "", step("x"))]
)
def test_a_place_that_is_not_there_names_those_that_are(edit):
    with pytest.raises(
        PluginError, match=rf"tile-acme 1.5\): .* at {edit.at!r}, which the pipeline does not have"
    ) as caught:
        names(edit)
    assert caught.value.expected == "one of a, gap, b, end"
    assert "pip install --upgrade tile-acme" in caught.value.hint


def test_a_pass_that_left_its_family_is_named_with_what_to_do():
    with pytest.raises(PluginError, match="'add_branch_barriers', which the pipeline does not have") as caught:
        names(PassEdit("insert", "add_branch_barriers", step("x")))
    assert "insert it after insert_barriers): one of a, gap" in caught.value.expected


def test_a_feature_that_asks_for_such_a_pass_is_warned_of():
    warn_of_moved([step("a")], {"atomics"}, OWNER)
    warn_of_moved([step("add_branch_barriers")], {"closed_branches"}, OWNER)
    with pytest.warns(DeprecationWarning, match=r"tile-acme 1.5\): its feature 'closed_branches' needs the pass"):
        warn_of_moved([step("a")], {"closed_branches"}, OWNER)


def test_a_place_of_nearly_that_name_is_guessed():
    with pytest.raises(PluginError) as caught:
        names(PassEdit("remove", "gapp"))
    assert caught.value.expected == "'gap', or another of a, gap, b, end"


@pytest.mark.parametrize(
    "edit",
    [
        PassEdit("remove", "gap"),
        PassEdit("replace", "gap", step("x")),
        PassEdit("replace", "a"),
        PassEdit("insert", "a"),
        PassEdit("append", "a", step("x")),
        PassEdit("remove", "a", step("x")),
    ],
)
def test_edits_that_mean_nothing(edit):
    with pytest.raises(PluginError, match=r"tile-acme 1\.5.* makes an invalid pipeline edit"):
        names(edit)


def test_families():
    assert family_steps("loops") is STEPS
    assert [s.name for s in family_steps("none")] == ["all", "outline_kernels"]
    with pytest.raises(LoweringError, match="no family of passes is called 'simt9'"):
        family_steps("simt9")


def test_names_are_unique_and_say_where_the_pass_is():
    names_of_steps = [s.name for s in STEPS]
    assert len(set(names_of_steps)) == len(names_of_steps)
    assert [s.name for s in STEPS if isinstance(s, ExtensionPoint)] == [
        "before_tile_ops", "after_tile_ops", "before_vectorize", "before_outline",
    ]  # fmt: skip
    for step_or_gap in STEPS:
        if isinstance(step_or_gap, Pass):
            assert step_or_gap.run.__module__.rpartition(".")[2] == step_or_gap.name


@T.prim_func
def kernel(A: T.Tensor((4,), "int32")):
    with T.Kernel(1):
        T.fill(A, 1)


def run(monkeypatch, steps):
    resolved, target = manager.resolve("cpu")
    backend = replace(resolved, lowering=replace(resolved.lowering, edits=()))
    monkeypatch.setattr(pipeline, "family_steps", lambda name: steps)
    env = PassEnv(target, backend.target.capabilities(target))
    return lower(kernel.ir, backend, env), env


def test_passes_run_in_order_and_are_timed(monkeypatch):
    seen = []

    def spy(name):
        return Pass(name, lambda func, env: seen.append(name) or func)

    after, env = run(monkeypatch, [spy("one"), ExtensionPoint("gap"), spy("two")])
    assert after.same_as(kernel.ir)
    assert seen == ["one", "two"]
    assert [row["name"] for row in env.report["passes"]] == ["contract_sums", *seen]
    assert all(row["ms"] >= 0 for row in env.report["passes"])


def test_a_failing_pass_is_named_and_errors_of_tilecore_pass(monkeypatch):
    def fails(func, env):
        raise ZeroDivisionError("by nothing")

    def refuses(func, env):
        raise UnsupportedError("not here")

    with pytest.raises(LoweringError, match="pass bad failed on kernel: ZeroDivisionError: by nothing") as caught:
        run(monkeypatch, [step("good"), Pass("bad", fails)])
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    with pytest.raises(UnsupportedError, match="not here") as refused:
        run(monkeypatch, [Pass("bad", refuses)])
    assert refused.value.location.file == __file__, "a refusal without a place is at the kernel"


def test_the_last_pass_may_make_a_module(monkeypatch):
    monkeypatch.setenv("TILECORE_CHECK", "1")
    split = Pass("split", lambda func, env: IRModule(dict(outline_kernels(func, env).functions)), leaves=(Workspaces,))
    module, _ = run(monkeypatch, [split])
    assert isinstance(module, IRModule)


def without_parameters(func, env):
    return PrimFunc([], func.body, func.ret_type, func.attrs, func.span)


def renamed(func, env):
    (param,) = func.params
    other = tirx.decl_buffer(param.shape, str(param.dtype), "B", layout=None)
    body = structural_mutate(func.body, (Var, lambda var, mutator: other if var.same_as(param) else var))
    return PrimFunc([other], body, func.ret_type, func.attrs, func.span)


def one_more(func, env):
    return PrimFunc([*func.params, Var("n", "int32")], func.body, func.ret_type, func.attrs, func.span)


def without_attributes(func, env):
    return PrimFunc(list(func.params), func.body, func.ret_type, None, func.span)


def other_name(func, env):
    return func.with_attr("global_symbol", "other")


def in_module(change):
    def run_on_kernels(module, env):
        return IRModule({str(var.name_hint): change(each, env) for var, each in module.functions.items()})

    return run_on_kernels


KEEPS = [
    (without_parameters, "kernel 'kernel' has lost the parameters A", "()", "(A: buffer)"),
    (renamed, "kernel 'kernel' has lost the parameters A", "(B: buffer)", "(A: buffer)"),
    (one_more, "kernel 'kernel' has other parameters", "(A: buffer, n: int32)", "(A: buffer)"),
    (without_attributes, "kernel 'kernel' has lost the attributes global_symbol", "none", "global_symbol"),
    (other_name, "kernel 'kernel' has another name", "other", "kernel"),
]


@pytest.mark.parametrize(
    ("change", "message", "found", "expected"), KEEPS, ids=lambda value: getattr(value, "__name__", "")
)
def test_a_pass_that_drops_parameters_or_attributes_is_named(monkeypatch, change, message, found, expected):
    monkeypatch.setenv("TILECORE_CHECK", "1")
    with pytest.raises(LoweringError) as caught:
        run(monkeypatch, [step("good"), Pass("drop", change), step("later")])
    assert caught.value.message == f"after pass drop: {message}"
    assert (caught.value.found, caught.value.expected) == (found, expected)
    assert caught.value.location.file == __file__


IN_MODULE = [
    (without_parameters, r"kernel 'kernel_kernel' has lost the parameters A"),
    (without_attributes, r"kernel 'kernel_kernel' has lost the attributes global_symbol, tile.block_vars, tile.grid, "),
    (lambda func, env: func.without_attr("tile.grid"), r"kernel 'kernel_kernel' has lost the attributes tile.grid"),
]


@pytest.mark.parametrize(("change", "message"), IN_MODULE)
def test_a_pass_that_drops_them_behind_outline_kernels_is_named(monkeypatch, change, message):
    monkeypatch.setenv("TILECORE_CHECK", "1")
    steps = [step("good"), OUTLINE_KERNELS, Pass("drop", in_module(change))]
    with pytest.raises(LoweringError, match=f"after pass drop: {message}"):
        run(monkeypatch, steps)


def test_a_pass_that_loses_a_kernel_or_makes_kernels_without_attributes_is_named(monkeypatch):
    monkeypatch.setenv("TILECORE_CHECK", "1")
    lose = Pass("lose", lambda module, env: IRModule({}))
    with pytest.raises(LoweringError, match="after pass lose: the module has lost kernel kernel_kernel"):
        run(monkeypatch, [OUTLINE_KERNELS, lose])
    join = Pass("join", lambda module, env: next(iter(module.functions.values())))
    with pytest.raises(LoweringError, match="after pass join: the module is one function again"):
        run(monkeypatch, [OUTLINE_KERNELS, join])
    split = Pass("split", lambda func, env: IRModule({"kernel": func}))
    with pytest.raises(LoweringError, match=r"after pass split: .* lacks the attributes .*tile\.grid"):
        run(monkeypatch, [split])


def test_a_pass_of_a_backends_own_may_take_its_attributes_away(monkeypatch):
    monkeypatch.setenv("TILECORE_CHECK", "1")
    add = Pass("add", lambda func, env: func.with_attr("acme.plan", 1))
    use = Pass("use", lambda func, env: func.without_attr("acme.plan"))
    run(monkeypatch, [add, use])


def with_statement(call):
    return lambda func, env: func.with_body(seq([Evaluate(call(func)), func.body]))


X = const(1.0, "float32")
CALLS = [
    (
        lambda func: thread_call(SHUFFLE, [X, 1, "xor"], dtype="float32"),
        'simt.shuffle(T.float32(1.0), 1, "xor"): 3 arguments',
        "simt.shuffle(value, lane, kind, width): 4 arguments",
    ),
    (
        lambda func: thread_call(WAIT_ASYNC, []),
        "simt.wait_async(): 0 arguments",
        "simt.wait_async(groups): 1 argument",
    ),
    (
        lambda func: tile_call("fill", [X]),
        "tile.fill(T.float32(1.0)): 1 argument",
        "tile.fill(dst, value): 2 arguments",
    ),
]


@pytest.mark.parametrize(("call", "found", "expected"), CALLS)
def test_a_pass_that_writes_a_wrong_call_is_named(monkeypatch, call, found, expected):
    monkeypatch.setenv("TILECORE_CHECK", "1")
    with pytest.raises(LoweringError) as caught:
        run(monkeypatch, [step("good"), Pass("write", with_statement(call)), step("later")])
    name = found.partition("(")[0]
    assert caught.value.message == f"after pass write: kernel 'kernel' has a wrong call of {name}"
    assert (caught.value.found, caught.value.expected) == (found, expected)
    assert caught.value.location.file == __file__


def test_the_package_of_a_backends_pass_is_named(monkeypatch):
    monkeypatch.setenv("TILECORE_CHECK", "1")
    backend, target = manager.resolve("cpu")
    edits = (PassEdit("insert", "before_outline", Pass("drop", without_attributes)),)
    parts = {field.name: getattr(backend, field.name) for field in fields(Backend)}
    acme = Backend(**{**parts, "package": "tile-acme", "lowering": replace(backend.lowering, edits=edits)})
    env = PassEnv(target, backend.target.capabilities(target), implementations_of(acme))
    with pytest.raises(LoweringError, match="after pass drop: ") as caught:
        lower(kernel.ir, acme, env)
    assert "the pass is of package tile-acme" in caught.value.hint


def test_targets_without_threads_refuse_code_of_some_threads():
    @T.prim_func
    def kernel(X: T.Tensor((128,), "float32"), Y: T.Tensor((128,), "float32")):
        with T.Kernel(1, threads=128):
            with code_of_threads(0, 64):
                T.copy(X, Y)

    for attempt in (lambda: tilecore.compile(kernel, target="cpu"), lambda: Program(kernel)):
        with pytest.raises(UnsupportedError, match="code for some threads of a block") as caught:
            attempt()
        assert caught.value.location is not None
        assert "-cache_bytes" not in caught.value.found, "not the whole text of the target"
