"""What an import may not leave behind, and what is only reported."""

from __future__ import annotations

import os
import signal
import sys
import threading
import warnings

import pytest

from tilecore.plugins import isolation
from tilecore.plugins.isolation import LoadReport, PluginWarning, watched


@pytest.fixture(autouse=True)
def _put_back(monkeypatch):
    """Whatever a test changes through us is put back after it."""
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    monkeypatch.chdir(os.getcwd())
    monkeypatch.setenv("ISOLATION_TEST", "before")
    handler = signal.getsignal(signal.SIGTERM)
    with warnings.catch_warnings():
        yield
    signal.signal(signal.SIGTERM, handler)


def test_a_decent_import_leaves_no_note():
    result, report = watched("acme", lambda: 42)
    assert result == 42
    assert report.side_effects == ()
    assert 0 <= report.seconds < 1
    assert not report.slow


def test_slow():
    assert LoadReport(2.1).slow
    assert not LoadReport(1.9).slow


def test_hook_and_handlers_are_put_back():
    hook, handler = sys.excepthook, signal.getsignal(signal.SIGTERM)

    def misbehave():
        sys.excepthook = lambda *error: None
        signal.signal(signal.SIGTERM, signal.SIG_IGN)

    with pytest.warns(PluginWarning, match="acme: its import replaced sys.excepthook"):
        _, report = watched("acme", misbehave)
    assert sys.excepthook is hook
    assert signal.getsignal(signal.SIGTERM) is handler
    assert len(report.side_effects) == 2


def test_the_rest_is_left_and_reported(tmp_path):
    def misbehave():
        os.environ["ISOLATION_TEST"] = "after"
        os.environ["ISOLATION_NEW"] = "1"
        os.chdir(tmp_path)
        warnings.simplefilter("ignore")

    with pytest.warns(PluginWarning) as caught:
        _, report = watched("acme", misbehave)
    assert os.environ["ISOLATION_TEST"] == "after"
    del os.environ["ISOLATION_NEW"]
    text = str(caught[0].message)
    assert "ISOLATION_NEW, ISOLATION_TEST" in text
    assert str(tmp_path) in text
    assert "warning filters" in text
    assert len(report.side_effects) == 3


def test_narrow_warning_filters_are_nobodys_business():
    _, report = watched("acme", lambda: warnings.filterwarnings("ignore", message="numpy.ndarray size changed"))
    assert report.side_effects == ()


def test_prints_go_to_stderr_and_are_reported(capsys):
    with pytest.warns(PluginWarning, match="printed 'hello'"):
        watched("acme", lambda: print("hello\nworld"))
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == "hello\nworld\n"


def test_other_threads_print_as_ever(capsys):
    def work():
        thread = threading.Thread(target=lambda: print("mine"))
        thread.start()
        thread.join()

    _, report = watched("acme", work)
    assert report.side_effects == ()
    assert capsys.readouterr().out == "mine\n"


def test_two_imports_at_once_do_not_mix_up_stdout(capsys):
    stdout = sys.stdout
    inside, leave = threading.Event(), threading.Event()

    def first():
        inside.set()
        leave.wait(10)

    thread = threading.Thread(target=watched, args=("first", first))
    thread.start()
    inside.wait(10)
    _, report = watched("second", lambda: leave.set() or thread.join(10))
    assert report.side_effects == ()
    assert sys.stdout is stdout


def test_replaced_stdout_is_put_back():
    stdout = sys.stdout

    def misbehave():
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115

    with pytest.warns(PluginWarning, match=r"replaced sys.stdout"):
        watched("acme", misbehave)
    assert sys.stdout is stdout


def test_an_error_passes_and_is_cleaned_up_after():
    hook, stdout = sys.excepthook, sys.stdout

    def fail():
        sys.excepthook = None
        raise SystemExit(1)

    with pytest.raises(SystemExit):
        watched("acme", fail)
    assert sys.excepthook is hook
    assert sys.stdout is stdout
    assert isolation._watching_stdout.acquire(blocking=False)
    isolation._watching_stdout.release()


def test_in_another_thread_signals_are_left_alone():
    outcome = []
    thread = threading.Thread(target=lambda: outcome.append(watched("acme", lambda: 1)))
    thread.start()
    thread.join()
    assert outcome[0][0] == 1
