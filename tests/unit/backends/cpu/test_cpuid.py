"""What CPUID says is what Linux says of the same processor."""

from __future__ import annotations

import pytest

from tilecore.backends.cpu import cpuid, extensions, host_processor, systems

pytestmark = pytest.mark.skipif(
    (systems.host_system(), systems.host_machine()) != ("linux", "x86_64"), reason="needs /proc/cpuinfo of x86-64"
)


def test_cpuid_agrees_with_the_system():
    by_instruction, by_system = cpuid.fields(), host_processor._of_linux()
    for name in ("vendor_id", "cpu family", "model", "model name"):
        assert by_instruction[name] == by_system[name], name
    flags = set(by_instruction["flags"].split())
    assert flags == set(by_system["flags"].split()) & cpuid._FLAGS.keys()
    companions = {
        extensions._FLAG_OF_COMPANION.get(name, name) for all_of in extensions.COMPANIONS.values() for name in all_of
    }
    assert {*extensions.EXTENSIONS, *companions} - {"amx_tile", "amx_bf16", "amx_int8"} == cpuid._FLAGS.keys()


class Processor(cpuid._Processor):
    """One with these answers of CPUID and this XCR0."""

    def __init__(self, leaves, xcr0):
        self._leaves, self._xcr0 = leaves, lambda: xcr0
        self._largest = {0: 7, 7: 0, cpuid._EXTENDED: cpuid._EXTENDED + 8}

    def _leaf(self, leaf, subleaf=0):
        return self._leaves.get((leaf, subleaf), (0, 0, 0, 0))


@pytest.mark.parametrize(
    ("xcr0", "flags"), [(0, set()), (0x7, {"fma", "avx2"}), (0xE7, {"fma", "avx2", "avx512f"}), (0xE0, set())]
)
def test_what_the_system_does_not_save_does_not_count(xcr0, flags):
    leaves = {(1, 0): (0x00A20F12, 0, 1 << 27 | 1 << 12, 0), (7, 0): (0, 1 << 5 | 1 << 16, 0, 0)}
    fields = Processor(leaves, xcr0).fields()
    assert set(fields["flags"].split()) == flags
    assert (fields["cpu family"], fields["model"]) == ("25", "33")  # a Ryzen 5000: family 19h, model 21h
    without_xgetbv = {**leaves, (1, 0): (0x000906EA, 0, 1 << 12, 0)}
    fields = Processor(without_xgetbv, 0xFF).fields()
    assert (fields["flags"], fields["cpu family"], fields["model"]) == ("", "6", "158")


def test_a_leaf_that_is_not_there_is_not_asked(monkeypatch):
    processor = Processor({(1, 0): (0, 0, 1 << 27 | 1 << 12, 0), (7, 0): (0, 1 << 5, 0, 0)}, 0xE7)
    processor._largest |= {0: 6, 7: -1}
    assert processor.fields()["flags"] == "fma"


def test_macos_names_the_chip(monkeypatch):
    values = {"machdep.cpu.brand_string": b"Apple M2\0", "hw.l2cachesize": (16 << 20).to_bytes(8, "little")}
    monkeypatch.setattr(host_processor, "_control", lambda name: values.get(name, b""))
    monkeypatch.setattr(host_processor, "host_system", lambda: systems.MACOS)
    assert host_processor._of_macos() == {"vendor_id": "Apple M2", "model name": "Apple M2"}
    assert host_processor.cache_bytes() == 16 << 20
