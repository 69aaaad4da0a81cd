"""A plugin's passes and tile operations run behind the guard: what goes wrong there names package and part."""

from __future__ import annotations

import numpy as np
import pytest
from host_plugin import compiled as compiled_with
from host_plugin import registered, twice

import tilecore
import tilecore.language as T
from tilecore.compiler import CompileOptions, lower
from tilecore.contract.implementation import TileOpImpl
from tilecore.contract.passes import Pass, PassEdit
from tilecore.contract.state import Workspaces
from tilecore.errors import PluginError, UnsupportedError
from tilecore.jit.compile import _kernels
from tilecore.lowering.buffers.outline_kernels import outline_kernels
from tilecore.lowering.loops.copy_in_passing import COPY_IN_PASSING
from tilecore.lowering.loops.read_in_place import READ_IN_PLACE
from tilecore.plugins import manager


@pytest.fixture(autouse=True)
def no_cache(monkeypatch):
    monkeypatch.setenv("TILECORE_DISABLE_CACHE", "1")
    _kernels.clear()


def compiled(**answers):
    return compiled_with(twice, **answers)


def broken(*arguments):
    raise KeyError("bank")


def refusing(*arguments):
    raise UnsupportedError("tiles of 16 are too small")


def same(func, env):
    return func


def copy_that(**parts):
    return [TileOpImpl(**{"op": "copy", "name": "bulk", "lower": broken, "priority": 100, **parts})]


def test_a_plugin_without_faults_computes():
    kernel = compiled(
        edits=[PassEdit("insert", "after_tile_ops", Pass("mine", same))],
        implementations=copy_that(matches=lambda call, env: "never"),
    )
    a, b = np.arange(16, dtype=np.float32), np.zeros(16, np.float32)
    kernel(a, b)
    np.testing.assert_array_equal(b, a * 2)
    assert "mine" in [p["name"] for p in kernel.artifact.report["passes"]]


EDITS = [
    PassEdit("insert", "before_tile_ops", Pass("swizzle_banks", broken)),
    PassEdit("insert", "guard_bounds", Pass("swizzle_banks", broken), where="before"),
    PassEdit("replace", "unroll_loops", Pass("swizzle_banks", broken)),
]


@pytest.mark.parametrize("edit", EDITS, ids=["at a gap", "before a pass", "replacing"])
def test_an_exception_in_a_pass_names_package_and_pass(edit):
    with pytest.raises(PluginError) as caught:
        compiled(edits=[edit])
    text = str(caught.value)
    assert "tile-acme 1.5" in text
    assert "pass swizzle_banks raised KeyError: 'bank'" in text
    assert __file__ in text
    assert isinstance(caught.value.__cause__, KeyError)


PARTS = {
    "matches": {"matches": broken},
    "lower": {"lower": broken},
    "layouts": {"layouts": broken, "needs_layouts": True},
}


@pytest.mark.parametrize("part", PARTS)
def test_an_exception_in_an_implementation_names_package_and_part(part):
    with pytest.raises(PluginError) as caught:
        compiled(implementations=copy_that(**PARTS[part]))
    text = str(caught.value)
    assert "tile-acme 1.5" in text
    assert f"the implementation bulk of T.copy: {part} raised KeyError: 'bank'" in text
    assert isinstance(caught.value.__cause__, KeyError)


@pytest.mark.parametrize(
    "answers",
    [
        {"edits": [PassEdit("insert", "after_tile_ops", Pass("strict", refusing))]},
        {"implementations": copy_that(matches=refusing)},
        {"implementations": copy_that(lower=refusing)},
    ],
    ids=["pass", "matches", "lower"],
)
def test_a_refusal_passes_as_it_is(answers):
    with pytest.raises(UnsupportedError, match="tiles of 16 are too small") as caught:
        compiled(**answers)
    assert not isinstance(caught.value, PluginError)


def outline_early(func, env):
    return outline_kernels(func, env)


AT_NO_PASS = [PassEdit("insert", "unroll_loop", Pass("mine", same))]
WRONG = {
    "Lowering.edits: it edits the pipeline at 'unroll_loop', which the pipeline does not have": {"edits": AT_NO_PASS},
    "Lowering.edits: field 'where' of PassEdit is wrong": {
        "edits": [PassEdit("insert", "unroll_loops", Pass("mine", same), where="beside")]
    },
    "Lowering.edits: field 'run' of Pass is wrong": {
        "edits": [PassEdit("insert", "unroll_loops", Pass("mine", lambda func: func))]
    },
    "pass unpack_int4 takes a whole function": {
        "edits": [PassEdit("insert", "after_tile_ops", Pass("early", outline_early, leaves=(Workspaces,)))]
    },
    "its passes leave the function whole": {"edits": [PassEdit("remove", "outline_kernels")]},
    "Lowering.implementations: 'bulk' implements 'copyy', which is not a tile operation": {
        "implementations": copy_that(op="copyy")
    },
    "Lowering.implementations: field 'priority' of TileOpImpl is wrong": {
        "implementations": copy_that(priority="high")
    },
    "Lowering.implementations: field 'fragments' of TileOpImpl is wrong": {
        "implementations": copy_that(fragments=lambda call, env: {})
    },
    "bulk of T.copy: layouts returned a wrong value": {
        "implementations": copy_that(layouts=lambda call, env: {"A": 3}, needs_layouts=True)
    },
    "pass swizzle_banks returned a wrong value": {
        "edits": [PassEdit("insert", "after_tile_ops", Pass("swizzle_banks", lambda func, env: None))]
    },
    "bulk of T.copy: matches returned a wrong value": {"implementations": copy_that(matches=lambda call, env: True)},
    "bulk of T.copy: lower returned a wrong value": {"implementations": copy_that(lower=lambda call, env: "text")},
    "Lowering.edits holds an element of a wrong type": {"edits": ["unroll_loops"]},
    "Lowering.implementations holds an element of a wrong type": {"implementations": [broken]},
}


