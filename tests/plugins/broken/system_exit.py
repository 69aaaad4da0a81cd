"""The module ends the program, as a script would.

step: resolve
says: importing system_exit:plugin raised SystemExit: 3
targets: broken
"""

import sys

sys.exit(3)
