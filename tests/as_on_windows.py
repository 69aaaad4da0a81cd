"""Makes a process of Linux look like one of Windows to tilecore: what only POSIX systems have is gone, and kernels for
Windows run (tests/unit/backends/cpu/windows_calls.py). Other libraries are imported before, as those of Linux.

    python tests/as_on_windows.py PROGRAM [arguments]
"""

from __future__ import annotations

import importlib
import os
import platform
import runpy
import signal
import sys
from pathlib import Path

import pytest

OTHERS = """
    asyncio concurrent.futures.process ctypes.util multiprocessing.popen_spawn_posix multiprocessing.reduction
    multiprocessing.spawn numpy selectors shutil subprocess tempfile tvm
    """.split()
ONLY_POSIX = {
    os: """fork forkpty register_at_fork getuid geteuid getgid getegid killpg pread pwrite sched_getaffinity
        memfd_create getpgid setsid setpgid O_NOFOLLOW O_CLOEXEC O_NONBLOCK WNOHANG fchmod fchown chown mkfifo sysconf
        uname getloadavg""".split(),
    signal: "pthread_sigmask pthread_kill SIGKILL SIGHUP SIGUSR1 SIGALRM SIG_BLOCK SIG_UNBLOCK SIG_SETMASK".split(),
}
MODULES = "fcntl resource pwd grp termios pty tty syslog".split()


def hide() -> None:
    """Removes what only POSIX systems have."""
    for module, names in ONLY_POSIX.items():
        for name in names:
            vars(module).pop(name, None)
    for name in MODULES:
        sys.modules[name] = None  # type: ignore[assignment]
    sys.platform, platform.machine = "win32", lambda: "AMD64"


if __name__ == "__main__":
    os.environ["TILECORE_PURE_PYTHON"] = "1"
    sys.path.insert(0, str(Path(__file__).parent / "unit" / "backends" / "cpu"))
    import windows_calls

    for name in OTHERS:
        importlib.import_module(name)
    windows_calls.install(pytest.MonkeyPatch())
    hide()
    sys.argv = sys.argv[1:]
    runpy.run_path(sys.argv[0], run_name="__main__")
