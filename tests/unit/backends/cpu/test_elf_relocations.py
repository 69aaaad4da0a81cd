"""The arithmetic of relocations: what the machine would compute from the patched bytes is the target's address."""

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from object_kit import from_llvm

from tilecore.backends.cpu import elf_aarch64, elf_x86_64
from tilecore.backends.cpu.elf_link import Linker, plan_layout
from tilecore.backends.cpu.elf_object import read_object
from tilecore.backends.cpu.elf_place import Place
from tilecore.errors import ToolchainError

BASE = 0x7F00_0000_0000
GOT, STUB = BASE + 0x20000, BASE + 0x10000


class Patch:
    """One relocation applied to ``before`` bytes at an address; what the machine reads afterwards."""

    def __init__(
        self, machine, kind, target, *, address=BASE + 0x1000, addend=0, before=bytes(8), size=0, external=False
    ):
        self.address = address
        self.image = bytearray(16) + bytearray(before) + bytearray(16)
        self.used: list[str] = []
        place = Place(
            image=self.image,
            at=16,
            address=address,
            symbol=target,
            size=size,
            addend=addend,
            got=GOT,
            got_entry=lambda: self.used.append("got") or GOT + 0x48,
            stub=lambda: self.used.append("stub") or STUB,
            is_external=external,
            name="target",
            end=16 + len(before),
        )
        machine.RELOCATIONS[kind][1](place)

    def read(self, layout):
        return struct.unpack_from(layout, self.image, 16)[0]

    @property
    def word(self):
        return self.read("<I")


NEAR = st.integers(-(2**31) + 2**20, 2**31 - 2**20).map(lambda d: BASE + d)
ANYWHERE = st.integers(0, 2**64 - 1)


@given(NEAR, st.sampled_from((-4, 0, 12)))
@pytest.mark.parametrize("kind", [2, 4])
def test_x86_relative_references_reach_their_target(kind, target, addend):
    patch = Patch(elf_x86_64, kind, target, addend=addend)
    assert patch.address + patch.read("<i") == target + addend
    assert not patch.used


@given(ANYWHERE)
def test_x86_calls_of_what_is_far_go_through_a_stub(target):
    patch = Patch(elf_x86_64, 4, target, addend=-4, external=True)
    reached = patch.address + 4 + patch.read("<i")
    assert reached == (STUB if patch.used else target)
    assert bool(patch.used) == (not -(2**31) <= target - 4 - patch.address < 2**31)


@pytest.mark.parametrize(
    ("before", "jumps"), [(b"\xe8", True), (b"\xe9", True), (b"\x0f\x84", True), (b"\x8b\x05", False)]
)
def test_x86_plain_relative_references_of_what_is_far_only_work_for_jumps(before, jumps):
    image = bytearray(before + bytes(8))
    place = Place(
        image, len(before), BASE, 0x1000, 0, -4, GOT, lambda: GOT, lambda: STUB, True, "target", len(image)
    )  # fmt: skip
    if jumps:
        elf_x86_64.RELOCATIONS[2][1](place)
        assert BASE + 4 + struct.unpack_from("<i", image, len(before))[0] == STUB
    else:
        with pytest.raises(ToolchainError, match="target is out of reach"):
            elf_x86_64.RELOCATIONS[2][1](place)


@given(ANYWHERE, st.integers(-8, 8))
def test_x86_absolute_references(target, addend):
    expected = target + addend
    assert Patch(elf_x86_64, 1, target, addend=addend).read("<Q") == expected % 2**64
    for kind, layout, low, high in ((10, "<I", 0, 2**32), (11, "<i", -(2**31), 2**31)):
        if low <= expected < high:
            assert Patch(elf_x86_64, kind, target, addend=addend).read(layout) == expected
        else:
            with pytest.raises(ToolchainError, match="out of reach"):
                Patch(elf_x86_64, kind, target, addend=addend)


@given(ANYWHERE)
@pytest.mark.parametrize("kind", [9, 41, 42, 43])
def test_x86_references_through_the_table(kind, target):
    patch = Patch(elf_x86_64, kind, target, addend=-4)
    assert patch.address + 4 + patch.read("<i") == GOT + 0x48
    assert patch.used == ["got"]


