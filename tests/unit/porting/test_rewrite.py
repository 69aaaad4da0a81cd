"""``tilecore port --fix`` and ``--diff``: the imports are written, and not one other byte changes."""

from __future__ import annotations

import ast
import json
import os
import stat
import subprocess
import sys

import pytest

from tilecore import cli
from tilecore.errors import ArgumentError
from tilecore.module_names.table import MODULES, SAME
from tilecore.porting.judge import judge_file
from tilecore.porting.lookup import is_attribute


def run(capsys, *words):
    with pytest.raises(SystemExit) as ended:
        cli.main(["port", *map(str, words)])
    captured = capsys.readouterr()
    return ended.value.code, captured.out, captured.err


def fixed(path, text):
    """The text after its imports are changed; what is left is checked."""
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    judge_file(path).rewrite.write(path)
    ast.parse(path.read_bytes())
    assert judge_file(path).imports == []
    return path.read_bytes() if isinstance(text, bytes) else path.read_bytes().decode()


FORMS = {
    "import tilelang": "import tilecore as tilelang",
    "import tilelang as tl": "import tilecore as tl",
    "import tilelang, torch": "import tilecore as tilelang, torch",
    "import os, tilelang ,sys": "import os, tilecore as tilelang ,sys",
    "import tilelang.language as T": "import tilecore.language as T",
    "import tilelang.language as T, os": "import tilecore.language as T, os",
    "import tilelang.language": "import tilecore as tilelang",
    "import tilelang\nimport tilelang.testing": "import tilecore as tilelang\nimport tilecore.testing",
    "import tilelang.testing\nimport tilelang": "import tilecore as tilelang\nimport tilecore as tilelang",
    "import tilelang as tl\nimport tilelang.testing": "import tilecore as tl\nimport tilecore as tilelang",
    "import tilelang.testing, tilelang.layout": "import tilecore as tilelang, tilecore.layout",
    "from tilelang import language as T": "from tilecore import language as T",
    "from  tilelang.layout  import Layout  # tilelang": "from  tilecore.layout  import Layout  # tilelang",
    "from tilelang.layout import (  # tilelang\n    Layout,  # of tilelang\n)": (
        "from tilecore.layout import (  # tilelang\n    Layout,  # of tilelang\n)"
    ),
    "from \\\n    tilelang import jit": "from \\\n    tilecore import jit",
    "def f():\n\timport tilelang; x = 'tilelang'": "def f():\n\timport tilecore as tilelang; x = 'tilelang'",
    "try:\n    import tilelang.nothing\nexcept ImportError:\n    pass": (
        "try:\n    import tilecore.nothing, tilecore as tilelang\nexcept ImportError:\n    pass"
    ),
    "import tilelang.no_such_module": "import tilecore.no_such_module, tilecore as tilelang",
    "é = 'é'; import tilelang": "é = 'é'; import tilecore as tilelang",
    "m = importlib.import_module('tilelang.layout')": "m = importlib.import_module('tilecore.layout')",
    'm = pytest.importorskip(r"""tilelang""")': 'm = pytest.importorskip(r"""tilecore""")',
    "from .tilelang import x": "from .tilelang import x",
    "import tilelang_tools, my.tilelang": "import tilelang_tools, my.tilelang",
    "from tilelang_tools import x": "from tilelang_tools import x",
    "import tilecore as tilelang": "import tilecore as tilelang",
    "text = 'import tilelang'  # import tilelang": "text = 'import tilelang'  # import tilelang",
}


@pytest.mark.parametrize("old", FORMS)
def test_forms_of_imports(tmp_path, old):
    path = tmp_path / "program.py"
    path.write_text(old, encoding="utf-8")
    report = judge_file(path)
    if report.rewrite is None:  # it imports nothing of TileLang
        assert FORMS[old] == old
    else:
        assert fixed(path, f"import tilecore\n{old}").removeprefix("import tilecore\n") == FORMS[old]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_ends_of_lines_and_the_byte_order_mark_stay(tmp_path, end, mark):
    lines = ["# é", "import tilelang", "", "def f():", "    from tilelang import (", "        jit,", "    )", "x = 'é'"]
    new = [*lines]
    new[1], new[4] = "import tilecore as tilelang", "    from tilecore import ("
    assert fixed(tmp_path / "f.py", mark + end.join(lines).encode()) == mark + end.join(new).encode()


def test_the_encoding_that_a_file_declares_stays(tmp_path):
    old = "# -*- coding: latin-1 -*-\nx = 'é'; import tilelang  # ü\n".encode("latin-1")
    assert fixed(tmp_path / "f.py", old) == old.replace(b"import tilelang", b"import tilecore as tilelang")


THAT_RUN = [form for form in FORMS if form.startswith("import tilelang") and "tools" not in form and "such" not in form]


@pytest.mark.parametrize("old", THAT_RUN)
def test_what_the_program_uses_is_bound_afterwards(tmp_path, old):
    """The names that Python's import binds are bound to the same parts of tilecore."""
    tree = ast.parse(old)
    names = [alias.asname or "tilelang" for node in tree.body for alias in node.names if "tilelang" in alias.name]
    modules = [alias.name for node in tree.body for alias in node.names if alias.name.startswith("tilelang.")]
    text = fixed(tmp_path / "f.py", old + "\n")
    text += f"import tilecore\n{'; '.join(names)}\n"
    text += "".join(f"{module}\n" for module in modules if "tilelang" in names)
    subprocess.run([sys.executable, "-c", text], check=True, timeout=60)


