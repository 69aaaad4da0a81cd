"""The import never ends, and what it started outlives it.

targets: hung
says: did not finish loading within
"""

import subprocess
import sys
import time

subprocess.Popen([sys.executable, "-c", "import time; time.sleep(30)"])
time.sleep(1000)
plugin = None
