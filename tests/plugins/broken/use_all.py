"""Uses every kind named on the command line, step by step, and prints what happened as JSON. Run in a subprocess.

{kind: {"step": first step that failed or "none", "type", "says", "text", "cause", "seconds"}}
"""

from __future__ import annotations

import json
import os
import signal
import sys

from tilecore.errors import TilecoreError
from tilecore.plugins import manager
from tilecore.plugins.backend import BuildRequest


def steps(kind):
    """(name, function) of everything that the core calls, in the order in which it would."""
    state = {}

    def resolve():
        state["backend"], state["target"] = manager.resolve(kind)
        state["adapter"] = state["backend"].adapters["plain"]

    def load():
        state["loaded"] = state["adapter"].load(None)

    yield "resolve", resolve
    backend, target, adapter = state["backend"], state["target"], state["adapter"]
    yield "detect", backend.target.detect
    yield "capabilities", lambda: backend.target.capabilities(target)
    yield "lowering", lambda: backend.lowering
    yield "stand_in", lambda: backend.lowering.stand_in(target)
    yield "register", backend.codegen.register
    yield "find", backend.toolchain.find
    yield "build", lambda: backend.toolchain.build(BuildRequest("k", "source", ("k",), target))
    yield "version", lambda: backend.toolchain.version(target)
    yield "available", lambda: adapter.available(target)
    yield "current_stream", lambda: adapter.current_stream(0)
    yield "synchronize", lambda: adapter.synchronize()
    yield "load", load
    yield "launch", lambda: state["loaded"].launch(0, 0, 0)
    yield "error", lambda: state["loaded"].error(1)


def use(kind):
    outcome = {"step": "none"}
    for name, step in steps(kind):
        try:
            step()
        except TilecoreError as error:
            again = _again(step)
            cause = type(error.__cause__).__name__ if error.__cause__ else None
            outcome = {"step": name, "type": type(error).__name__, "says": error.message, "text": str(error)}
            return outcome | {"cause": cause, "hint": error.hint, "again": again}
    return outcome


def _again(step):
    """What a second try says: the same, or None when it does not fail the same way."""
    try:
        step()
    except TilecoreError as error:
        return error.message
    return None


def main() -> None:
    hook, handler = sys.excepthook, signal.getsignal(signal.SIGINT)
    outcome = {kind: use(kind) for kind in sys.argv[1:]}
    outcome["process"] = {
        "hook": sys.excepthook is hook,
        "handler": signal.getsignal(signal.SIGINT) is handler,
        "variable": os.environ.get("SIDE_EFFECT"),
        "stdout": sys.stdout is sys.__stdout__,
        "tvm": "tvm" in sys.modules,
        "torch": "torch" in sys.modules,
    }
    print(json.dumps(outcome))


main()
