"""Which launcher is used, and what is stderr about it."""

import pytest
from fresh_processes import imported_by, run_code
from launch_kit import _launcher

needs_build = pytest.mark.skipif(_launcher is None, reason="the extension is not built")


def choose(before="", **environment):
    """(whether built, the reason, standard error) of a fresh process."""
    code = f"{before}\nfrom tilecore.runtime.launcher import Launcher, built\nok, why = built()\n"
    code += "assert Launcher.__module__.endswith('._launcher') == ok\nprint(ok, why)"
    ended = run_code(code, default_settings=True, **environment)
    assert ended.returncode == 0, ended.stderr
    ok, _, why = ended.stdout.strip().partition(" ")
    return ok == "True", why, ended.stderr


@needs_build
def test_the_built_one_where_it_is_built():
    ok, why, stderr = choose()
    assert ok
    assert why.startswith("built: ")
    assert not stderr


def test_the_one_in_python_when_asked_for():
    ok, why, stderr = choose(TILECORE_PURE_PYTHON="1", TILECORE_VERBOSE="1")
    assert (ok, why, stderr) == (False, "TILECORE_PURE_PYTHON is set", "")


NOT_BUILT = "import sys; sys.modules['tilecore.runtime._launcher'] = None"
OTHER_VERSION = (
    "import sys, types; m = types.ModuleType('x'); m.INTERFACE = -1; sys.modules['tilecore.runtime._launcher'] = m"
)


@pytest.mark.parametrize(("before", "reason"), [(NOT_BUILT, "is not built"), (OTHER_VERSION, "has another version")])
def test_the_one_in_python_where_the_built_one_cannot_be_used(before, reason):
    ok, why, stderr = choose(before)
    assert not ok
    assert reason in why
    assert "build_ext --inplace" in why
    assert not stderr
    for verbose in ({"TILECORE_VERBOSE": "1"}, {"TILECORE_DEBUG": "1"}):
        stderr = choose(before, **verbose)[2]
        assert stderr.count("\n") == 1
        assert stderr.startswith("tilecore: the slower launcher in Python is used: ")
    assert not choose(before, TILECORE_DEBUG="wrong")[2]


def test_it_imports_no_tensor_library_and_no_tvm():
    assert imported_by("import tilecore.runtime.launcher") == []
