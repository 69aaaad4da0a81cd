"""Packages that hang, or end the whole process, while they are loaded or looked at."""

from __future__ import annotations

from broken_packages import BrokenPackage

PACKAGES = (
    BrokenPackage(
        "crashes",
        "The import crashes the interpreter, as a bad extension module does.",
        targets="crashed",
        says="ended the whole process while it was loaded (signal 11)",
        module="""\
import os
import signal

signal.signal(signal.SIGSEGV, signal.SIG_DFL)
os.kill(os.getpid(), signal.SIGSEGV)
plugin = None
""",
    ),
    BrokenPackage(
        "exits",
        "The import ends the process without ado.",
        targets="crashed",
        says="ended the whole process while it was loaded (exit code 7)",
        module="""\
import os

os._exit(7)
""",
    ),
    BrokenPackage(
        "hangs",
        "The import never ends, and what it started outlives it.",
        targets="hung",
        says="did not finish loading within",
        module="""\
import subprocess
import sys
import time

subprocess.Popen([sys.executable, "-c", "import time; time.sleep(30)"])
time.sleep(1000)
plugin = None
""",
    ),
    BrokenPackage(
        "hangs_in_detect",
        "Loads, and then looks for its device for ever.",
        targets="hung",
        says="did not finish loading within",
        module="""\
import time

from tile_healthy import Healthy


class Broken(Healthy):
    kind = "hangs_in_detect"

    def detect(self):
        time.sleep(1000)


plugin = Broken()
""",
    ),
)
