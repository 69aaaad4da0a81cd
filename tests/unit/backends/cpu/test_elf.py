"""Objects are loaded without a linker, run, and refused when they are damaged or need what is not there."""

import ctypes
import gc
import math
import platform
import struct
import time
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from object_kit import GCC, from_c, from_llvm, function, kernel

from tilecore.backends.cpu.elf import find_external, host_machine, load_object, supported
from tilecore.backends.cpu.elf_link import Linker, plan_layout
from tilecore.backends.cpu.elf_object import read_object
from tilecore.errors import ToolchainError

pytestmark = pytest.mark.skipif(not supported()[0], reason=supported()[1])
needs_gcc = pytest.mark.skipif(GCC is None or platform.machine() != "x86_64", reason="needs gcc on x86-64")

HELPER = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(lambda i: 100 * i)
EXTERNALS = {"helper": ctypes.cast(HELPER, ctypes.c_void_p).value}

# Constants, writable data, zeroed memory, and calls of libm, libc and a helper.
LLVM_IR = """
@table = private constant [4 x float] [float 1.0, float 2.0, float 3.0, float 4.0], align 16
@zeros = internal global [5000 x i32] zeroinitializer
@seed = global i32 5
declare float @expf(float)
declare ptr @memcpy(ptr, ptr, i64)
declare i32 @helper(i32)
define void @first(ptr %slots, i64 %begin, i64 %end, ptr %scratch) {
  %out = load ptr, ptr %slots
  %x = load float, ptr %out
  %e = call float @expf(float %x)
  %p = getelementptr float, ptr @table, i64 %begin
  %t = load float, ptr %p
  %m = fmul float %e, %t
  store float %m, ptr %out
  %c = call ptr @memcpy(ptr %scratch, ptr @table, i64 16)
  ret void
}
define void @second(ptr %slots, i64 %begin, i64 %end, ptr %scratch) {
  %out = load ptr, ptr %slots
  %z = getelementptr i32, ptr @zeros, i64 %begin
  %old = load i32, ptr %z
  %s = load i32, ptr @seed
  %sum = add i32 %old, %s
  store i32 %sum, ptr %z
  %h = call i32 @helper(i32 %sum)
  store i32 %h, ptr %out
  ret void
}
"""


@pytest.fixture(scope="module")
def llvm_object():
    return from_llvm(LLVM_IR, "first", "second")


def test_an_object_of_llvm_runs(llvm_object):
    loaded = load_object(llvm_object, EXTERNALS)
    out, scratch = (ctypes.c_float * 4)(1.0), (ctypes.c_float * 4)()
    slots = (ctypes.c_void_p * 1)(ctypes.addressof(out))
    kernel(loaded.address("first"))(ctypes.addressof(slots), 2, 3, ctypes.addressof(scratch))
    assert out[0] == pytest.approx(3 * math.e)
    assert list(scratch) == [1, 2, 3, 4]
    counted = ctypes.cast(out, ctypes.POINTER(ctypes.c_int32))
    seen = []
    for block in (0, 4999, 4999):
        kernel(loaded.address("second"))(ctypes.addressof(slots), block, block + 1, None)
        seen.append(counted[0])
    assert seen == [500, 500, 1000]


def test_two_copies_share_nothing(llvm_object):
    out = (ctypes.c_int32 * 1)()
    slots = (ctypes.c_void_p * 1)(ctypes.addressof(out))
    copies = [load_object(llvm_object, EXTERNALS) for _ in range(2)]
    for loaded in copies:
        kernel(loaded.address("second"))(ctypes.addressof(slots), 7, 8, None)
        assert out[0] == 500
    assert copies[0].address("seed") != copies[1].address("seed")


