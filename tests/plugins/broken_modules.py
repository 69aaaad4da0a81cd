"""Packages whose module is broken as a whole, or that are no variant of the healthy one."""

from __future__ import annotations

from broken_packages import BrokenPackage

PACKAGES = (
    BrokenPackage(
        "adapter_half_timer",
        "The adapter's stop watch cannot be stopped.",
        step="timer",
        says="plain.timer returned a wrong value",
        module="""\
from tile_healthy import Healthy, HealthyAdapter, HealthyTimer


class BrokenTimer(HealthyTimer):
    stop = None


class BrokenAdapter(HealthyAdapter):
    def timer(self, device_index=0, backend="event"):
        return BrokenTimer()


class Broken(Healthy):
    kind = "adapter_half_timer"
    adapter = BrokenAdapter


plugin = Broken()
""",
    ),
    BrokenPackage(
        "adapter_nonsense_from_timer_elapsed",
        "The adapter's stop watch has no time.",
        step="timer_elapsed",
        says="plain.timer().elapsed returned a wrong value",
        module="""\
from tile_healthy import Healthy, HealthyAdapter, HealthyTimer


class BrokenTimer(HealthyTimer):
    def elapsed(self):
        return float("nan")


class BrokenAdapter(HealthyAdapter):
    def timer(self, device_index=0, backend="event"):
        return BrokenTimer()


class Broken(Healthy):
    kind = "adapter_nonsense_from_timer_elapsed"
    adapter = BrokenAdapter


plugin = Broken()
""",
    ),
    BrokenPackage(
        "adapter_raises_in_timer_elapsed",
        "The adapter's stop watch raises in elapsed.",
        step="timer_elapsed",
        says="plain.timer().elapsed raised RuntimeError: boom",
        module="""\
from tile_healthy import Healthy, HealthyAdapter, HealthyTimer


class BrokenTimer(HealthyTimer):
    def elapsed(self):
        raise RuntimeError("boom")


class BrokenAdapter(HealthyAdapter):
    def timer(self, device_index=0, backend="event"):
        return BrokenTimer()


class Broken(Healthy):
    kind = "adapter_raises_in_timer_elapsed"
    adapter = BrokenAdapter


plugin = Broken()
""",
    ),
    BrokenPackage(
        "adapter_raises_in_timer_start",
        "The adapter's stop watch raises in start.",
        step="timer_start",
        says="plain.timer().start raised RuntimeError: boom",
        module="""\
from tile_healthy import Healthy, HealthyAdapter, HealthyTimer


class BrokenTimer(HealthyTimer):
    def start(self):
        raise RuntimeError("boom")


class BrokenAdapter(HealthyAdapter):
    def timer(self, device_index=0, backend="event"):
        return BrokenTimer()


class Broken(Healthy):
    kind = "adapter_raises_in_timer_start"
    adapter = BrokenAdapter


plugin = Broken()
""",
    ),
    BrokenPackage(
        "adapter_raises_in_timer_stop",
        "The adapter's stop watch raises in stop.",
        step="timer_stop",
        says="plain.timer().stop raised RuntimeError: boom",
        module="""\
from tile_healthy import Healthy, HealthyAdapter, HealthyTimer


class BrokenTimer(HealthyTimer):
    def stop(self):
        raise RuntimeError("boom")


class BrokenAdapter(HealthyAdapter):
    def timer(self, device_index=0, backend="event"):
        return BrokenTimer()


class Broken(Healthy):
    kind = "adapter_raises_in_timer_stop"
    adapter = BrokenAdapter


plugin = Broken()
""",
    ),
    BrokenPackage(
        "base_exception",
        "The module raises something that `except Exception` does not catch, as some extension modules do.",
        step="resolve",
        says="importing base_exception:plugin raised Panic: the driver panicked",
        targets="broken",
        module="""\
class Panic(BaseException):
    pass


raise Panic("the driver panicked")
""",
    ),
    BrokenPackage(
        "core_error",
        "One of tilecore's own errors while it is imported is the package's fault all the same.",
        step="resolve",
        says="importing core_error:plugin raised UnsupportedError: no such chip",
        targets="broken",
        module="""\
from tilecore.errors import UnsupportedError

raise UnsupportedError("no such chip")
""",
    ),
    BrokenPackage(
        "import_error",
        "A dependency of the package is missing.",
        step="resolve",
        says="importing import_error:plugin raised ModuleNotFoundError: No module named 'acme_sdk'",
        targets="broken",
        module="""\
import acme_sdk

plugin = acme_sdk.plugin
""",
    ),
    BrokenPackage(
        "missing_hooks",
        "Only one of the needed hooks is there.",
        step="resolve",
        says="lacks a hook that every backend needs",
        targets="broken",
        module="""\
from tilecore.contract.hookspecs import hookimpl


class Broken:
    @hookimpl
    def tilecore_target(self):
        return None


plugin = Broken()
""",
    ),
    BrokenPackage(
        "newer_module",
        "It imports a record that only a newer tilecore has.",
        step="resolve",
        says="raised ImportError: cannot import name 'Tuning'",
        targets="broken",
        module="""\
from tilecore.contract.records import Tuning

plugin = Tuning
""",
    ),
    BrokenPackage(
        "no_builder",
        "An adapter loads binaries, and nothing builds them.",
        step="resolve",
        says="an adapter loads binaries that nothing builds",
        module="""\
from tile_healthy import HealthyAdapter

from tilecore.contract.hookspecs import hookimpl
from tilecore.contract.records import Codegen, Lowering, Presence, TargetSpec


class Broken:
    @hookimpl
    def tilecore_target(self):
        return TargetSpec("no_builder", "builds nothing", lambda target: None, lambda: Presence(False, ""))

    @hookimpl
    def tilecore_lowering(self):
        return Lowering("none")

    @hookimpl
    def tilecore_codegen(self):
        return Codegen("target.build.tilecore_no_builder", "txt", lambda: None)

    @hookimpl
    def tilecore_adapters(self):
        return [HealthyAdapter()]


plugin = Broken()
""",
    ),
    BrokenPackage(
        "other_kind",
        "The entry point and the hook disagree about the kind.",
        step="resolve",
        says="its entry point and its tilecore_target name different kinds",
        targets="broken",
        module="""\
from tile_healthy import Healthy


class Broken(Healthy):
    kind = "another_kind"


plugin = Broken()
""",
    ),
    BrokenPackage(
        "side_effects",
        "The import changes the process; the worst is put back, the rest reported.",
        step="none",
        module="""\
import os
import signal
import sys
import tempfile
import warnings

from tile_healthy import Healthy

print("a plugin has no business printing")
sys.excepthook = lambda *error: None
signal.signal(signal.SIGINT, signal.SIG_IGN)
os.environ["SIDE_EFFECT"] = "1"
os.chdir(tempfile.gettempdir())
warnings.simplefilter("ignore")


class Noisy(Healthy):
    kind = "side_effects"


plugin = Noisy()
""",
    ),
    BrokenPackage(
        "slow_import",
        "The import takes long, and then all works.",
        step="none",
        targets="slow",
        module="""\
import time

from tile_healthy import Healthy

time.sleep(2.2)


class Slow(Healthy):
    kind = "slow_import"


plugin = Slow()
""",
    ),
    BrokenPackage(
        "syntax_error",
        "Not Python.",
        step="resolve",
        says="importing syntax_error:plugin raised SyntaxError",
        targets="broken",
        module="""\
plugin = = 1
""",
    ),
    BrokenPackage(
        "system_exit",
        "The module ends the program, as a script would.",
        step="resolve",
        says="importing system_exit:plugin raised SystemExit: 3",
        targets="broken",
        module="""\
import sys

sys.exit(3)
""",
    ),
    BrokenPackage(
        "unprintable_error",
        "An exception whose own text cannot be printed.",
        step="resolve",
        says="importing unprintable_error:plugin raised Unprintable: (its message cannot be printed)",
        targets="broken",
        module="""\
class Unprintable(Exception):
    def __str__(self):
        raise RuntimeError("no")


raise Unprintable
""",
    ),
    BrokenPackage(
        "uses_itself",
        "The import looks its own target up, which would go on for ever.",
        step="resolve",
        says="it uses its own target while the target is being loaded",
        targets="broken",
        module="""\
from tilecore.plugins import manager

plugin = manager.get("uses_itself")
""",
    ),
)
