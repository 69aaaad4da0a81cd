"""``tilecore passes``: the real order, names, packages; --dump writes a kernel's IR after every one of them."""

from __future__ import annotations

import json
import re

import pytest

from tilecore.cli import main
from tilecore.lowering.listing import first_sentence, listed_steps
from tilecore.plugins import manager

KERNEL = """
import tilecore, tilecore.language as T

@T.prim_func
def double(A: T.Tensor((8,), "float32")):
    with T.Kernel(1):
        for i in T.Parallel(8):
            A[i] = A[i] * 2.0
"""


def output(capsys, *words):
    with pytest.raises(SystemExit) as ended:
        main(["passes", *words])
    return ended.value.code, capsys.readouterr()


def test_every_pass_that_runs_is_listed_in_its_order(capsys, tmp_path):
    (tmp_path / "kernel.py").write_text(KERNEL)
    folder = tmp_path / "ir"
    code, printed = output(capsys, "--target", "cpu", "--dump", str(folder), str(tmp_path / "kernel.py"))
    assert code == 0
    assert str(folder) in printed.err
    after = [re.fullmatch(r"\d+_after_(\w+)\.py", path.name) for path in sorted((folder / "double").iterdir())]
    ran = [match[1] for match in after if match]
    listed = [line.split()[0] for line in printed.out.partition("\n\n")[0].splitlines() if line[:1] not in (" ", "[")]
    assert ran == listed
    assert "flatten_buffers" in ran


def test_extension_points_stand_where_they_are(capsys):
    _, printed = output(capsys, "--target", "cpu")
    points = [line for line in printed.out.splitlines() if line.startswith("[")]
    assert points == ["[before_tile_ops]", "[after_tile_ops]", "[before_vectorize]", "[before_outline]"]
    assert all(len(line) <= 120 for line in printed.out.splitlines())


def test_options_of_a_target_follow_its_passes(capsys):
    _, printed = output(capsys, "--target", "cpu")
    assert "tl.enable_dump_ir bool False tilecore write the files" in " ".join(printed.out.partition("\n\n")[2].split())


@pytest.mark.parametrize("target", manager.kinds())
def test_every_pass_says_what_it_does(capsys, target):
    code, printed = output(capsys, "--target", target, "--json")
    assert code == 0
    listed = json.loads(printed.out)
    assert {"tl.enable_dump_ir", "tl.dump_ir_path"} <= {option["name"] for option in listed["options"]}
    assert all(option["doc"] and option["package"] and option["type"] for option in listed["options"])
    steps = [step for step in listed["steps"] if step["kind"] == "pass"]
    assert len({step["name"] for step in steps}) == len(steps)
    for step in steps:
        assert step["does"].endswith("."), step
        assert step["package"], step
        assert step["module"].startswith(step["package"]), step
    assert [s.name for s in listed_steps(manager.resolve(target)[0])] == [s["name"] for s in listed["steps"]]


@pytest.mark.parametrize("words", [["--dump", "x"], ["kernel.py"]])
def test_a_dump_needs_a_kernel_and_a_folder(capsys, words):
    code, printed = output(capsys, "--target", "cpu", *words)
    assert code == 1
    assert "--dump and FILE[:NAME] belong together" in printed.err


def test_arguments_of_a_kernel_need_a_dump(capsys):
    code, printed = output(capsys, "--target", "cpu", "--set", "X=Y")
    assert code == 1
    assert printed.err.startswith("tilecore: --set works only together with --dump")
    assert "found: --set X=Y" in printed.err
    assert printed.out == ""


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("One. Two.", "One."),
        ("Two lines\nof one sentence. More.", "Two lines of one sentence."),
        ("Uses T.copy (and 2. too) as it is. Next\n\nAnother.", "Uses T.copy (and 2. too) as it is."),
        ("No end", "No end"),
        ("", ""),
    ],
)
def test_first_sentence(text, sentence):
    assert first_sentence(text) == sentence
