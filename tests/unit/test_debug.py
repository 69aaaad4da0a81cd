"""Looking inside a compilation: TILECORE_DEBUG, TILECORE_DUMP, TILECORE_CHECK and what is told while compiling."""

from __future__ import annotations

import os
import re
from dataclasses import replace

import numpy as np
import pytest

import tilecore
import tilecore.language as T
from tilecore.backends.cpu import codegen, lowering, target, toolchain
from tilecore.backends.cpu.adapter import NativeAdapter
from tilecore.codegen.registration import register_codegen
from tilecore.contract.hookspecs import hookimpl
from tilecore.contract.passes import Pass, PassEdit
from tilecore.errors import LoweringError, PluginError, TilecoreError
from tilecore.ir.build import nothing
from tilecore.ir.nodes import AllocBuffer, For, structural_map
from tilecore.jit.compile import _kernels
from tilecore.jit.parallel import par_compile
from tilecore.plugins import manager


def adder(amount):
    @T.prim_func
    def add(A: T.Tensor((8,), "int32"), B: T.Tensor((8,), "int32")):
        with T.Kernel(1):
            tile = T.alloc_shared((8,), "int32")
            T.copy(A, tile)
            for i in T.Parallel(8):
                B[i] = tile[7 - i] + amount

    return add


ADD = adder(1)


@pytest.fixture(autouse=True)
def no_settings(monkeypatch):
    for name in list(os.environ):
        if name.startswith("TILECORE_"):
            monkeypatch.delenv(name)


@pytest.fixture(autouse=True)
def own_caches(no_settings, fresh_caches):
    """Every test begins with empty caches."""


def messages(capsys, monkeypatch, level, func=ADD, **options):
    """What a compilation prints, on stderr."""
    _kernels.clear()
    monkeypatch.setenv("TILECORE_DISABLE_CACHE", "1")
    monkeypatch.setenv("TILECORE_DEBUG", str(level))
    tilecore.compile(func, target="cpu", **options)
    captured = capsys.readouterr()
    assert captured.out == ""
    return captured.err


MARKS = (
    (1, r"^\[tilecore\] add: target cpu -.*, execution backend native$"),
    (1, r"^\[tilecore\] tools of tilecore: LLVM \(in apache-tvm\) 0\.27"),
    (2, r"^\[tilecore\] time of add for cpu: [0-9.]+ ms$"),
    (2, r"^  lowering +[0-9.]+ ms +[0-9.]+%$"),
    (2, r"^    vectorize_loops +[0-9.]+ ms +[0-9.]+%$"),
    (2, r"^  code generation +[0-9.]+ ms +[0-9.]+%$"),
    (2, r"^  toolchain of tilecore +[0-9.]+ ms +[0-9.]+%$"),
    (2, r"^  load +[0-9.]+ ms +[0-9.]+%$"),
    (3, r"^\[tilecore\] tile IR\n(.*\n)*?.*def add\("),
    (4, r"^\[tilecore\] source \(ll\)\n(.*\n)*?define .*@add_kernel"),
    (5, r"^\[tilecore\] after lower_tile_ops\n(.*\n)*?.*def add\("),
    (5, r"^\[tilecore\] after outline_kernels\n"),
    (6, r"^\[tilecore\] LLVM in this process for add: \{'kind': 'llvm'"),
)


@pytest.mark.parametrize("level", range(7))
def test_every_step_of_the_ladder_shows_what_is_below_it_too(capsys, monkeypatch, level):
    text = messages(capsys, monkeypatch, level)
    for least, pattern in MARKS:
        assert bool(re.search(pattern, text, re.MULTILINE)) == (level >= least), pattern
    assert bool(text) == (level > 0)


def test_the_cache_is_told_of(capsys, monkeypatch):
    tilecore.compile(ADD, target="cpu")
    _kernels.clear()
    monkeypatch.setenv("TILECORE_DEBUG", "1")
    assert tilecore.compile(ADD, target="cpu").from_cache
    assert capsys.readouterr().err == "[tilecore] add: from the cache\n"


