"""``tilecore port``: what of a program would not run, from the syntax tree and the live tables of names."""

from __future__ import annotations

import json
import sys
from textwrap import dedent

import pytest

from tilecore import cli
from tilecore.porting.judge import judge_file
from tilecore.porting.targets import ChosenTarget
from tilecore.porting.uses import read_program


def report(tmp_path, text, target=None):
    path = tmp_path / "program.py"
    path.write_text(dedent(text))
    return judge_file(path, target)


GOOD = """
    import tilelang
    import tilelang.language as T
    from tilelang.utils.tensor import torch_assert_close
    from tilelang.autotuner import *

    raise RuntimeError("nothing of this file is executed")

    @tilelang.jit(out_idx=[-1], pass_configs={tilelang.PassConfigKey.TL_ENABLE_FAST_MATH: True, "tl.dump_ir_path": "x"})
    def scale(M, N, dtype=T.float16):
        @T.prim_func
        def main(A: T.Tensor((M, N), dtype), B: T.Tensor((M, N), dtype)):
            with T.Kernel(T.ceildiv(M, 16), threads=128) as bx:
                for i, j in T.Parallel(16, N):
                    B[bx * 16 + i, j] = T.if_then_else(A[bx * 16 + i, j] > 0, T.atan2(x1=1.0, x2=2.0), T.float16(0))
        return main

    kernel = tilelang.compile(scale(64, 64), target="c", execution_backend="cython")
"""


def test_a_program_that_runs(tmp_path):
    judged = report(tmp_path, GOOD)
    assert judged.findings == []
    assert judged.would_run
    assert judged.imports == [
        (2, "import tilecore as tilelang"),
        (3, "import tilecore.language as T"),
        (4, "from tilecore.utils.tensor import torch_assert_close"),
        (5, "from tilecore.autotuner import *"),
    ]


BAD = """
    import tilelang
    import tilelang.language as T
    from tilelang.transform import LowerTileOp
    from tilelang.nothing_such import thing
    import tilelang.instrumentation

    @tilelang.jit(out_index=[-1], pass_configs={"tl.no_such_key": 1})
    def f(A):
        with T.Kernel(1):
            T.no_such_name(A)
            T.copy(source=A)
        pass_configs = {"tl.also_none": True}

    tilelang.compile(f, target="gpu9", execution_backend="steam")
    tilelang.utils.tensor.torch_asert_close(1, 2)
"""


def test_everything_that_would_not_run_is_listed_by_line(tmp_path):
    judged = report(tmp_path, BAD)
    by_line = {}
    for finding in judged.findings:
        by_line.setdefault(finding.line, []).append(finding)
    assert sorted(by_line) == [4, 5, 6, 8, 11, 12, 13, 15, 16]
    assert by_line[4][0].name == "tilelang.transform.LowerTileOp"
    assert "tilecore passes" in by_line[4][0].instead
    assert "No module named 'tilecore.nothing_such'" in by_line[5][0].problem
    assert "TILECORE_DUMP" in by_line[6][0].instead
    assert {finding.name for finding in by_line[8]} == {"tilelang.jit(out_index=...)", "pass_configs['tl.no_such_key']"}
    assert "out_idx" in next(f.instead for f in by_line[8] if "out_index" in f.name)
    assert by_line[11][0].name == "T.no_such_name"
    assert by_line[12][0].problem == "T.copy has no parameter 'source'"
    assert {finding.name for finding in by_line[15]} == {
        "tilelang.compile(target='gpu9')",
        "tilelang.compile(execution_backend='steam')",
    }
    assert by_line[16][0].instead == "did you mean 'torch_assert_close'?"


def test_names_that_mean_something_else_are_not_judged(tmp_path):
    judged = report(
        tmp_path,
        """
        from tilelang.profiler import do_bench
        from other import do_bench

        do_bench(print, chunk=3)
        """,
    )
    assert judged.would_run


def test_parameters_by_our_names_go_on_working(tmp_path):
    text = "import tilecore.language as T\nT.atan2(x=1.0, y=2.0)\nT.atan2(x1=1.0, x2=2.0)\nT.atan2(z=1.0)\n"
    judged = report(tmp_path, text)
    assert [finding.line for finding in judged.findings] == [4]
    assert judged.imports == []


def test_nearest_names_are_offered(tmp_path):
    text = """
        import tilelang
        import tilelang.language as T
        configs = {tilelang.PassConfigKey.TL_DISABLE_TMA_LOWE: True}
        T.copy(1, 2, coalesced_widht=2)
        tilelang.compile(f, execution_backend="cythn")
        tilelang.compile(f, target="gpu9")
    """
    findings = report(tmp_path, text).findings
    assert [finding.line for finding in findings] == [4, 5, 6, 7]
    assert "has no key" in findings[0].problem
    assert findings[0].instead == "did you mean 'TL_DISABLE_TMA_LOWER'?"
    assert findings[1].instead.startswith("did you mean 'coalesced_width'? its parameters are src, dst, ")
    assert findings[2].instead == "did you mean 'cython'?"
    assert "if there is one (usually named tile-gpu9)" in findings[3].instead


def test_imports_that_the_program_can_do_without_are_not_judged(tmp_path):
    text = """
        import contextlib
        try:
            import tilelang.nothing_such
        except ImportError:
            pass
        try:
            from tilelang import gone
        except (AttributeError, ModuleNotFoundError):
            gone = None
        with contextlib.suppress(ImportError):
            from tilelang import vanished
        try:
            from tilelang import lost
        except ValueError:
            pass
    """
    assert [finding.name for finding in report(tmp_path, text).findings] == ["tilelang.lost"]


