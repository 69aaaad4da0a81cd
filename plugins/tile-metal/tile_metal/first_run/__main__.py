"""The command line of the first run."""

from __future__ import annotations

import sys

from tile_metal.first_run.plan import FIRST_RUN
from tilecore.testing.first_run.command_line import main

if __name__ == "__main__":
    sys.exit(main(FIRST_RUN))