def test_verbose_tells_the_times(capsys, monkeypatch):
    for options in ({"verbose": True}, {}):
        if not options:
            monkeypatch.setenv("TILECORE_VERBOSE", "1")
        text = messages(capsys, monkeypatch, 0, **options)
        assert "add: target cpu" in text
        assert "  lowering  " in text
        assert re.search(r"compiled add for cpu in \d+ ms", text)
        assert "tile IR" not in text
    assert messages(capsys, monkeypatch, 0, verbose=False) == "", "the argument counts"


def test_one_line_per_kernel(capsys, monkeypatch):
    monkeypatch.setenv("TILECORE_PRINT_ON_COMPILATION", "1")
    for text in (messages(capsys, monkeypatch, 0), messages(capsys, monkeypatch, 0, adder(2))):
        assert re.fullmatch(r"\[tilecore\] compiled add for cpu in \d+ ms\n", text)


# -- files --------------------------------------------------------------------------------------------------------


def files_in(folder):
    """Names in order, their numbers checked and left out."""
    names = sorted(os.listdir(folder))
    assert [name[:3] for name in names] == [f"{number:02d}_" for number in range(len(names))]
    return [name[3:] for name in names]


def dumped(folder):
    names = files_in(folder)
    passes = [f"after_{p['name']}.py" for p in tilecore.compile(ADD, target="cpu").artifact.report["passes"]]
    assert names == ["tile_ir.py", *passes, "source.ll", "binary.o"]
    return {name: (folder / f"{number:02d}_{name}").read_bytes() for number, name in enumerate(names)}


@pytest.mark.parametrize("setting", ["variable", "argument", "argument before variable"])
def test_a_numbered_file_for_every_step(tmp_path, monkeypatch, setting):
    place = tmp_path / "made" / "here"
    if setting != "argument":
        monkeypatch.setenv("TILECORE_DUMP", str(place if setting == "variable" else tmp_path / "not here"))
    kernel = tilecore.compile(ADD, target="cpu", debug_root_path=None if setting == "variable" else place)
    monkeypatch.delenv("TILECORE_DUMP", raising=False)
    contents = dumped(place / "add")
    assert contents["source.ll"].decode() == kernel.get_kernel_source()
    assert contents["binary.o"] == kernel.artifact.binary
    assert contents["binary.o"].startswith(b"\x7fELF")
    assert contents["tile_ir.py"].decode() == ADD.script()
    assert b"tile.copy" in contents["after_inline_binds.py"]
    assert b"tile.copy" not in contents["after_lower_tile_ops.py"]
    assert not (tmp_path / "not here").exists()


def test_files_are_written_where_the_caches_know_the_kernel(tmp_path, monkeypatch):
    @tilecore.jit(target="cpu")
    def factory(amount):
        return adder(amount)

    first = tilecore.compile(ADD, target="cpu")
    factory(1)
    dumped_to = lambda name: dumped(tmp_path / name / "add")  # noqa: E731
    again = tilecore.compile(ADD, target="cpu", debug_root_path=tmp_path / "memory")
    assert again.artifact.binary == first.artifact.binary
    assert tilecore.compile(ADD, target="cpu", debug_root_path=tmp_path / "memory") is again, "once is enough"
    dumped_to("memory")
    assert os.listdir(tmp_path / "memory") == ["add"]
    _kernels.clear()
    tilecore.compile(ADD, target="cpu", debug_root_path=tmp_path / "disk")
    dumped_to("disk")
    tilecore.jit(factory.func, target="cpu", debug_root_path=tmp_path / "source")(1)
    dumped_to("source")
    monkeypatch.setenv("TILECORE_DUMP", str(tmp_path / "dump"))
    par_compile([ADD], target="cpu")
    tilecore.jit(factory.func, target="cpu").par_compile([1])
    monkeypatch.delenv("TILECORE_DUMP")
    dumped_to("dump")
    assert sorted(os.listdir(tmp_path / "dump")) == ["add", "add_2"]