def test_no_function_of_the_package_is_called(tmp_path):
    """tilecore.testing.main runs pytest and ends the process."""
    assert report(tmp_path, "import tilelang.testing\ntilelang.testing.main()\nx = tilelang.testing.main\n").would_run


def test_names_that_another_architecture_has(tmp_path):
    pytest.importorskip("tile_cuda")
    text = """
        import tilelang.language as T
        def kernel(a, c, bar):
            T.wgmma_gemm(a, a, c)
            T.alloc_barrier(1)
            with T.ws(0):
                T.clear(c)
            T.alloc_tmem((1,), T.float32)
    """

    def lines(target):
        return [finding.line for finding in report(tmp_path, text, target and ChosenTarget(target)).findings]

    assert lines(None) == [8], "no chip has it here"
    assert lines("cuda -arch=sm_80") == [4, 5, 8]
    assert lines("cuda -arch=sm_90") == [4, 8]
    assert lines("cuda -arch=sm_90a") == [8]
    assert lines("cutedsl -arch=sm_90a") == [4, 5, 8]


def test_what_is_no_python(tmp_path):
    judged = report(tmp_path, "import tilelang\nwith T.Kernel(1)\n")
    assert [finding.line for finding in judged.findings] == [2]
    assert "no Python program" in judged.findings[0].problem


def test_what_a_target_does_not_have(tmp_path):
    text = """
        import tilelang.language as T
        def kernel(A: T.Tensor((4,), T.float16)):
            T.shfl_sync(A[0], 1)
            T.import_source("int x;")
            T.copy(A, A)
            T.alloc_barrier(1)
    """
    assert {f.line for f in report(tmp_path, text, ChosenTarget("cpu")).findings} >= {4}
    offered = pytest.importorskip("tile_cuda.language").NAMES
    assert "alloc_barrier" in offered
    judged = report(tmp_path, text, ChosenTarget("cpu"))
    assert "alloc_barrier" in " ".join(f.name for f in judged.findings)
    assert not report(tmp_path, text, ChosenTarget("cuda -arch=sm_90a")).findings


def test_uses_have_their_keywords_and_texts():
    program = read_program("import tilelang as tl\ntl.compile(f, target='c', **more)\nx = tl.env.env.A\n", "f.py")
    assert [(use.path, use.keywords, use.texts) for use in program.uses] == [
        (("compile",), ("target",), (("target", "c"),)),
        (("env", "env", "A"), None, ()),
    ]


def run(capsys, *words):
    with pytest.raises(SystemExit) as ended:
        cli.main(["port", *map(str, words)])
    return ended.value.code, capsys.readouterr().out


def test_the_command(tmp_path, capsys):
    good, bad = tmp_path / "good.py", tmp_path / "bad.py"
    good.write_text(dedent(GOOD))
    bad.write_text(dedent(BAD))
    code, text = run(capsys, good)
    assert code == 0
    assert "good.py:2: write: import tilecore as tilelang" in text
    assert "good.py: nothing else stands in the way" in text
    code, text = run(capsys, good, bad)
    assert code == 1
    assert "bad.py:11:9: T.no_such_name: " in text
    assert "    help: " in text
    code, text = run(capsys, bad, "--json", "--target", "cpu")
    data = json.loads(text)
    assert code == 1
    assert data["would_run"] is False
    assert data["target"].startswith("cpu")
    assert {finding["line"] for finding in data["files"][0]["findings"]} >= {4, 5, 6, 8, 11, 12}
    (tmp_path / "other.py").write_text("print(1)")
    (tmp_path / ".hidden").mkdir()
    (tmp_path / ".hidden" / "bad.py").write_text(dedent(BAD))
    code, text = run(capsys, tmp_path)
    assert code == 1
    assert "3 files: 1 would run, 1 would not, 1 does not import TileLang\n" in text
    assert "other.py:" not in text
    assert ".hidden" not in text
    code, text = run(capsys, tmp_path / "none.py")
    assert code == 1
    assert "tilelang" not in sys.modules


def test_uses_of_what_cannot_be_imported_have_the_reason_of_the_import(tmp_path):
    text = """
        from tilelang import no_such_module
        import tilelang.nothing.part
        no_such_module.f(1)
        no_such_module
        tilelang.nothing.part.g
        tilelang.nothing.other
        try:
            from tilelang import gone
        except ImportError:
            gone = None
        gone.f()
    """
    findings = report(tmp_path, text).findings
    assert [finding.line for finding in findings] == [2, 3, 4, 5, 6, 7]
    first, second, *uses, other = findings
    assert [(use.problem, use.instead) for use in uses] == [(f.problem, f.instead) for f in (first, first, second)]
    assert other.problem == "module 'tilecore' has no attribute 'nothing'"


def test_attributes_of_classes(tmp_path):
    (finding,) = report(tmp_path, "import tilelang\ntilelang.GemmWarpPolicy.Squar\n").findings
    assert finding.problem.endswith("GemmWarpPolicy has no attribute 'Squar'")
    assert finding.instead == "did you mean 'Square'?"


def test_files_that_cannot_be_read(tmp_path):
    (tmp_path / "a.py").write_bytes(b"x = '\xff'\n")
    (tmp_path / "b.py").write_text("x = " + "(" * 500 + ")" * 500)
    reports = [judge_file(tmp_path / name) for name in ("a.py", "b.py", "none.py")]
    assert [report.would_run for report in reports] == [False] * 3
    assert "no Python program" in reports[0].findings[0].problem
    assert "No such file" in reports[2].findings[0].problem
