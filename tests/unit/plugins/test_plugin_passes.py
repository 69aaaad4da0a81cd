"""A plugin's passes and tile operations run behind the guard: what goes wrong there names package and part."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import tilecore
import tilecore.language as T
from tilecore.backends.cpu import codegen, lowering, target, toolchain
from tilecore.backends.cpu.adapter import NativeAdapter
from tilecore.codegen.registration import register_codegen
from tilecore.errors import PluginError, UnsupportedError
from tilecore.jit.compile import _kernels
from tilecore.lowering.implementation import TileOpImpl
from tilecore.lowering.passes import Pass, PassEdit
from tilecore.plugins import manager
from tilecore.plugins.hookspecs import hookimpl


class Plugin:
    """Computes as cpu does, with edits and implementations of its own."""

    function = "target.build.tilecore_acme"

    def __init__(self, edits=(), implementations=()):
        self.lowering = replace(lowering.LOWERING, edits=edits, implementations=implementations)

    @hookimpl
    def tilecore_target(self):
        return replace(target.SPEC, kind="acme", aliases={})

    @hookimpl
    def tilecore_lowering(self):
        return self.lowering

    @hookimpl
    def tilecore_codegen(self):
        register = lambda: register_codegen(self.function, codegen.build)  # noqa: E731
        return replace(codegen.CODEGEN, function=self.function, register=register)

    @hookimpl
    def tilecore_toolchain(self):
        return toolchain.TOOLCHAIN

    @hookimpl
    def tilecore_adapters(self):
        return [NativeAdapter()]


@T.prim_func
def twice(A: T.Tensor((16,), "float32"), B: T.Tensor((16,), "float32")):
    with T.Kernel(1):
        tile = T.alloc_shared((16,), "float32")
        T.copy(A, tile)
        for i in T.Parallel(16):
            B[i] = tile[i] * 2.0


@pytest.fixture(autouse=True)
def no_cache(monkeypatch):
    monkeypatch.setenv("TILECORE_DISABLE_CACHE", "1")
    _kernels.clear()


def compiled(**answers):
    with manager.register(Plugin(**answers), package="tile-acme", version="1.5"):
        return tilecore.compile(twice, target="acme")


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


WRONG = {
    "pass swizzle_banks returned the wrong thing": {
        "edits": [PassEdit("insert", "after_tile_ops", Pass("swizzle_banks", lambda func, env: None))]
    },
    "bulk of T.copy: matches returned the wrong thing": {"implementations": copy_that(matches=lambda call, env: True)},
    "bulk of T.copy: lower returned the wrong thing": {"implementations": copy_that(lower=lambda call, env: "text")},
    "Lowering.edits holds something else": {"edits": ["unroll_loops"]},
    "Lowering.implementations holds something else": {"implementations": [broken]},
}


@pytest.mark.parametrize("message", WRONG)
def test_answers_of_another_kind_are_the_plugins_fault(message):
    with pytest.raises(PluginError, match=message) as caught:
        compiled(**WRONG[message])
    assert "tile-acme 1.5" in str(caught.value)


def test_other_targets_go_on():
    with manager.register(Plugin(edits=EDITS), package="tile-acme"):
        with pytest.raises(PluginError):
            tilecore.compile(twice, target="acme")
        a, b = np.ones(16, np.float32), np.zeros(16, np.float32)
        tilecore.compile(twice, target="cpu")(a, b)
    assert (b == 2).all()