def test_kernels_of_one_name_do_not_mix(tmp_path, monkeypatch):
    monkeypatch.setenv("TILECORE_DUMP", str(tmp_path / "all"))
    par_compile([adder(n) for n in range(10, 13)], target="cpu", num_workers=3)
    folders = sorted(os.listdir(tmp_path / "all"))
    assert folders == ["add", "add_2", "add_3"]
    amounts = {re.search(r"\+ (\d+)", (tmp_path / "all" / f / "00_tile_ir.py").read_text())[1] for f in folders}
    assert amounts == {"10", "11", "12"}
    for folder in folders:
        tile, source = (next((tmp_path / "all" / folder).glob(f"*_{name}")) for name in ("tile_ir.py", "source.ll"))
        assert f" {re.search(r'[+] ([0-9]+)', tile.read_text())[1]}" in source.read_text()


def test_what_an_earlier_process_left_goes_and_other_files_stay(tmp_path):
    place = tmp_path / "add"
    place.mkdir()
    for name in ("97_after_gone.py", "98_source.c", "notes.txt", "99_mine.txt"):
        (place / name).write_text("old")
    tilecore.compile(ADD, target="cpu", debug_root_path=tmp_path)
    assert not (place / "97_after_gone.py").exists()
    assert not (place / "98_source.c").exists()
    for name in ("notes.txt", "99_mine.txt"):
        (place / name).unlink()
    dumped(place)


def test_a_folder_that_cannot_be_written(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TILECORE_DUMP", str(tmp_path / "file"))
    with pytest.raises(TilecoreError, match="cannot be written: Not a directory") as caught:
        tilecore.compile(ADD, target="cpu")
    assert "TILECORE_DUMP" in caught.value.hint
    monkeypatch.delenv("TILECORE_DUMP")
    kernel = tilecore.compile(ADD, target="cpu", out_idx=-1)
    assert kernel(np.zeros(8, np.int32)).tolist() == [1] * 8


# -- checks -------------------------------------------------------------------------------------------------------


class Edited:
    """Compiles as cpu does, with a pass of its own."""

    function = "target.build.tilecore_edited"

    def __init__(self, edit):
        self.edit = edit

    @hookimpl
    def tilecore_target(self):
        return replace(target.SPEC, kind="edited", aliases={})

    @hookimpl
    def tilecore_lowering(self):
        return replace(lowering.LOWERING, edits=[self.edit])

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


def forget_memory(func, env):
    """The tile is used and never allocated."""
    return func.with_body(structural_map(func.body, (AllocBuffer, lambda node: nothing())))


def forget_loops(func, env):
    return func.with_body(structural_map(func.body, (For, lambda node: node.body)))


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (forget_memory, r"tile is used where it is not defined \(after pass bad\)"),
        (forget_loops, r"i is used where it is not defined \(after pass bad\)"),
    ],
)
def test_a_pass_that_breaks_the_ir_is_named(monkeypatch, broken, message):
    edit = PassEdit("insert", "after_tile_ops", Pass("bad", broken))
    with manager.register(Edited(edit), package="tile-edited"):
        monkeypatch.setenv("TILECORE_CHECK", "1")
        with pytest.raises(LoweringError, match=message):
            tilecore.compile(ADD, target="edited")
        monkeypatch.delenv("TILECORE_CHECK")
        with pytest.raises(TilecoreError) as caught:
            tilecore.compile(ADD, target="edited")
        assert not re.search(message, str(caught.value)), "nothing was checked after the pass"


def test_the_check_finds_nothing_in_the_passes_of_the_core(monkeypatch):
    monkeypatch.setenv("TILECORE_CHECK", "1")
    tilecore.compile(adder(3), target="cpu")


def test_a_pass_of_the_core_that_fails_is_named(monkeypatch):
    from tilecore.lowering.loops import unroll_loops

    def broken(func, env):
        raise KeyError("x")

    edit = PassEdit("replace", "unroll_loops", replace(unroll_loops.UNROLL_LOOPS, run=broken))
    with manager.register(Edited(edit), package="tile-edited"):
        with pytest.raises((LoweringError, PluginError), match=r"unroll_loops .*KeyError"):
            tilecore.compile(ADD, target="edited")