def test_code_longer_than_a_page_runs():
    steps = "\n".join(f"  store volatile i32 {i}, ptr %p{i}\n" for i in range(1500))
    places = "\n".join(f"  %p{i} = getelementptr i32, ptr %out, i64 {i}" for i in range(1500))
    head = "define void @long(ptr %slots, i64 %b, i64 %e, ptr %s) {\n  %out = load ptr, ptr %slots"
    text = f"{head}\n{places}\n{steps}  ret void\n}}"
    loaded = load_object(from_llvm(text, "long"))
    out = (ctypes.c_int32 * 1500)()
    slots = (ctypes.c_void_p * 1)(ctypes.addressof(out))
    kernel(loaded.address("long"))(ctypes.addressof(slots), 0, 1, None)
    assert list(out) == list(range(1500))
    assert loaded.size > 2 * 4096


C_CODE = r"""
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
static double table[4] = {1.5, 2.5, 3.5, 4.5};
static const char *const names[] = {"zero", "one", "two"};
int counter, common[8], data = 42;
static int64_t big[10000];
extern int helper(int);
__attribute__((weak)) extern int missing(void);
double scaled_exp(double x, int i) { return exp(x) * table[i]; }
float sum_exp(const float *p, float *q, int n) {
    float s = 0;
    memcpy(q, p, n * 4);
    for (int i = 0; i < n; i++) s += expf(q[i]);
    return s;
}
int bump(int n) { counter += n; big[n] = counter; common[0] = 7; return counter + (int)big[n]; }
const char *name(int i) { return names[i]; }
int choose(int i) {
    switch (i) {
    case 0: return 10;
    case 1: return 77;
    case 2: return data;
    case 3: return 5;
    case 4: return helper(i);
    case 5: return 99;
    case 6: return 4;
    default: return missing ? missing() : -1;
    }
}
int *where(void) { return &data; }
__int128 divide(__int128 a, __int128 b) { return a / b; }
int text(char *o) { return sprintf(o, "%s %d", names[1], data); }
"""
FLAGS = {
    "pic": ["-O2", "-fPIC"],
    "unoptimised": ["-O0", "-fPIC"],
    "medium": ["-O2", "-fPIC", "-mcmodel=medium"],
    "large": ["-O2", "-fPIC", "-mcmodel=large"],
    "static-large": ["-O2", "-fno-pic", "-mcmodel=large"],
    "static": ["-O2", "-fno-pic", "-Dmissing=helper0", "-Dhelper0()=0"],
    "no-plt": ["-O3", "-fPIC", "-fno-plt"],
    "common": ["-O2", "-fPIC", "-fcommon"],
    "sections": ["-O2", "-fPIC", "-ffunction-sections", "-fdata-sections"],
    "debug": ["-O2", "-fPIC", "-g"],
}
STATIC_CODE = C_CODE.replace("missing ? missing() : -1", "-1").replace(
    "__attribute__((weak)) extern int missing(void);", ""
)


@needs_gcc
@pytest.mark.parametrize("model", FLAGS)
def test_an_object_of_gcc_runs_in_every_code_model(model):
    data = from_c(STATIC_CODE if model == "static" else C_CODE, *(f for f in FLAGS[model] if not f.startswith("-D")))
    loaded = load_object(data, EXTERNALS)

    def call(name, result, *arguments):
        return function(loaded.address(name), result, *arguments)

    scaled = call("scaled_exp", ctypes.c_double, ctypes.c_double, ctypes.c_int)
    assert scaled(1.0, 2) == pytest.approx(math.e * 3.5)
    source, copy = (ctypes.c_float * 8)(*range(8)), (ctypes.c_float * 8)()
    total = call("sum_exp", ctypes.c_float, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int)
    assert total(ctypes.addressof(source), ctypes.addressof(copy), 8) == pytest.approx(
        sum(math.exp(i) for i in range(8))
    )
    assert list(copy) == list(range(8))
    bump = call("bump", ctypes.c_int, ctypes.c_int)
    assert (bump(3), bump(4)) == (6, 14)
    assert ctypes.c_int.from_address(loaded.address("common")).value == 7
    assert call("name", ctypes.c_char_p, ctypes.c_int)(2) == b"two"
    choose = call("choose", ctypes.c_int, ctypes.c_int)
    assert [choose(i) for i in range(8)] == [10, 77, 42, 5, 400, 99, 4, -1]
    assert call("where", ctypes.c_void_p)() == loaded.address("data")
    out = ctypes.create_string_buffer(32)
    assert call("text", ctypes.c_int, ctypes.c_void_p)(ctypes.addressof(out)) == 6
    assert out.value == b"one 42"
    if model == "static":
        assert loaded.address("data") < 2**31