@pytest.mark.parametrize("message", WRONG)
def test_answers_of_another_kind_are_the_plugins_fault(message):
    with pytest.raises(PluginError, match=message) as caught:
        compiled(**WRONG[message])
    assert "tile-acme 1.5" in str(caught.value)


def test_two_edits_at_one_place_are_both_made():
    ran = []

    def noting(name):
        return Pass(name, lambda func, env: ran.append(name) or func)

    first, second = (PassEdit("insert", "after_tile_ops", noting(name)) for name in ("first", "second"))
    compiled(edits=[first, second])
    assert ran == ["first", "second"], "the order written"
    instead = [PassEdit("replace", "unroll_loops", noting(name)) for name in ("one", "other")]
    _kernels.clear()
    with pytest.raises(PluginError, match=r"tile-acme 1\.5.* at 'unroll_loops', which the pipeline does not have"):
        compiled(edits=instead)  # the first put another in its place


# -- implementations that are chosen when threads are known: of the family simt ----------------------------------------


@T.prim_func
def through_fragments(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32")):
    with T.Kernel(1, threads=32):
        a, b = T.alloc_fragment((64,), "float32"), T.alloc_fragment((64,), "float32")
        T.copy(A, a)
        T.copy(a, b)
        T.copy(b, B)


LATE = {
    "fragments raised KeyError: 'bank'": {"fragments": broken},
    "relate raised KeyError: 'bank'": {"relate": broken},
    "fragments returned a wrong value": {"fragments": lambda call, env, threads: {"a": "shared"}},
    "relate returned a wrong value": {"relate": lambda call, layouts: [*layouts]},
}


def on_fragments(call, env):
    return None if all(region.source.scope() == "local.fragment" for region in call.regions) else "not in registers"


@pytest.mark.parametrize("message", LATE)
def test_layouts_of_fragments(message):
    late = copy_that(matches=on_fragments, late=True, **LATE[message])
    with registered(family="simt", implementations=late):
        backend, target = manager.resolve("acme")
        with pytest.raises(PluginError) as caught:
            lower(through_fragments.ir, backend, target, CompileOptions())
    assert "tile-acme 1.5" in str(caught.value)
    assert f"the implementation bulk of T.copy: {message}" in str(caught.value)


def test_other_targets_go_on():
    with registered(edits=EDITS):
        with pytest.raises(PluginError):
            tilecore.compile(twice, target="acme")
        a, b = np.ones(16, np.float32), np.zeros(16, np.float32)
        tilecore.compile(twice, target="cpu")(a, b)
    assert (b == 2).all()


WRONG_STATE = ["Workspaces", (Workspaces, "Workspaces"), (int,), None, Workspaces]


@pytest.mark.parametrize("wrong_state", WRONG_STATE)
@pytest.mark.parametrize("field", ["needs", "leaves"])
def test_state_that_is_no_tuple_of_classes_is_refused(field, wrong_state):
    step = Pass("swizzle_banks", same, **{field: wrong_state})
    for answers, record in (
        ({"edits": [PassEdit("insert", "after_tile_ops", step)]}, "Pass"),
        ({"implementations": copy_that(**{field: wrong_state})}, "TileOpImpl"),
    ):
        with pytest.raises(PluginError, match=f"field '{field}' of {record} is wrong") as caught:
            compiled(**answers)
        assert caught.value.expected == "a tuple of classes that derive from PassState"
        assert "tile-acme" in caught.value.message


def test_runs_implementations_is_a_bool():
    step = Pass("swizzle_banks", same, runs_implementations="yes")
    with pytest.raises(PluginError, match="field 'runs_implementations' of Pass is wrong"):
        compiled(edits=[PassEdit("insert", "after_tile_ops", step)])


@T.prim_func
def dense(A: T.Tensor((16, 16), "float32"), B: T.Tensor((16, 16), "float32"), C: T.Tensor((16, 16), "float32")):
    with T.Kernel(1):
        a, b, c = (T.alloc_shared((16, 16), "float32") for _ in range(3))
        T.copy(A, a)
        T.copy(B, b)
        T.gemm(a, b, c, clear_accum=True)
        T.copy(c, C)


OPERANDS = {"raised KeyError: 'bank'": broken, "returned a wrong value": lambda call, env: "a"}


@pytest.mark.parametrize("fault", OPERANDS)
def test_operands_in_place(fault):
    implementation = TileOpImpl("gemm", "bulk", broken, priority=100, in_place=OPERANDS[fault])
    edit = PassEdit("insert", "separate_overlaps", READ_IN_PLACE)
    with pytest.raises(PluginError, match=f"the implementation bulk of T.gemm: in_place {fault}") as caught:
        compiled_with(dense, edits=[edit], implementations=[implementation])
    assert "tile-acme 1.5" in str(caught.value)


@pytest.mark.parametrize("fault", OPERANDS)
def test_operands_copied_in_passing(fault):
    implementation = TileOpImpl("gemm", "bulk", broken, priority=100, copies_in_passing=OPERANDS[fault])
    edit = PassEdit("insert", "separate_overlaps", COPY_IN_PASSING)
    with pytest.raises(PluginError, match=f"the implementation bulk of T.gemm: copies_in_passing {fault}") as caught:
        compiled_with(dense, edits=[edit], implementations=[implementation])
    assert "tile-acme 1.5" in str(caught.value)
