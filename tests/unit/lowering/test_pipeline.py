"""Pipelines: edits by name at gaps and passes, what is refused, and the runner."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

import tilecore.language as T
from tilecore.errors import LoweringError, PluginError, UnsupportedError
from tilecore.ir.nodes import IRModule
from tilecore.lowering import pipeline
from tilecore.lowering.loops.family import STEPS
from tilecore.lowering.passes import Gap, Pass, PassEdit, PassEnv, edited
from tilecore.lowering.pipeline import family_steps, lower
from tilecore.plugins import manager


def step(name):
    return Pass(name, lambda func, env: func)


OWNER = SimpleNamespace(kind="acme", package="tile-acme", version="1.5")
LIST = [step("a"), Gap("gap"), step("b"), Gap("end")]


def names(*edits):
    return "".join(made.name for made in edited(LIST, edits, OWNER))


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


def test_edits_are_made_in_order():
    x, y = step("x"), step("y")
    assert names(PassEdit("insert", "gap", x), PassEdit("insert", "x", y)) == "axyb"
    assert names(PassEdit("insert", "gap", x), PassEdit("insert", "gap", y)) == "ayxb", "the last is next to the gap"
    assert names(PassEdit("replace", "a", x), PassEdit("remove", "x")) == "b"
    assert [s.name for s in LIST] == ["a", "gap", "b", "end"], "the family's own list stays"


@pytest.mark.parametrize(
    "edit", [PassEdit("insert", "c", step("x")), PassEdit("remove", "c"), PassEdit("replace", "", step("x"))]
)
def test_a_place_that_is_not_there_names_those_that_are(edit):
    with pytest.raises(PluginError, match=rf"tile-acme 1.5\): .* at {edit.at!r}, which is not there") as caught:
        names(edit)
    assert caught.value.expected == "one of a, gap, b, end"
    assert "pip install --upgrade tile-acme" in caught.value.hint


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
    with pytest.raises(PluginError, match=r"tile-acme 1\.5.* makes a pipeline edit that means nothing"):
        names(edit)


def test_families():
    assert family_steps("loops") is STEPS
    assert [s.name for s in family_steps("none")] == ["all", "outline_kernels"]
    with pytest.raises(LoweringError, match="no family of passes called 'simt9'"):
        family_steps("simt9")


def test_names_are_unique_and_say_where_the_pass_is():
    found = [s.name for s in STEPS]
    assert len(set(found)) == len(found)
    assert [s.name for s in STEPS if isinstance(s, Gap)] == [
        "before_tile_ops", "after_tile_ops", "before_vectorize", "before_outline",
    ]  # fmt: skip
    for made in STEPS:
        if isinstance(made, Pass):
            module = made.run.__module__
            assert module.rpartition(".")[2] == made.name or module.startswith("tilecore.lowering.threads."), made.name


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

    made, env = run(monkeypatch, [spy("one"), Gap("gap"), spy("two")])
    assert made.same_as(kernel.ir)
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
    made, _ = run(monkeypatch, [Pass("split", lambda func, env: IRModule({"kernel": func}))])
    assert isinstance(made, IRModule)
