"""Pipelines: edits by name at gaps and passes, what is refused, and the runner."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

import tilecore
import tilecore.language as T
from tilecore.contract.passes import ExtensionPoint, Pass, PassEdit, PassEnv
from tilecore.errors import LoweringError, PluginError, UnsupportedError
from tilecore.interpreter.program import Program
from tilecore.ir.nodes import IRModule
from tilecore.lowering import pipeline
from tilecore.lowering.edits import edited, warn_of_moved
from tilecore.lowering.loops.pipeline import STEPS
from tilecore.lowering.pipeline import family_steps, lower
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
    backend, target = manager.resolve("cpu")
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
    module, _ = run(monkeypatch, [Pass("split", lambda func, env: IRModule({"kernel": func}))])
    assert isinstance(module, IRModule)


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
