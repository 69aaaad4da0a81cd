"""A vendor's script is run in a separate shell, to read its variables."""

from __future__ import annotations

import os
import time

import pytest
from tile_tpu.toolchain.environment import sourced

from tilecore.errors import ToolchainError


def script(tmp_path, text, name="envsetup.sh"):
    path = tmp_path / name
    path.write_text(text)
    return path


def test_variables_and_nothing_else(monkeypatch, tmp_path, capfd):
    monkeypatch.setenv("SECRET_OF_OURS", "1")
    monkeypatch.setenv("CHIP", "bm1688")
    text = "echo noise; echo more >&2; cd /; export A='two words' B=\"$CHIP\" C=$SECRET_OF_OURS PATH=/x:$PATH; D=local"
    variables = sourced(script(tmp_path, text))
    assert variables["A"] == "two words"
    assert variables["B"] == "bm1688"
    assert variables["C"] == ""  # the shell does not get our environment
    assert variables["PATH"].startswith("/x:")
    assert "D" not in variables
    assert "HOME" not in variables  # it is as it was
    assert "A" not in os.environ
    assert capfd.readouterr() == ("", "")


def test_awkward_paths_and_values(tmp_path):
    folder = tmp_path / "a folder's $name"
    folder.mkdir()
    variables = sourced(
        script(folder, 'export LINES_OF="one\ntwo=2" EMPTY=\nexport WHERE="$BASH_SOURCE" ARGUMENTS="$#"')
    )
    assert variables["LINES_OF"] == "one\ntwo=2"
    assert variables["EMPTY"] == ""
    assert variables["WHERE"].endswith("envsetup.sh")
    assert variables["ARGUMENTS"] == "0"


@pytest.mark.parametrize("text", ["exit 3", "set -e; false; export A=1", "kill -9 $$", "return 1", "if then"])
def test_scripts_that_fail(tmp_path, text):
    with pytest.raises(ToolchainError, match="does not set up an environment") as caught:
        sourced(script(tmp_path, f"echo what went wrong\n{text}"))
    if text != "if then":
        assert "what went wrong" in (caught.value.found or "")


def test_a_script_that_does_not_end_is_stopped_with_its_children(tmp_path):
    mark = tmp_path / "alive"
    path = script(tmp_path, f"(while true; do touch '{mark}'; sleep 0.05; done) &\nsleep 100")
    start = time.monotonic()
    with pytest.raises(ToolchainError, match=r"did not end within 0\.5 s"):
        sourced(path, seconds=0.5)
    assert time.monotonic() - start < 20
    time.sleep(0.3)
    mark.unlink(missing_ok=True)
    time.sleep(0.3)
    assert not mark.exists()


def test_a_changed_script_is_run_again(tmp_path):
    path = script(tmp_path, "export A=1; echo x >> count")
    assert sourced(path)["A"] == "1"
    assert sourced(path)["A"] == "1"
    script(tmp_path, "export A=2")
    os.utime(path, ns=(1, 1))
    assert sourced(path)["A"] == "2"


def test_no_script(tmp_path):
    with pytest.raises(ToolchainError, match="cannot be read"):
        sourced(tmp_path / "none.sh")
