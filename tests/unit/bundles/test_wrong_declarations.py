"""Wrong declarations for ``tilecore compile``: each error says which kernel, where it is declared and what to give."""

from __future__ import annotations

import json

import pytest
from bundle_kit import KERNELS

import tilecore

WRONG = (
    KERNELS
    + """

def plain(n):
    return n


@tilecore.jit(target="cpu", pass_configs={"no.such.option": 1})
def misconfigured(n):
    return twice


@tilecore.jit(target="nothing")
def elsewhere(n):
    return twice


def tilecore_kernels():
    yield add, (4, 4)
    yield from wrong()


def wrong():
    ITEMS
"""
)


@pytest.mark.parametrize(
    ("item", "label", "reason", "hint"),
    [
        ("add, (4,)", "add(4) for cpu", "add(): an argument is missing: N", 'yield add, {"M": 4, "N": ...}'),
        ("add", "add() for cpu", "add(): arguments are missing: M, N", 'yield add, {"M": ..., "N": ...}'),
        ("'add(4)'", "add(4) for cpu", "add(): an argument is missing: N", 'yield "add(4, N=...)"'),
        ("add, (1, 2, 3, 4)", "add(1, 2, 3, 4) for cpu", "add(): too many positional arguments", ""),
        ("'subtract(4)'", "subtract(4) for cpu", "has no kernel 'subtract'", "functions that the file imports"),
        ("'add(4, '", "add(4, for cpu", "the call cannot be read", ""),
        ("scaled, {'M': -1, 'N': 4}", "scaled(M=-1, N=4) for cpu", "M=-1 is no size", ""),
        ("scaled, {'M': 4}", "scaled(M=4) for cpu", "the value of T.const 'N' is not known", ""),
        ("add, 4, 4", "for cpu", "gives something that is no kernel", "yield add, (4, 4)"),
        ("plain, 3", "plain(3) for cpu", "plain returned int, not a kernel", ""),
        ("misconfigured, 3", "misconfigured(3) for cpu", "unknown pass configuration 'no.such.option'", ""),
        ("elsewhere, 3", "elsewhere(3) for nothing", "no installed backend offers the target 'nothing'", ""),
    ],
)
def test_a_wrong_declaration_does_not_stop_the_others_either(run, tmp_path, item, label, reason, hint):
    """With --keep-going it is one that fails, else the error of the command. Both name the line and what to give."""
    source = WRONG.replace("ITEMS", f"yield {item}\n    yield twice")
    (tmp_path / "kernels.py").write_text(source)
    line = 1 + source.splitlines().index(f"    yield {item}")
    code, printed, told = run("compile", "kernels.py", "--target", "cpu", "--keep-going")
    assert (code, told) == (1, "")
    assert "2 kernels for 1 target" in printed
    assert ", 1 failed: kernels.tcb, " in printed
    _, failed = printed.split("\nfailed: ")
    assert label in failed.splitlines()[0]
    assert reason in failed
    assert hint in failed
    assert list(tilecore.load_bundle("kernels.tcb")) == ["add(4, 4)", "twice"]
    code, printed, told = run("compile", "kernels.py", "--target", "cpu", "-o", "other.tcb")
    assert code == 1
    assert reason in printed + told
    assert hint in printed + told
    assert "Traceback" not in printed + told
    assert not (tmp_path / "other.tcb").exists()
    is_of_the_call = told != "" and not item.startswith(("misconfigured", "elsewhere"))
    assert (f"  --> {tmp_path / 'kernels.py'}:{line}:1\n" in told) == is_of_the_call


def test_a_wrong_call_does_not_stop_the_others_either(run, tmp_path):
    (tmp_path / "kernels.py").write_text(KERNELS)
    calls = ("--call", "add(4, 4)", "--call", "add(4)", "--call", "subtract(4)")
    code, printed, _ = run("compile", "kernels.py", "--target", "cpu", *calls, "--keep-going", "--list", "--json")
    facts = json.loads(printed)
    assert code == 1
    assert [kernel["kernel"] for kernel in facts["kernels"]] == ["add(4, 4)"]
    assert [kernel["kernel"] for kernel in facts["failed"]] == ["add(4)", "subtract(4)"]
    assert 'give all arguments: --call "add(4, N=...)"' in facts["failed"][0]["error"]
    code, printed, _ = run("compile", "kernels.py", "--target", "cpu", *calls, "--keep-going", "--list")
    assert "1 kernel, 2 failed" in printed
    code, printed, _ = run("compile", "kernels.py", "--target", "cpu;cpu -march=generic", *calls, "--keep-going")
    assert "failed: add(4) for cpu, add(4) for cpu -march=generic: add(): an argument is missing: N" in printed
    assert list(tilecore.load_bundle("kernels.tcb")) == ["add(4, 4)"]
    code, printed, _ = run("compile", "kernels.py", "--target", "cpu", *calls[2:], "--keep-going")
    assert code == 1
    assert "0 kernels for 0 targets in 0.0 s, 2 failed: no bundle is written" in printed


PRINTING = KERNELS + "\n\nprint('from the file')\n"


def test_what_the_file_prints_is_no_part_of_the_data(run, tmp_path):
    (tmp_path / "kernels.py").write_text(PRINTING)
    for words in (("compile", "kernels.py:twice", "--target", "cpu"), ("explain", "kernels.py:twice")):
        code, printed, told = run(*words, "--json")
        assert code == 0
        assert isinstance(json.loads(printed), dict)
        assert "from the file\n" in told
    _, printed, _ = run("compile", "kernels.py:twice", "--target", "cpu")
    assert "from the file\n" in printed


def test_a_plain_function_whose_body_is_the_kernel(run, tmp_path):
    (tmp_path / "kernels.py").write_text(KERNELS.replace('@tilecore.jit(target="cpu")\ndef scaled', "def scaled"))
    code, _, told = run("compile", "kernels.py", "--target", "cpu")
    assert code == 0, told
    assert "scaled(M=6, N=8)" in tilecore.load_bundle("kernels.tcb")


def test_tensors_of_one_type_are_one_kernel(run, tmp_path):
    items = "\n    yield ".join(["scaled, (np.zeros((3, 4), 'float32'),)", "scaled, (np.ones((3, 4), 'float32'),)"])
    (tmp_path / "kernels.py").write_text(
        f"import numpy as np\n{KERNELS}\n\ndef tilecore_kernels():\n    yield {items}\n"
    )
    code, _, told = run("compile", "kernels.py", "--target", "cpu")
    assert code == 0, told
    assert list(tilecore.load_bundle("kernels.tcb")) == ["scaled(float32[3, 4])"]