@given(ANYWHERE)
def test_x86_references_of_the_large_model(target):
    assert (BASE + 0x1000 + Patch(elf_x86_64, 24, target).read("<q")) % 2**64 == target
    assert (GOT + Patch(elf_x86_64, 25, target).read("<q")) % 2**64 == target
    assert GOT + Patch(elf_x86_64, 27, target).read("<q") == GOT + 0x48
    assert GOT + Patch(elf_x86_64, 30, target).read("<q") == GOT + 0x48
    assert GOT + Patch(elf_x86_64, 3, target).read("<i") == GOT + 0x48
    assert BASE + 0x1000 + Patch(elf_x86_64, 28, target).read("<q") == GOT + 0x48
    assert BASE + 0x1000 + Patch(elf_x86_64, 29, target).read("<q") == GOT
    assert BASE + 0x1000 + Patch(elf_x86_64, 26, target).read("<i") == GOT
    assert GOT + Patch(elf_x86_64, 31, target, external=True).read("<q") == STUB
    assert (GOT + Patch(elf_x86_64, 31, target).read("<q")) % 2**64 == target


def test_x86_small_fields_and_sizes():
    at = BASE + 0x1000
    assert Patch(elf_x86_64, 12, 0xFFFF).read("<H") == 0xFFFF
    assert Patch(elf_x86_64, 13, at - 300).read("<h") == -300
    assert Patch(elf_x86_64, 14, 200).read("<B") == 200
    assert Patch(elf_x86_64, 15, at - 100).read("<b") == -100
    assert Patch(elf_x86_64, 32, 0, size=77, addend=1).read("<I") == 78
    assert Patch(elf_x86_64, 33, 0, size=77).read("<Q") == 77
    for kind, target in ((12, 0x10000), (13, at + 0x8000), (14, 256), (15, at + 128)):
        with pytest.raises(ToolchainError, match="out of reach"):
            Patch(elf_x86_64, kind, target)


def test_a_patch_stays_inside_its_section():
    with pytest.raises(ToolchainError, match="past the end"):
        Patch(elf_x86_64, 1, 0, before=bytes(4))
    with pytest.raises(ToolchainError, match="past the end"):
        Patch(elf_aarch64, 283, BASE, before=bytes(2))


# aarch64: a small decoder, written from the instruction set's encodings.


def signed(value, bits):
    return value - (1 << bits) if value >> bits - 1 else value


def adr_target(word, address):
    """Of adr and adrp: what they put into their register."""
    number = signed((word >> 5 & 0x7FFFF) << 2 | word >> 29 & 3, 21)
    return (address & -4096) + (number << 12) if word >> 31 else address + number


def imm12(word):
    return word >> 10 & 0xFFF


def branch_target(word, address):
    return address + 4 * signed(word & 0x3FFFFFF, 26)


def imm19_target(word, address):
    return address + 4 * signed(word >> 5 & 0x7FFFF, 19)


def imm14_target(word, address):
    return address + 4 * signed(word >> 5 & 0x3FFF, 14)


ADRP, ADR, ADD, BL, B_EQ, TBZ, MOVZ = 0x90000000, 0x10000000, 0x91000000, 0x94000000, 0x54000000, 0x36000000, 0xD2800000
LOADS = {278: (0x39400000, 0), 284: (0x79400000, 1), 285: (0xB9400000, 2), 286: (0xF9400000, 3), 299: (0x3DC00000, 4)}
REGISTERS = st.tuples(st.integers(0, 31), st.integers(0, 31)).map(lambda r: r[0] | r[1] << 5)


def arm(kind, target, instruction, **more):
    """The patch, after checking that nothing but the immediate changed."""
    return Patch(elf_aarch64, kind, target, before=instruction.to_bytes(4, "little") + bytes(4), **more)


@given(NEAR, st.integers(0, 31))
def test_arm_page_and_offset_make_the_address(target, register):
    page = arm(275, target, ADRP | register)
    add = arm(277, target, ADD | register | register << 5)
    assert adr_target(page.word, page.address) + imm12(add.word) == target
    assert (page.word & 31, add.word & 0x3FF) == (register, register | register << 5)
    assert add.word >> 22 == ADD >> 22


