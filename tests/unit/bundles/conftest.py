"""Every test has a cache of its own, and no bundles but its own."""

import pytest

from tilecore.bundles import layers
from tilecore.cli import main


@pytest.fixture(autouse=True)
def own_caches(fresh_caches, monkeypatch):
    monkeypatch.setattr(layers, "_layers", {})
    monkeypatch.setattr(layers, "_folders", {})
    monkeypatch.setattr(layers, "_added", [])


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Runs a command in a folder of its own: exit code, output, messages."""
    monkeypatch.chdir(tmp_path)

    def command(*words):
        with pytest.raises(SystemExit) as ended:
            main([str(word) for word in words])
        return ended.value.code, *capsys.readouterr()

    return command
