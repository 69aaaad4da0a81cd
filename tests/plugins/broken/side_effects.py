"""The import changes the process; the worst is put back, the rest reported.

step: none
"""

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
