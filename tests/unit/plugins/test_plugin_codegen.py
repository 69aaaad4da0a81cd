"""A plugin's code generator and compiler: what goes wrong there names the package, and nothing made is lost."""

from __future__ import annotations

import json

import numpy as np
import pytest
from host_plugin import compiled, registered, twice
from kernel_caches import cached_entries

import tilecore
import tilecore.language as T
from tilecore.backends.cpu import codegen, toolchain
from tilecore.backends.cpu.adapter import NativeAdapter
from tilecore.errors import LimitError, PluginError, UnsupportedError

pytestmark = pytest.mark.usefixtures("fresh_caches")

A = np.arange(16, dtype=np.float32)
SYMBOL = "the symbol"


def works(kernel):
    b = np.zeros(16, np.float32)
    kernel(A, b)
    np.testing.assert_array_equal(b, 2 * A)


def raising(module, target):
    raise KeyError("opcode")


def refusing(module, target):
    raise UnsupportedError("no such instruction")


def saying(**facts):
    """A code generator that says something else of the kernels; SYMBOL stands for the name of the only one."""

    def build(module, target):
        (symbol,) = (str(var.name_hint) for var in module.functions)
        said = {name: text.replace(SYMBOL, symbol) if isinstance(text, str) else text for name, text in facts.items()}
        return {**codegen.build(module, target), **said}

    return build


GENERATORS = {
    "raises": (raising, "raised KeyError: 'opcode'"),
    "is not registered": (None, "raised ValueError: Cannot find global function target.build.tilecore_acme"),
    "nothing": (lambda module, target: None, "returned a wrong value"),
    "a number": (lambda module, target: 7, "returned a wrong value"),
    "no text": (lambda module, target: "  \n", "returned a wrong value"),
    "half a dict": (lambda module, target: {"source": "x"}, "returned a wrong value"),
    "a dict of other things": (lambda module, target: {"source": "x", "entries": 3}, "returned a wrong value"),
    "entries that are no JSON": (saying(entries="{twice: 3}"), "returned a wrong value: its entries are no JSON"),
    "entries that are a list": (saying(entries="[1]"), "returned a wrong value: its entries are wrong"),
    "an entry of no kernel": (
        saying(entries=json.dumps({"thrice": {}})),
        "returned a wrong value: its entries are wrong",
    ),
    "memory in words": (
        saying(entries=json.dumps({SYMBOL: {"shared_bytes": "1K"}})),
        "returned a wrong value: its entries are wrong",
    ),
    "attributes in a list": (
        saying(entries=json.dumps({SYMBOL: {"attributes": []}})),
        "returned a wrong value: its entries are wrong",
    ),
    "figures in words": (
        saying(entries=json.dumps({SYMBOL: {"figures": {"registers": "12"}}})),
        "returned a wrong value: its entries are wrong",
    ),
    "one note for a list": (
        saying(entries=json.dumps({SYMBOL: {"notes": "a note"}})),
        "returned a wrong value: its entries are wrong",
    ),
    "a fact of a newer core": (
        saying(entries=json.dumps({SYMBOL: {"queue": 1}})),
        "returned a wrong value: its entries are wrong",
    ),
}


@pytest.mark.parametrize("case", GENERATORS)
def test_a_broken_code_generator(fresh_caches, case):
    build, message = GENERATORS[case]
    works(tilecore.compile(twice, target="cpu"))
    entries = cached_entries(fresh_caches)
    assert entries
    with pytest.raises(PluginError) as caught:
        compiled(twice, build=build)
    text = str(caught.value)
    assert 'target "acme" (package tile-acme 1.5): the code generator target.build.tilecore_acme ' + message in text
    assert "pip install --upgrade tile-acme" in text
    assert cached_entries(fresh_caches) == entries, "nothing of it is kept, and nothing of others is lost"
    works(tilecore.compile(twice, target="cpu"))
    works(compiled(twice))  # the same package, mended


def test_what_the_code_generator_says_of_a_kernel():
    fact = {"figures": {"registers_by_estimate": 300}, "notes": ["16 lanes"], "slow": ["it has 256 registers"]}
    kernel = compiled(twice, build=saying(entries=json.dumps({SYMBOL: fact})))
    symbol, explanation = kernel.artifact.entries[0].symbol, kernel.explain()
    assert explanation.functions[symbol]["registers_by_estimate"] == 300
    lines = str(explanation).splitlines()
    assert any("300 registers by estimate" in line for line in lines)
    assert f"  {symbol}: 16 lanes" in lines
    assert f"  slow: {symbol}: it has 256 registers" in lines


def test_a_refusal_of_the_code_generator_passes():
    with pytest.raises(UnsupportedError, match="no such instruction") as caught:
        compiled(twice, build=refusing)
    assert not isinstance(caught.value, PluginError)


def test_more_shared_memory_than_there_is(fresh_caches):
    """A family that does not place what is shared leaves it to the code generator to count it."""

    @T.prim_func
    def turned(A: T.Tensor((4096,), "float32"), B: T.Tensor((4096,), "float32")):
        with T.Kernel(1):
            tile = T.alloc_shared((4096,), "float32")
            T.copy(A, tile)
            for i in T.Parallel(4096):
                B[i] = tile[4095 - i]

    with pytest.raises(LimitError, match=r"needs 164\d\d bytes of shared memory") as caught:
        compiled(turned, facts={"shared_bytes": 10000})
    assert "at most 10000 bytes on acme" in caught.value.expected
    assert caught.value.found == "tile 16384"
    assert "tile = T.alloc_shared" in str(caught.value)
    assert cached_entries(fresh_caches) == []
    compiled(turned, facts={"shared_bytes": 20000})


def other_format(request):
    return toolchain.build(request)[0], "elf"


def test_a_binary_of_a_format_that_nobody_loads(fresh_caches):
    with pytest.raises(PluginError, match=r"tile-acme 1\.5.* Toolchain\.build made 'elf', which") as caught:
        compiled(twice, tools={"build": other_format})
    assert caught.value.expected == "one of object"
    assert cached_entries(fresh_caches) == []


DESCRIPTIONS = {
    "raised KeyError: 'stack'": lambda binary: {}["stack"],
    "returned a wrong value": lambda binary: {"twice_kernel": ["registers"]},
}


@pytest.mark.parametrize("message", DESCRIPTIONS)
def test_a_binary_that_cannot_be_described_runs(message):
    with registered(tools={"describe": DESCRIPTIONS[message]}):
        kernel = tilecore.compile(twice, target="acme")
        with pytest.raises(PluginError, match=rf"tile-acme 1\.5.* Toolchain\.describe {message}"):
            kernel.explain()
        works(kernel)


class Elsewhere(NativeAdapter):
    """As on a machine whose device cannot be asked."""

    def available(self, target):
        raise OSError("the bus is gone")


def test_an_adapter_that_breaks_when_the_kernel_is_loaded(fresh_caches):
    with pytest.raises(PluginError, match=r"tile-acme 1\.5.*available raised OSError: the bus is gone"):
        compiled(twice, adapter=Elsewhere)
    works(tilecore.compile(twice, target="cpu"))
