"""Loads, and then looks for its device for ever.

targets: hung
says: did not finish loading within
"""

import time

from tile_healthy import Healthy


class Broken(Healthy):
    kind = "hangs_in_detect"

    def detect(self):
        time.sleep(1000)


plugin = Broken()
