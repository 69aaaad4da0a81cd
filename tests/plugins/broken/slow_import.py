"""The import takes long, and then all works.

step: none
targets: slow
"""

import time

from tile_healthy import Healthy

time.sleep(2.2)


class Slow(Healthy):
    kind = "slow_import"


plugin = Slow()
