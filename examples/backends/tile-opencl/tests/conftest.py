"""The backend as it is installed, or else registered; a test that runs kernels is skipped where there is no device."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tile_opencl import plugin
from tile_opencl.devices import NoDevice, working

from tilecore.errors import TargetError
from tilecore.plugins import manager


@pytest.fixture(scope="session", autouse=True)
def backend(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TILECORE_CHECK", "1")
        patch.setenv("TILECORE_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        try:
            manager.resolve("opencl")
            yield
        except TargetError:
            with manager.register(plugin, package="tile-opencl"):
                yield


@pytest.fixture
def on_device() -> None:
    try:
        working("0:0")
    except NoDevice as error:
        pytest.skip(str(error))
