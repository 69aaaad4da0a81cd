"""Uses every kind named on the command line, step by step, and prints what happened as JSON. Run in a subprocess.

{kind: {"step": first step that failed or "none", "type", "says", "text", "cause", "seconds"}}
"""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile

from tilecore.contract.records import BuildRequest, InstallRequest
from tilecore.errors import TilecoreError
from tilecore.plugins import manager


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
    yield "known_failures", lambda: backend.target.known_failures(target)
    yield "refused_names", lambda: backend.target.refused_names(target)
    yield "lowering", lambda: backend.lowering
    yield "register", backend.codegen.register
    yield "find", backend.toolchain.find
    yield "build", lambda: backend.toolchain.build(BuildRequest("k", "source", ("k",), target))
    yield "version", lambda: backend.toolchain.version(target)
    yield "describe", lambda: backend.toolchain.describe(b"binary")
    yield "remarks", lambda: backend.toolchain.remarks(None)
    yield "installed", lambda: backend.toolchain.installable.installed(tempfile.gettempdir())
    yield "install", lambda: backend.toolchain.installable.install(InstallRequest(tempfile.mkdtemp()))
    yield "available", lambda: adapter.available(target)
    yield "target", lambda: adapter.target(target)
    yield "fit", lambda: adapter.fit(target, target)
    yield "machine", lambda: adapter.machine(target)
    yield "host_code", lambda: adapter.host_code(None)
    yield "current_stream", lambda: adapter.current_stream(0)
    yield "capture", lambda: adapter.capture(0, 0)
    yield "synchronize", lambda: adapter.synchronize()
    yield "torch_device", lambda: adapter.torch_device(0)
    yield "empty", lambda: adapter.empty((2, 3), "float32", 0)
    yield "largest_run", lambda: adapter.largest_run()
    yield "allocate", lambda: adapter.allocate(64, 0)
    yield "device_ranges", lambda: adapter.device_ranges()
    yield "foreign_tensor", lambda: adapter.foreign_tensor(object(), lambda index: 0)
    yield "timer", lambda: state.update(timer=adapter.timer(0, "event"))
    yield "timer_start", lambda: state["timer"].start()
    yield "timer_stop", lambda: state["timer"].stop()
    yield "timer_elapsed", lambda: state["timer"].elapsed()
    yield "load", load
    yield "launch", lambda: state["loaded"].launch(0, 0, 0)
    yield "error", lambda: state["loaded"].error(1)
    yield "advice", lambda: state["loaded"].advice(1)


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