def rights_of(address):
    """What /proc says of the page at ``address``: "r-xp"; None when nothing is mapped there."""
    with open("/proc/self/maps") as maps:
        for line in maps:
            low, high = (int(part, 16) for part in line.split()[0].split("-"))
            if low <= address < high:
                return line.split()[1]
    return None


def test_no_page_is_both_writable_and_executable():
    text = LLVM_IR + "\n@large = constant [2048 x i32] [i32 5" + ", i32 6" * 2047 + "]\n"
    loaded = load_object(from_llvm(text, "first", "second"), EXTERNALS)
    assert rights_of(loaded.address("first")) == "r-xp"
    assert rights_of(loaded.address("seed")) == "rw-p"
    constants = loaded.address("large")
    assert rights_of(constants) == "r--p"
    assert ctypes.c_int32.from_address(constants).value == 5


def test_closing_unmaps_it(llvm_object):
    loaded = load_object(llvm_object, EXTERNALS)
    address = loaded.address("first")
    loaded.close()
    loaded.close()
    assert rights_of(address) is None
    with pytest.raises(ToolchainError, match="was closed"):
        loaded.address("first")


def test_other_symbols_can_be_forgotten(llvm_object):
    loaded = load_object(llvm_object, EXTERNALS)
    first = loaded.address("first")
    loaded.keep_only(["first", "none"])
    assert loaded.address("first") == first
    for name in ("second", "none"):
        with pytest.raises(ToolchainError, match=f"does not define {name}"):
            loaded.address(name)


def test_it_is_unmapped_when_nothing_refers_to_it(llvm_object):
    loaded = load_object(llvm_object, EXTERNALS)
    address = loaded.address("first")
    del loaded
    gc.collect()
    assert rights_of(address) is None


def test_unknown_symbols(llvm_object):
    loaded = load_object(llvm_object, EXTERNALS)
    with pytest.raises(ToolchainError, match="does not define third") as caught:
        loaded.address("third")
    assert "first" in caught.value.found
    with pytest.raises(ToolchainError, match="needs what is not there: helper\n"):
        load_object(llvm_object)


def test_loading_is_quick(llvm_object):
    """Half a millisecond is the aim for 8 KB; a machine that is busy with other things gets some more."""
    best = min(_time_of(llvm_object) for _ in range(50))
    assert best < 1e-3


def _time_of(data):
    start = time.perf_counter()
    load_object(data, EXTERNALS).close()
    return time.perf_counter() - start


def refusal(data):
    with pytest.raises(ToolchainError) as caught:
        load_object(data, EXTERNALS)
    return str(caught.value)


def patched(data, offset, layout, value):
    changed = bytearray(data)
    struct.pack_into(layout, changed, offset, value)
    return bytes(changed)


def test_what_is_no_object_for_this_machine_is_refused(llvm_object):
    assert "not an ELF object" in refusal(b"")
    assert "not an ELF object" in refusal(b"MZ" + llvm_object[2:])
    assert "not 64-bit" in refusal(patched(llvm_object, 4, "B", 1))
    assert "little-endian" in refusal(patched(llvm_object, 5, "B", 2))
    assert "not relocatable" in refusal(patched(llvm_object, 16, "<H", 3))
    assert "is for machine 40" in refusal(patched(llvm_object, 18, "<H", 40))
    other = 183 if host_machine() == 62 else 62
    assert "expected" in refusal(patched(llvm_object, 18, "<H", other))
    assert "section headers" in refusal(patched(llvm_object, 40, "<Q", 2**40))
    assert "of 63 bytes" in refusal(patched(llvm_object, 58, "<H", 63))