def test_the_modules_for_which_tilecore_alone_is_imported_are_found_as_attributes():
    """``import tilelang.utils.tensor`` becomes ``import tilecore as tilelang``, in a process that imports nothing
    else."""
    paths = [path for path in ("language", "testing", "layout", "transform", *MODULES, *SAME) if is_attribute(path)]
    assert len(paths) > 30
    code = "import tilecore as tilelang\n" + "".join(f"tilelang.{path}\n" for path in paths)
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_a_module_that_is_no_attribute_is_imported_itself(tmp_path):
    assert not is_attribute("profiler.tensor_supply")
    assert not is_attribute("jit.exceptions"), "tilecore.jit is the decorator"
    text = fixed(tmp_path / "f.py", "import tilelang.profiler.tensor_supply\n")
    assert text == "import tilecore.profiler.tensor_supply, tilecore as tilelang\n"
    subprocess.run([sys.executable, "-c", f"{text}tilelang.profiler.tensor_supply"], check=True, timeout=60)


def test_the_command_says_what_it_wrote_and_keeps_the_permissions(tmp_path, capsys):
    path = tmp_path / "kernels.py"
    path.write_text("import tilelang\nimport tilelang.language as T\nT.no_such_name(1)\n")
    path.chmod(0o755)
    code, text, _ = run(capsys, path)
    assert code == 1
    assert text.endswith("2 import lines of 1 file to change: --fix writes them, --diff shows the changes\n")
    code, text, _ = run(capsys, path, "--fix")
    assert code == 1, "T.no_such_name is still there"
    assert f"{path}:2: wrote: import tilecore.language as T\n" in text
    assert text.endswith("wrote 2 import lines of 1 file\n")
    assert path.read_text() == "import tilecore as tilelang\nimport tilecore.language as T\nT.no_such_name(1)\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o755
    assert list(tmp_path.iterdir()) == [path]
    before = path.stat().st_mtime_ns, path.stat().st_ino
    code, text, _ = run(capsys, path, "--fix")
    assert "wrote" not in text
    assert (path.stat().st_mtime_ns, path.stat().st_ino) == before, "a file without changes is not written"


def test_fix_as_json(tmp_path, capsys):
    path = tmp_path / "kernels.py"
    path.write_text("import tilelang\n")
    code, text, _ = run(capsys, path, "--fix", "--json")
    data = json.loads(text)
    assert code == 0
    assert data["fixed"] is True
    assert data["files"][0]["imports"] == [{"line": 1, "write": "import tilecore as tilelang"}]
    assert path.read_text() == "import tilecore as tilelang\n"


def test_the_diff_is_one_that_patch_applies_and_changes_nothing(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    old = b"\xef\xbb\xbfimport tilelang\r\nx = 1\r\n\r\nfrom tilelang import jit"
    (tmp_path / "a.py").write_bytes(old)
    (tmp_path / "b.py").write_text("x = 1\n")
    code, text, errors = run(capsys, "a.py", "b.py", "--diff")
    assert code == 0
    assert text == (
        "--- a.py\n+++ a.py\n@@ -1,4 +1,4 @@\n"
        "-\ufeffimport tilelang\r\n+\ufeffimport tilecore as tilelang\r\n x = 1\r\n \r\n"
        "-from tilelang import jit\n\\ No newline at end of file\n"
        "+from tilecore import jit\n\\ No newline at end of file\n"
    )
    assert errors == "2 files: 1 would run, 0 would not, 1 does not import TileLang\n"
    assert (tmp_path / "a.py").read_bytes() == old


def test_forms_of_output_that_exclude_one_another(tmp_path, capsys):
    path = tmp_path / "a.py"
    path.write_text("import tilelang\n")
    code, _, errors = run(capsys, path, "--fix", "--diff")
    assert code == 2
    assert "not allowed with argument" in errors
    code, _, errors = run(capsys, path, "--json", "--diff")
    assert code == 1
    assert "expected: one of --diff and --json" in errors
    assert path.read_text() == "import tilelang\n"


def test_a_file_that_changes_meanwhile_is_left_alone(tmp_path):
    path = tmp_path / "a.py"
    path.write_text("import tilelang\n")
    rewrite = judge_file(path).rewrite
    path.write_text("import tilelang  # saved by an editor\n")
    with pytest.raises(ArgumentError, match="cannot be rewritten"):
        rewrite.write(path)
    assert path.read_text() == "import tilelang  # saved by an editor\n"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write every file")
def test_a_file_that_may_not_be_written_is_left_alone(tmp_path):
    path = tmp_path / "a.py"
    path.write_text("import tilelang\n")
    path.chmod(0o444)
    with pytest.raises(PermissionError):
        judge_file(path).rewrite.write(path)
    assert path.read_text() == "import tilelang\n"


def test_installed_packages_are_not_changed(tmp_path, capsys):
    """``tilecore port --fix .`` in a project with a virtual environment that has TileLang."""
    inside = [tmp_path / name for name in ("venv/lib/tilelang.py", "site-packages/x.py", ".git/x.py")]
    for path in (*inside, tmp_path / "a.py"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("import tilelang\n")
    (tmp_path / "venv" / "pyvenv.cfg").touch()
    _, text, _ = run(capsys, tmp_path, "--fix")
    assert text.endswith("wrote 1 import line of 1 file\n")
    assert {path.read_text() for path in inside} == {"import tilelang\n"}
