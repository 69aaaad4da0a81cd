"""``tilecore port --target``: what the target does not have, with the words of the compiler for what to write."""

from __future__ import annotations

from dataclasses import replace
from textwrap import dedent
from types import SimpleNamespace

import pytest

from tilecore.contract.alternatives import FEATURES
from tilecore.contract.records import Capabilities
from tilecore.ir.names import LEAVE_THE_CHOICE
from tilecore.ir.tile_op_table import TILE_OPS
from tilecore.plugins import manager
from tilecore.porting import targets
from tilecore.porting.judge import judge_file
from tilecore.porting.targets import ChosenTarget


def findings(tmp_path, text, target):
    path = tmp_path / "program.py"
    path.write_text(dedent(text))
    return judge_file(path, target).findings


def chosen(monkeypatch, without=(), features=None, others=None):
    """The target cpu without some operations or features; others: what other targets can do, by kind."""
    target = ChosenTarget("cpu")
    have = target.capabilities
    features = have.features if features is None else frozenset(features)
    target.capabilities = replace(have, tile_ops=have.tile_ops - set(without), features=features)
    monkeypatch.setattr(ChosenTarget, "_others", others or {})
    return target


def test_an_operation_of_other_targets(monkeypatch):
    full = ChosenTarget("cpu").capabilities
    small = replace(full, tile_ops=frozenset({"copy"}))
    others = {"one": full, "two": full, "three": small}
    target = chosen(monkeypatch, without={"gemm"}, others=others)
    assert target.refusal(("language", "gemm")) == (
        "target cpu does not have T.gemm; one and two do",
        f"use {TILE_OPS['gemm'].instead}",
    )
    assert target.refusal(("language", "copy")) is None
    assert target.refusal(("layout", "gemm")) is None


def test_an_operation_that_no_other_target_has(monkeypatch):
    problem, _ = chosen(monkeypatch, without={"gemm"}).refusal(("language", "gemm"))
    assert problem == "target cpu does not have T.gemm"


def test_names_of_one_operation_with_several_kinds(monkeypatch):
    target = chosen(monkeypatch, without={"reduce"})
    assert target.refusal(("language", "reduce_sum")) == (
        "target cpu does not have T.reduce_sum",
        f"use {TILE_OPS['reduce'].instead}",
    )
    assert target.refusal(("language", "reducer_update")) is None


def test_a_feature_that_an_operation_needs(monkeypatch):
    target = chosen(monkeypatch, features={"print"})
    problem, instead = target.refusal(("language", "atomic_add"))
    assert problem == "target cpu does not have T.atomic_add"
    assert instead == f"use {FEATURES['atomics']}"


def test_source_text(monkeypatch):
    able = replace(ChosenTarget("cpu").capabilities, features=frozenset({"source"}))
    target = chosen(monkeypatch, others={"one": able})
    assert target.refusal(("language", "import_source")) == (
        "T.import_source is for targets that compile source text, which target cpu does not; one does",
        f"use {FEATURES['source']}",
    )


class _Offer(SimpleNamespace):
    """What a backend declares of the names that it adds."""


def offer(kind, *names):
    return _Offer(kind=kind, language=dict.fromkeys(names, "x:y"), aliases={}, modules={})


@pytest.fixture
def with_offers(monkeypatch):
    """Two backends that add names to the language."""
    offers = [offer("cpu"), offer("one", "alloc_barrier", "spin"), offer("two", "spin")]
    monkeypatch.setattr(targets.manager, "offers", lambda: iter(offers))
    spec = SimpleNamespace(refused_names=lambda target: {})
    monkeypatch.setattr(targets.manager, "target_spec", lambda kind: spec)


def test_a_name_of_other_targets_with_advice_of_the_compiler(with_offers):
    problem, instead = ChosenTarget("cpu").refusal(("language", "alloc_barrier"))
    assert problem == "T.alloc_barrier belongs to the target 'one': target cpu does not have it"
    assert "T.Pipelined" in instead
    assert "tilecore explain" not in instead
    assert "source" not in instead, "cpu compiles none"


def test_a_name_of_several_targets_without_advice_of_its_own(with_offers):
    assert ChosenTarget("cpu").refusal(("language", "spin")) == (
        "T.spin belongs to the target 'one' or 'two': target cpu does not have it",
        LEAVE_THE_CHOICE,
    )


def test_a_name_that_no_target_has_is_not_said_to_be_of_another(with_offers, monkeypatch):
    spec = SimpleNamespace(refused_names=lambda target: {"spin": ("needs a newer chip", "leave it out")})
    monkeypatch.setattr(targets.manager, "target_spec", lambda kind: spec)
    assert ChosenTarget("cpu").refusal(("language", "spin")) == ("T.spin needs a newer chip", "leave it out")


def test_barriers_on_the_processor(tmp_path):
    pytest.importorskip("tile_cuda")
    text = "import tilelang.language as T\nT.alloc_barrier(1)\nT.alloc_tmem((1,), T.float32)\n"
    barrier, memory = findings(tmp_path, text, ChosenTarget("cpu"))
    assert "belongs to the target 'cuda'" in barrier.problem
    assert "T.sync_threads() is a barrier of the block" in barrier.instead
    assert "belongs to" not in memory.problem, "no target of cuda has it either"


def test_what_the_installed_targets_can_do():
    """The real ones: none of them is asked to compile or run anything."""
    others = ChosenTarget("cpu")._others
    assert set(others) == set(manager.kinds()) - {"cpu"}
    assert all(isinstance(capabilities, Capabilities) for capabilities in others.values())