@needs_gcc
@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("__attribute__((constructor)) void f(void) {} ", "constructors or destructors"),
        ("__attribute__((destructor)) void f(void) {} ", "constructors or destructors"),
        ("__thread int x = 3; int *f(void) { return &x; }", "thread-local"),
        ("static int g(void) {return 1;} static void *r(void) {return g;}"
         "int f(void) __attribute__((ifunc(\"r\"))); int h(void) {return f();}", "an indirect function"),
        ("int x __attribute__((aligned(8192))) = 1;", "an alignment of 8192"),
        ("__attribute__((section(\".odd,\\\"awx\\\",@progbits#\"))) int x = 1;", "both writable and executable"),
    ],
)  # fmt: skip
def test_what_a_kernel_has_no_use_for_is_refused(code, reason):
    assert reason in refusal(from_c(code, "-O1", "-fPIC"))


def first_relocation(data):
    (table,) = struct.unpack_from("<Q", data, 40)
    (count,) = struct.unpack_from("<H", data, 60)
    for number in range(count):
        fields = struct.unpack_from("<IIQQQQIIQQ", data, table + 64 * number)
        if fields[1] == 4 and struct.unpack_from("<Q", data, table + 64 * fields[7] + 8)[0] & 4:
            return fields[4]
    raise AssertionError("no relocations of code")


def test_damaged_relocations_are_refused(llvm_object):
    at = first_relocation(llvm_object)
    assert "a relocation at 0xffffff" in refusal(patched(llvm_object, at, "<Q", 0xFFFFFF))
    assert "a relocation of symbol" in refusal(patched(llvm_object, at + 12, "<I", 10**6))
    assert "relocation 255" in refusal(patched(llvm_object, at + 8, "<I", 255))
    assert "relocation 22 of" in refusal(patched(llvm_object, at + 8, "<I", 22))  # GOTTPOFF: thread-local


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_damage_is_either_harmless_or_refused(data):
    """Cut off, or with bytes changed anywhere: never another exception, never a write outside the image."""
    whole = from_llvm(LLVM_IR, "first", "second")
    damaged = bytearray(whole[: data.draw(st.integers(0, len(whole)) | st.just(len(whole)))])
    for _ in range(data.draw(st.integers(0, 8))):
        if damaged:
            last = len(damaged) - 1  # headers stand at both ends
            place = st.integers(0, min(63, last)) | st.integers(max(0, last - 1500), last) | st.integers(0, last)
            damaged[data.draw(place)] = data.draw(st.integers(0, 255))
    try:
        elf = read_object(bytes(damaged))
        layout = plan_layout(elf, 4096)
        image = Linker(elf, layout, 0x7F0000000000, lambda name: EXTERNALS.get(name) or find_external(name)).link()
    except ToolchainError:
        return
    assert len(image) == layout.filled <= layout.size


def test_unwinding_tables_are_left_out(llvm_object):
    elf = read_object(llvm_object)
    layout = plan_layout(elf, 4096)
    assert any(section.name == ".eh_frame" for section in elf.sections.values())
    assert not any(elf.sections[number].name == ".eh_frame" for number in layout.sections)


@pytest.mark.parametrize(("page", "kinds"), [(4096, ["code", "data"]), (16, ["code", "constants", "data"])])
def test_areas_do_not_share_pages(llvm_object, page, kinds):
    """Constants are in the code's area where they fit into its last page, and data never is."""
    elf = read_object(llvm_object)
    layout = plan_layout(elf, page)
    pages = [range(start // page, -(-(start + size) // page)) for _, start, size in layout.areas]
    assert [kind for kind, _, _ in layout.areas] == kinds
    assert len({number for area in pages for number in area}) == sum(len(area) for area in pages)
    places = sorted((at, at + elf.sections[number].size) for number, at in layout.sections.items())
    assert all(end <= start for (_, end), (start, _) in pairwise(places))
    assert sum(any(start <= at < start + size for _, start, size in layout.areas) for at, _ in places) == len(places)
