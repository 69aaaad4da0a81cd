"""One of tilecore's own errors while it is imported is the package's fault all the same.

step: resolve
says: importing core_error:plugin raised UnsupportedError: no such chip
targets: broken
"""

from tilecore.errors import UnsupportedError

raise UnsupportedError("no such chip")
