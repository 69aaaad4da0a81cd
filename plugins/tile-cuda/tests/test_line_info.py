"""Lines of the user's file in the emitted source and in the cubin (tl.emit_line_directives, TILECORE_LINE_INFO)."""

from __future__ import annotations

import inspect
import re
import warnings
from itertools import pairwise

import pytest
from tile_cuda import nvcc, nvrtc, toolchain

import tilecore
import tilecore.language as T
from tilecore.contract.records import BuildRequest
from tilecore.errors import TargetError, ToolchainError
from tilecore.simulate.elf_sections import sections
from tilecore.simulate.line_table import LineTable
from tilecore.target import Target

KEY = tilecore.PassConfigKey.TL_EMIT_LINE_DIRECTIVES.value
TARGET = "cuda -arch=sm_80"


@T.prim_func
def add_one(A: T.Tensor((8, 32), "float32"), B: T.Tensor((8, 32), "float32"), C: T.Tensor((8, 32), "float32")):
    with T.Kernel(8, threads=32) as bx:
        tile = T.alloc_fragment((32,), "float32")
        T.copy(A[bx, 0], tile)
        for j in T.Parallel(32):
            tile[j] = T.exp(tile[j]) + 1.0
        T.copy(tile, B[bx, 0])
    with T.Kernel(8, threads=32) as bx:
        T.copy(B[bx, 0], C[bx, 0])


def line_of(text: str) -> int:
    lines, first = inspect.getsourcelines(add_one.function)
    return first + next(number for number, line in enumerate(lines) if text in line)


LINES = {"A[bx, 0], tile": "tile = A[", "T.exp(": "tc_exp(", "tile, B[bx": "] = tile;", "C[bx, 0])": "C["}


def emitted(func=add_one, **settings) -> str:
    from tilecore.compiler import emit, lower, prepared_for_profilers
    from tilecore.jit.request import make_request

    request = make_request(target=TARGET, execution_backend="nvcc", **settings)
    parts = request.backend, request.target
    module, _ = lower(func.ir, *parts, request.options)
    module = prepared_for_profilers(module, func.ir, *parts, request.adapter, request.options)
    return emit(module, *parts, request.adapter).source


def places(source: str) -> dict[int, list[str]]:
    """The lines of the source that are attributed to each line of this file."""
    found: dict[int, list[str]] = {}
    directive = re.compile(rf'#line (\d+) "{re.escape(__file__)}"')
    lines = source.splitlines()
    for line, following in pairwise(lines):
        match = directive.fullmatch(line)
        if match:
            found.setdefault(int(match[1]), []).append(following)
    return found


def test_every_line_of_a_kernel_is_attributed_to_the_user_s():
    source = emitted(pass_configs={KEY: True})
    found = places(source)
    for user_line, text in LINES.items():
        assert any(text in line for line in found[line_of(user_line)]), user_line
    inside = False
    lines = source.splitlines()
    for before, line in pairwise(lines):
        inside = (inside or line.startswith("extern")) and before != "}"
        if inside and not line.lstrip().startswith("#"):
            assert before.startswith("#line "), line
    heads = [at for at, texts in found.items() if any("__global__" in text for text in texts)]
    assert len(heads) == 2, "each kernel begins at its own line"


def test_without_it_the_source_is_the_same_but_for_the_directives():
    with_lines = [line for line in emitted(pass_configs={KEY: True}).splitlines() if not line.startswith("#line")]
    assert with_lines == emitted().splitlines() == emitted(pass_configs={KEY: False}).splitlines()


def test_the_setting_asks_for_it_too(monkeypatch):
    monkeypatch.setenv("TILECORE_LINE_INFO", "1")
    assert "#line" in emitted()
    assert "#line" not in emitted(pass_configs={KEY: False}), "what the compilation says comes first"
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # targets without directives are left alone
        tilecore.compile(add_one, target="cpu")


def test_a_kernel_cannot_ask_for_it_itself():
    @T.prim_func
    def annotated(A: T.Tensor((8,), "float32")):
        with T.Kernel(8, threads=32) as bx:
            T.annotate_pass_configs({KEY: True})
            A[bx] = 1.0

    with pytest.raises(TargetError, match="the kernel itself cannot ask for"):
        emitted(annotated)


def test_kernels_with_lines_are_kernels_of_their_places(monkeypatch):
    """A kernel whose text moves to other lines is compiled again; without lines it comes from the cache."""
    from tilecore.jit.request import ir_key, make_request

    def defined(distance: int):
        space: dict = {}
        text = "\n" * distance + inspect.getsource(add_one.function)
        monkeypatch.setitem(
            __import__("linecache").cache, "<moved>", (len(text), None, text.splitlines(True), "<moved>")
        )
        exec(compile(text, "<moved>", "exec"), {"T": T}, space)
        return space["add_one"].ir

    plain, lined = (
        make_request(target=TARGET, execution_backend="nvcc", pass_configs=configs) for configs in (None, {KEY: True})
    )
    assert ir_key(defined(0), plain) == ir_key(defined(3), plain)
    assert ir_key(defined(0), lined) != ir_key(defined(3), lined)
    assert plain.tells_places is False
    assert lined.tells_places is True


def test_simulated_kernels_find_lines_by_themselves():
    kernel = tilecore.compile(add_one, target=TARGET, execution_backend="sim", pass_configs={KEY: True})
    assert "#line" not in kernel.get_kernel_source()


def test_the_compilers_keep_lines_once():
    def options(config, flags=()):
        target = Target.parse(TARGET)
        return toolchain._options(BuildRequest("k", "", ("k",), target, flags, False, "nvcc", config), False)

    assert "-lineinfo" not in options({})
    assert options({KEY: True}).count("-lineinfo") == 1
    assert options({KEY: True}, ("-lineinfo",)).count("-lineinfo") == 1
    assert "-lineinfo" in toolchain.nvrtc_options(["-lineinfo"])


@pytest.mark.parametrize("compiler", [nvcc, nvrtc], ids=["nvcc", "nvrtc"])
def test_the_cubin_names_the_file_and_its_lines(compiler):
    name = compiler.__name__.rpartition(".")[2]
    try:
        compiler.load()
    except ToolchainError as error:
        pytest.skip(str(error))
    kernel = tilecore.compile(add_one, target=TARGET, execution_backend=name, pass_configs={KEY: True})
    binary = kernel.artifact.binary
    rows = {line for _, file, line in LineTable(binary)._rows if file == "test_line_info.py"}
    assert {line_of(text) for text in LINES} <= rows
    assert rows <= set(range(line_of("with T.Kernel"), line_of("T.copy(B[bx") + 1))
    text = b"".join(sections(binary, {".debug_line", ".debug_line_str"}).values())
    assert __file__.rpartition("/")[0].encode() in text, "with the folder, so that tools open the file"
    plain = tilecore.compile(add_one, target=TARGET, execution_backend=name)
    assert not LineTable(plain.artifact.binary)._rows


def test_source_that_does_not_compile_is_shown_by_the_user_s_line():
    try:
        nvcc.load()
    except ToolchainError as error:
        pytest.skip(str(error))

    @T.prim_func
    def wrong(A: T.Tensor((8,), "float32")):
        with T.Kernel(8, threads=32, prelude="// nothing") as bx:
            A[bx] = T.call_extern("float32", "no_such_function", A[bx])

    with pytest.raises(ToolchainError, match=r"test_line_info\.py\(\d+\).*no_such_function"):
        tilecore.compile(wrong, target=TARGET, execution_backend="nvcc", pass_configs={KEY: True})
