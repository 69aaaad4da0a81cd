"""State between passes: dataclasses by their type, with one author each, and what passes declare of them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pytest

import tilecore.language as T
from tilecore.contract.implementation import TileOpImpl
from tilecore.contract.passes import ExtensionPoint, Pass, PassEnv
from tilecore.contract.records import Capabilities
from tilecore.contract.state import BufferLayouts, PassState, SharedRequests, Workspaces
from tilecore.errors import LoweringError
from tilecore.lowering import pipeline
from tilecore.lowering.declared_state import needed_too_early, wrong_publishers
from tilecore.lowering.edits import edited
from tilecore.lowering.simt.state import InferredLayouts, SharedPlan
from tilecore.lowering.simt.thread_env import thread_env
from tilecore.lowering.simt.tile_ops.thread_registers import Binding
from tilecore.lowering.tile_ops.registry import implementations_of
from tilecore.plugins import manager
from tilecore.target import Target


@dataclass
class Plan(PassState, by="decide"):
    number: int = 0


@dataclass
class Notes(PassState, collected=True):
    texts: list[str] = field(default_factory=list)


def environment() -> PassEnv:
    none: frozenset[str] = frozenset()
    return PassEnv(Target("acme"), Capabilities(none, none, none))


# -- publish and state ------------------------------------------------------------------------------------------------


def test_what_is_published_is_found_by_its_type():
    env = environment()
    plan = Plan(3)
    assert env.find_state(Plan) is None
    env.publish(plan)
    assert env.state(Plan) is plan
    assert env.find_state(Plan) is plan


def test_what_no_pass_has_published_names_the_pass_that_should():
    env = environment()
    env.states.begin("use")
    with pytest.raises(LoweringError, match="pass use reads Plan, which no pass has published") as caught:
        env.state(Plan)
    assert caught.value.expected == "pass decide before it"


def test_collected_state_is_created_by_its_first_use():
    env = environment()
    env.state(Notes).texts.append("one")
    assert env.state(Notes).texts == ["one"]
    assert environment().state(Notes).texts == []


def test_two_passes_do_not_publish_the_same_class():
    env = environment()
    env.states.begin("decide")
    env.publish(Plan(1))
    env.publish(Plan(2))  # the same pass may
    env.states.begin("other")
    with pytest.raises(LoweringError, match="pass other publishes Plan, which pass decide has published"):
        env.publish(Plan(3))
    assert env.state(Plan).number == 2


# -- what passes declare ----------------------------------------------------------------------------------------------


@T.prim_func
def kernel(A: T.Tensor((4,), "int32")):
    with T.Kernel(1):
        T.fill(A, 1)


def decide(func, env):
    env.publish(Plan(1))
    return func


def use(func, env):
    env.note("numbers", env.state(Plan).number)
    return func


def collect(func, env):
    env.state(Notes).texts.append("one")
    return func


def run(monkeypatch, *steps: Pass, implementations=()) -> PassEnv:
    resolved, target = manager.resolve("cpu")
    backend = replace(resolved, lowering=replace(resolved.lowering, edits=()))
    monkeypatch.setattr(pipeline, "family_steps", lambda name: steps)
    env = PassEnv(target, backend.target.capabilities(target), implementations)
    pipeline.lower(kernel.ir, backend, env)
    return env


def test_declared_state_passes_the_check(monkeypatch):
    monkeypatch.setenv("TILECORE_CHECK", "1")
    steps = Pass("decide", decide, leaves=(Plan,)), Pass("use", use, needs=(Plan,))
    env = run(monkeypatch, *steps, Pass("collect", collect, leaves=(Notes,)))
    assert env.report["numbers"] == [1]
    assert env.state(Plan).number == 1  # behind the last pass nothing is checked


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ((Pass("decide", decide),), "pass decide publishes Plan, which it does not declare"),
        ((Pass("decide", decide, leaves=(Plan,)), Pass("use", use)), "pass use reads Plan, which it does not declare"),
        ((Pass("collect", collect),), "pass collect reads Notes, which it does not declare"),
    ],
    ids=["publishes", "reads", "collects"],
)
def test_undeclared_state_is_an_error_of_the_check(monkeypatch, steps, message):
    monkeypatch.setenv("TILECORE_CHECK", "0")
    run(monkeypatch, *steps)
    monkeypatch.setenv("TILECORE_CHECK", "1")
    with pytest.raises(LoweringError, match=message):
        run(monkeypatch, *steps)


def test_a_pass_that_runs_implementations_may_use_what_they_declare(monkeypatch):
    monkeypatch.setenv("TILECORE_CHECK", "1")
    implementation = TileOpImpl("fill", "noted", lambda call, env: None, leaves=(Notes,))
    run(monkeypatch, Pass("collect", collect, runs_implementations=True), implementations=(implementation,))
    with pytest.raises(LoweringError, match="pass collect reads Notes"):
        run(monkeypatch, Pass("collect", collect), implementations=(implementation,))


def test_needs_come_after_leaves():
    leaves, needs = Pass("decide", decide, leaves=(Plan,)), Pass("use", use, needs=(Plan,))
    assert needed_too_early([leaves, ExtensionPoint("here"), needs], ()) == []
    assert needed_too_early([needs, leaves], ()) == ["pass use needs Plan, which no pass before it leaves"]
    implementation = TileOpImpl("fill", "planned", lambda call, env: None, needs=(Plan,))
    lowering = Pass("lower", use, runs_implementations=True)
    assert needed_too_early([leaves, lowering], (implementation,)) == []
    assert needed_too_early([lowering], (implementation,)) == ["pass lower needs Plan, which no pass before it leaves"]


def test_only_the_author_leaves_a_class():
    assert wrong_publishers([Pass("decide", decide, leaves=(Plan, Notes))]) == []
    assert wrong_publishers([Pass("use", use, leaves=(Plan,))]) == ["pass use leaves Plan, which decide publishes"]


@pytest.mark.parametrize("target", ["cpu", "cuda", "tpu", "opencl"])
def test_every_pipeline_leaves_what_it_needs(target):
    if target not in manager.kinds():
        pytest.skip(f"the package of target {target} is not installed")
    backend, _ = manager.resolve(target)
    family = pipeline.family_steps(backend.lowering.family)
    steps = edited(family, backend.lowering.edits, backend, backend.target.contract)
    assert needed_too_early(steps, implementations_of(backend)) == []
    assert wrong_publishers(steps) == []


# -- PassEnv.facts, as contracts 1 and 2 have it ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "kind", "name", "value"),
    [
        ("layouts", BufferLayouts, "by_buffer", {"a": 1}),
        ("shared_alignment", SharedRequests, "alignment", {"a": 1024}),
        ("workspaces", Workspaces, "buffers", ["w"]),
        ("shared_offsets", SharedPlan, "places", {"a": (0, 64)}),
        ("inferred", InferredLayouts, "by_kernel", []),
    ],
)
def test_a_former_key_is_a_field_of_state(key, kind, name, value):
    env = environment()
    now = rf'env.facts\["{key}"\] is env.state\({kind.__name__}\).{name} of {kind.__module__} now'
    with pytest.warns(DeprecationWarning, match=now):
        env.facts[key] = value
    assert getattr(env.state(kind), name) is value
    with pytest.warns(DeprecationWarning, match=now):
        assert env.facts[key] is value
    assert key in env.facts


def test_a_former_key_that_is_not_published_is_missing():
    env = environment()
    assert "layouts" not in env.facts
    with pytest.warns(DeprecationWarning, match="env.facts"), pytest.raises(KeyError):
        env.facts["layouts"]
    with pytest.warns(DeprecationWarning, match="env.facts"):
        assert env.facts.get("layouts", "none") == "none"
    with pytest.warns(DeprecationWarning, match="env.facts"):
        env.facts.setdefault("shared_alignment", {})["a"] = 1024
    assert env.state(SharedRequests).alignment == {"a": 1024}


def test_former_keys_are_not_checked(monkeypatch):
    """Passes of contract 2 declare nothing."""
    monkeypatch.setenv("TILECORE_CHECK", "1")

    def former(func, env):
        env.facts["shared_alignment"] = {"a": 1024}
        return func

    with pytest.warns(DeprecationWarning, match="env.facts"):
        env = run(monkeypatch, Pass("former", former))
    assert env.state(SharedRequests).alignment == {"a": 1024}


def test_other_keys_are_the_backends_own(recwarn):
    env = environment()
    env.facts["acme.rings"] = [1]
    assert env.facts["acme.rings"] == [1]
    assert dict(env.facts) == {"acme.rings": [1]}
    del env.facts["acme.rings"]
    assert "acme.rings" not in env.facts
    assert not recwarn.list


def test_the_environment_of_a_thread():
    env = environment()
    binding = Binding(0, 32, None, {})
    of_thread = thread_env(env, binding)
    assert of_thread.binding is binding
    of_thread.publish(Plan(4))
    of_thread.note("notes", 1)
    of_thread.facts["own"] = 2
    assert (env.state(Plan).number, env.report, env.facts["own"]) == (4, {"notes": [1]}, 2)
    with pytest.warns(DeprecationWarning, match=r'env.facts\["binding"\] is env.binding now'):
        assert of_thread.facts["binding"] is binding
    assert "binding" not in env.facts
