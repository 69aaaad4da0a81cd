"""The import crashes the interpreter, as a bad extension module does.

targets: crashed
says: ended the whole process while it was loaded (signal 11)
"""

import os
import signal

signal.signal(signal.SIGSEGV, signal.SIG_DFL)
os.kill(os.getpid(), signal.SIGSEGV)
plugin = None
