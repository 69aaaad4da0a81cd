"""Where tilecore is installed without other backends: the error for a target names the package that has it."""

import json
import sys

from tilecore.errors import TargetError
from tilecore.plugins import manager

for name, package in json.loads(sys.argv[1]).items():
    hint = None
    try:
        manager.resolve(name)
    except TargetError as error:
        hint = error.hint
    assert f"pip install {package};" in (hint or "there is such a target"), (name, hint)
print("the packages of other targets are named")
