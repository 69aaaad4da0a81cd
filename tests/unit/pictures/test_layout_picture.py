"""Pictures of layouts show what the layouts compute."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from tilecore.contract.passes import PassEnv
from tilecore.contract.records import Capabilities
from tilecore.contract.state import BufferLayouts
from tilecore.errors import ArgumentError
from tilecore.ir.fragments import REGISTER, THREAD, Digit, FragmentLayout, spread
from tilecore.ir.layout import BufferLayout
from tilecore.ir.nodes import tirx
from tilecore.pictures.collect import fragment_picture, memory_picture, pictures_of
from tilecore.target import Target

MMA = FragmentLayout(
    (16, 8), 32,
    (
        Digit(0, 1, 8, THREAD, 4), Digit(0, 8, 2, REGISTER, 2), Digit(1, 1, 2, REGISTER, 1), Digit(1, 2, 4, THREAD, 1),
    ),
)  # fmt: skip


def buffer(shape, dtype, name="tile"):
    return tirx.decl_buffer(list(shape), dtype, name, scope="shared", layout=None)


def swizzled(shape):
    """Chunks of 8 elements, exclusive-ored with the row."""
    return BufferLayout("swizzled", shape, lambda at: [at[0], tirx.BitwiseXor(at[1] // 8, at[0] % 8) * 8 + at[1] % 8])


@pytest.mark.parametrize("layout", [MMA, spread((24, 32), 64, vector=4), spread((5,), 32), FragmentLayout((), 32, ())])
def test_fragments(layout):
    picture = fragment_picture("c", "float32", layout)
    for at in np.ndindex(layout.shape):
        assert (picture.holder[at], picture.place[at]) == (layout.thread(at), layout.register(at))


def test_copies_are_told():
    layout = FragmentLayout((4,), 32, (Digit(0, 1, 4, THREAD, 2),))
    assert "8 threads have each element" in fragment_picture("c", "float32", layout).title


@pytest.mark.parametrize(("dtype", "size"), [("float16", 2), ("float32", 4), ("int8", 1), ("float64", 8)])
@pytest.mark.parametrize("turned", [False, True])
def test_shared_memory(dtype, size, turned):
    picture = memory_picture(buffer((16, 64), dtype), swizzled((16, 64)) if turned else None)
    for i, j in np.ndindex(16, 64):
        column = (j // 8 ^ i % 8) * 8 + j % 8 if turned else j
        assert picture.place[i, j] == (i * 64 + column) * size
        assert picture.holder[i, j] == (i * 64 + column) * size // 4 % 32
    assert picture.words == ("swizzled" if turned else "rows as they are")


def test_a_swizzle_spreads_columns_over_the_banks():
    """What the picture is for: eight rows of one chunk lie in eight groups of banks, or all in one."""
    plain, turned = (memory_picture(buffer((8, 64), "float16"), layout) for layout in (None, swizzled((8, 64))))
    assert len(set(plain.holder[:, 0].tolist())) == 1
    assert len(set(turned.holder[:, 0].tolist())) == 8


def test_text():
    text = fragment_picture("c", "float32", MMA).text()
    lines = text.splitlines()
    assert lines[0] == "c: 16x8 float32, thread.register of each element"
    assert lines[1] == "thread = i % 8 * 4 + j / 2; register = i / 8 * 2 + j % 2"
    assert lines[2].split() == [str(j) for j in range(8)]
    assert lines[3].split() == ["0", "0.0", "0.1", "1.0", "1.1", "2.0", "2.1", "3.0", "3.1"]
    assert lines[3 + 9].split()[:3] == ["9", "4.2", "4.3"]
    assert len(lines) == 3 + 16
    assert len({len(line) for line in lines[2:]}) == 1, "columns stand below each other"


def test_only_a_part_of_large_tiles():
    text = memory_picture(buffer((100, 100), "float32"), None).text(4, 6)
    assert text.splitlines()[-1] == "(the first 4 rows and 6 columns)"
    assert text.splitlines()[3].split() == ["0", "0", "1", "2", "3", "4", "5"]


def test_planes_of_more_axes():
    picture = memory_picture(buffer((3, 4, 8), "float32"), None)
    assert picture.text(at=(2,)).splitlines()[3].split()[1] == str(2 * 32 % 32)
    assert picture.cells((2,))[1][0, 0] == 2 * 32 * 4
    for wrong in ((3,), (0, 0), (-1,)):
        with pytest.raises(ArgumentError, match="has no plane"):
            picture.text(at=wrong)


def test_drawing():
    picture = fragment_picture("c<d>", "float32", MMA)
    root = ET.fromstring(picture.svg())
    space = "{http://www.w3.org/2000/svg}"
    cells = root.findall(f"{space}g")
    assert len(cells) == 16 * 8
    shown = {}
    for cell in cells:
        i, j, thread, register = map(int, re.findall(r"\d+", cell.find(f"{space}title").text))
        assert cell.find(f"{space}text").text == f"{thread}.{register}"
        shown[i, j] = (thread, register)
        shown.setdefault(("colour", thread), cell.find(f"{space}rect").get("fill"))
        assert shown["colour", thread] == cell.find(f"{space}rect").get("fill"), "a thread has one colour"
    assert all(shown[at] == (MMA.thread(at), MMA.register(at)) for at in np.ndindex(16, 8))
    colours = {colour for key, colour in shown.items() if key[0] == "colour"}
    assert len(colours) == 32


def test_files(tmp_path):
    picture = memory_picture(buffer((8, 8), "float32"), None)
    assert picture.save(tmp_path / "a.svg").read_text() == picture.svg()
    assert picture.save(tmp_path / "a.txt").read_text() == picture.text(64, 64) + "\n"
    assert picture.save(tmp_path / "new" / "too" / "a.svg").read_text() == picture.svg()
    with pytest.raises(ArgumentError, match=r"expected: \.svg or \.txt"):
        picture.save(tmp_path / "a.png")


def test_a_console_gets_colours():
    console = pytest.importorskip("rich.console")
    terminal = console.Console(record=True, width=200, file=open("/dev/null", "w"), color_system="truecolor")  # noqa: SIM115
    terminal.print(fragment_picture("c", "float32", MMA))
    text = terminal.export_text(styles=True)
    assert "31.3" in text
    assert "\x1b[" in text


def test_kernels_without_threads_have_none():
    none: frozenset[str] = frozenset()
    env = PassEnv(Target("acme"), Capabilities(none, none, none))
    env.publish(BufferLayouts({buffer((8, 8), "float32"): None}))
    assert pictures_of(env) == {}