@given(ANYWHERE)
def test_arm_unchecked_pages_wrap_and_checked_ones_are_refused(target):
    page = arm(276, target, ADRP)
    assert (adr_target(page.word, page.address) - (target & -4096)) % 2**33 == 0
    if not -(2**32) <= (target & -4096) - (page.address & -4096) < 2**32:
        with pytest.raises(ToolchainError, match="out of reach"):
            arm(275, target, ADRP)


@given(NEAR, REGISTERS)
@pytest.mark.parametrize("kind", LOADS)
def test_arm_loads_count_in_their_own_size(kind, target, registers):
    instruction, shift = LOADS[kind]
    aligned = target >> shift << shift
    patch = arm(kind, aligned, instruction | registers)
    assert imm12(patch.word) << shift == aligned % 4096
    assert patch.word & ~(0xFFF << 10) == instruction | registers
    if shift:
        with pytest.raises(ToolchainError, match="multiple of"):
            arm(kind, aligned + 1, instruction)


@given(st.integers(-(2**27), 2**27 - 4).map(lambda d: d & ~3))
@pytest.mark.parametrize("kind", [282, 283])
def test_arm_calls_reach_what_is_near(kind, distance):
    patch = arm(kind, BASE + 0x1000 + distance, BL)
    assert branch_target(patch.word, patch.address) == BASE + 0x1000 + distance
    assert not patch.used
    assert patch.word >> 26 == BL >> 26


@given(ANYWHERE.map(lambda a: a & ~3))
def test_arm_calls_of_what_is_far_go_through_a_stub(target):
    patch = arm(283, target, BL, external=True)
    assert branch_target(patch.word, patch.address) == (STUB if patch.used else target)
    assert bool(patch.used) == (not -(2**27) <= target - patch.address < 2**27)


@given(st.integers(-(2**13), 2**13 - 1))
def test_arm_short_branches(words):
    target = BASE + 0x1000 + 4 * words
    assert imm19_target(arm(280, target, B_EQ | 3).word, BASE + 0x1000) == target
    assert imm19_target(arm(273, target, 0x58000000 | 7).word, BASE + 0x1000) == target
    assert imm14_target(arm(279, target, TBZ | 3 | 1 << 19).word, BASE + 0x1000) == target
    assert arm(279, target, TBZ | 3 | 1 << 19).word & ~(0x3FFF << 5) == TBZ | 3 | 1 << 19
    assert adr_target(arm(274, target + 1, ADR).word, BASE + 0x1000) == target + 1


def test_arm_branches_that_are_too_far_are_refused():
    for kind, distance, instruction in (
        (279, 2**15, TBZ),
        (280, 2**20, B_EQ),
        (274, 2**20, ADR),
        (273, 2**20, 0x58000000),
    ):
        for sign in (1, -1):
            arm(kind, BASE + 0x1000 + sign * (distance - 4), instruction)
            with pytest.raises(ToolchainError, match="out of reach"):
                arm(kind, BASE + 0x1000 + sign * (distance + 4), instruction)
    with pytest.raises(ToolchainError, match="multiple of 4"):
        arm(280, BASE + 0x1002, B_EQ)


@given(ANYWHERE)
def test_arm_moves_of_16_bits_make_the_address(target):
    kinds = (264, 266, 268, 269)
    parts = [arm(kind, target, MOVZ).word >> 5 & 0xFFFF for kind in kinds]
    assert sum(part << 16 * group for group, part in enumerate(parts)) == target
    for group, kind in enumerate((263, 265, 267)):
        if target >> 16 * (group + 1):
            with pytest.raises(ToolchainError, match="out of reach"):
                arm(kind, target, MOVZ)


