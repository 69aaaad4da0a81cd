"""Where tilecore-runtime and tile-cuda are installed, without the compiler: the extensions, and an exported kernel."""

import importlib
import sys
from importlib.metadata import distribution

import numpy as np

import tilecore
from tilecore.installation import compiler_is_installed
from tilecore.runtime.launcher import built

assert not compiler_is_installed()
assert built()[0], built()[1]
for name in ("tilecore.runtime._device_launch", "tilecore.backends.cpu._pool", "tile_cuda.launch._native"):
    assert str(importlib.import_module(name).__file__).endswith(".so"), name
for name in ("tilecore-runtime", "tile-cuda"):
    tags = [line for line in (distribution(name).read_text("WHEEL") or "").splitlines() if line.startswith("Tag: ")]
    assert any("-manylinux_" in tag for tag in tags), tags

rng = np.random.default_rng(0)
a, b = rng.standard_normal((128, 96), np.float32), rng.standard_normal((96, 160), np.float32)
np.testing.assert_allclose(tilecore.load_kernel(sys.argv[1])(a, b), a @ b, rtol=1e-4, atol=1e-4)
print("launched by", built()[1].rpartition("/")[2])
