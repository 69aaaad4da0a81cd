import pytest
from launch_kit import LAUNCHER_NAMES, LAUNCHERS


@pytest.fixture(params=LAUNCHERS, ids=LAUNCHER_NAMES)
def kind(request):
    """The launcher's class: the one in Python, and the built one where it is built."""
    return request.param
