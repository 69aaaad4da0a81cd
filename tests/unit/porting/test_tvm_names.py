"""Names of TVM: those that the installed one does not have are listed, with the place where it has them."""

from __future__ import annotations

from textwrap import dedent

import pytest
from fresh_processes import output_of

from tilecore.ir.nodes import tvm
from tilecore.porting.judge import judge_file
from tilecore.porting.tvm_names import MOVED, missing


def findings(tmp_path, text):
    path = tmp_path / "program.py"
    path.write_text(dedent(text))
    return judge_file(path).findings


def test_names_that_the_installed_tvm_has(tmp_path):
    text = """
        import tvm
        import tvm.testing
        from tvm import tirx, DataType
        from tvm.tirx import PrimFunc
        from tilelang import tvm as other
        tirx.Var("x", "int32"); tvm.ir.Op.get("x"); other.IRModule.from_expr; tvm.target.Target("c").kind.name
    """
    assert findings(tmp_path, text) == []


def test_names_that_it_does_not_have(tmp_path):
    text = """
        from tilelang import tvm
        from tvm import tir
        from tvm.no_such import thing
        tvm.arith.Analyzer()
        tir.Buffer
        tvm.ir.structural_equal
        tvm.tirx.PrimFunk
        tvm.tirx.no_such_name
        tvm.tl.language
    """
    by_line = {finding.line: finding for finding in findings(tmp_path, text)}
    assert sorted(by_line) == [3, 4, 5, 6, 7, 8, 9, 10]
    assert by_line[3].problem.endswith(") has no tvm.tir")
    assert by_line[3].instead == "write tvm.tirx for tvm.tir: from tvm import tirx"
    assert by_line[4].name == "tvm.no_such.thing"
    assert by_line[5].instead == "write tvm.sym for tvm.arith: from tvm import sym"
    assert by_line[6].instead == by_line[3].instead
    assert by_line[7].instead == "write tvm_ffi.structural_equal: from tvm_ffi import structural_equal"
    assert by_line[8].instead == "did you mean tvm.tirx.PrimFunc?"
    assert "TileLang brings a TVM of its own" in by_line[9].instead
    assert "write tilecore.language for tvm.tl.language" in by_line[10].instead


def test_attributes_of_objects_are_not_looked_up():
    assert missing(("tvm", "__version__", "no_such")) is None


@pytest.mark.parametrize(("old", "new"), MOVED.items())
def test_modules_that_have_another_name_have_it(old, new):
    assert not hasattr(tvm, old)
    assert hasattr(tvm, new)


def test_an_import_that_the_program_can_do_without_is_not_judged(tmp_path):
    assert findings(tmp_path, "import tilelang\ntry:\n    from tvm import arith\nexcept ImportError:\n    pass\n") == []


def test_tvm_is_imported_for_programs_that_name_it_alone(tmp_path):
    path = tmp_path / "a.py"
    path.write_text("import tilelang\nimport tilelang.language as T\ntilelang.no_such_name\n")
    code = f"import sys\nfrom tilecore.porting.judge import judge_file\nreport = judge_file({str(path)!r})\n"
    assert output_of(f"{code}print(len(report.findings), 'tvm' in sys.modules)") == "1 False\n"
