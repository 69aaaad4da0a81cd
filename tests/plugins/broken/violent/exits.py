"""The import ends the process without ado.

targets: crashed
says: ended the whole process while it was loaded (exit code 7)
"""

import os

os._exit(7)