@given(ANYWHERE)
def test_arm_data(target):
    at = BASE + 0x1000
    assert Patch(elf_aarch64, 257, target).read("<Q") == target
    assert (at + Patch(elf_aarch64, 260, target).read("<q")) % 2**64 == target
    near = BASE + target % 2**30
    assert at + Patch(elf_aarch64, 261, near).read("<i") == near
    assert Patch(elf_aarch64, 258, target % 2**32).read("<I") == target % 2**32
    assert Patch(elf_aarch64, 259, target % 2**16).read("<H") == target % 2**16
    assert at + Patch(elf_aarch64, 262, at + target % 2**15).read("<h") == at + target % 2**15


@given(ANYWHERE)
def test_arm_references_through_the_table(target):
    page = arm(311, target, ADRP)
    load = arm(312, target, LOADS[286][0])
    assert adr_target(page.word, page.address) + 8 * imm12(load.word) == GOT + 0x48
    assert (GOT & -4096) + 8 * imm12(arm(313, target, LOADS[286][0]).word) == GOT + 0x48
    literal = arm(309, target, 0x58000000)
    assert imm19_target(literal.word, literal.address) == GOT + 0x48
    with pytest.raises(ToolchainError, match="plus 8"):
        arm(311, target, ADRP, addend=8)


@given(ANYWHERE)
def test_stubs_hold_the_target(target):
    """x86-64: an indirect jump through the 8 bytes 2 after it. aarch64: a load of the 8 bytes 8 after it, a branch."""
    code = elf_x86_64.stub(target)
    assert code[:6] == b"\xff\x25" + (2).to_bytes(4, "little")
    assert int.from_bytes(code[8:], "little") == target
    code = elf_aarch64.stub(target)
    load, branch = struct.unpack_from("<II", code)
    assert imm19_target(load, 0) == 8
    assert load >> 24 == 0x58
    assert branch == 0xD61F0000 | (load & 31) << 5
    assert int.from_bytes(code[8:], "little") == target


ARM_IR = """
@table = private constant [4 x float] [float 1.0, float 2.0, float 3.0, float 4.0], align 16
@zeros = internal global [5000 x i32] zeroinitializer
@seed = global i32 5
declare float @expf(float)
declare i32 @helper(i32)
define void @first(ptr %slots, i64 %begin, i64 %end, ptr %scratch) {
  %out = load ptr, ptr %slots
  %x = load float, ptr %out
  %e = call float @expf(float %x)
  %p = getelementptr float, ptr @table, i64 %begin
  %t = load float, ptr %p
  %m = fmul float %e, %t
  store float %m, ptr %out
  %z = getelementptr i32, ptr @zeros, i64 %begin
  %s = load i32, ptr @seed
  store i32 %s, ptr %z
  %h = call i32 @helper(i32 %s)
  ret void
}
"""


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**35 - 1).map(lambda page: page * 4096))
def test_an_object_of_llvm_for_aarch64_links_at_any_address(base):
    """Not run here; every call and every page reference in its code must lead to a symbol that it names."""
    elf = read_object(from_llvm(ARM_IR, "first", triple="aarch64-linux-gnu"))
    layout = plan_layout(elf, 4096)
    outside = {"expf": 0x7FFF_1234_5678, "helper": 0x10_0000}
    linker = Linker(elf, layout, base, lambda name: outside.get(name))
    image = linker.link()
    names = {number: symbol.name for number, symbol in enumerate(elf.symbols)}
    calls = [r for r in elf.relocations if r.type == 283 and names[r.symbol] in outside]
    assert {names[r.symbol] for r in calls} == set(outside)
    for call in calls:
        at = layout.sections[call.section] + call.offset
        reached = branch_target(int.from_bytes(image[at : at + 4], "little"), base + at)
        expected = outside[names[call.symbol]]
        if reached != expected:
            stub = reached - base
            assert layout.stubs <= stub < layout.stubs + 16 * len(linker.stubs)
            assert int.from_bytes(image[stub + 8 : stub + 16], "little") == expected
    pages = [r for r in elf.relocations if r.type == 275 and r.section in layout.sections]
    assert pages
    for page in pages:
        at = layout.sections[page.section] + page.offset
        symbol = elf.symbols[page.symbol]
        target = base + layout.sections[symbol.section] + symbol.value + page.addend
        assert adr_target(int.from_bytes(image[at : at + 4], "little"), base + at) == target & -4096
