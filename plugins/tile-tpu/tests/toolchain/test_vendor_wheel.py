"""The files of the vendor's wheel that are installed; tests/unit/test_wheels.py tests the installation itself."""

from __future__ import annotations

import pytest
from tile_tpu.toolchain import install, wheel

SDK = "tpu_mlir/cross_toolchains/ppl_compile"


@pytest.mark.parametrize(
    "member",
    [
        *wheel.WHEEL.required,
        f"{SDK}/version",
        f"{SDK}/deps/chip/tpub_7_1/TPU1686/kernel/include/tpu_kernel.h",
        "tpu_mlir-1.30.2.dist-info/METADATA",
    ],
)
def test_what_is_kept(member):
    assert wheel.is_needed(member)


@pytest.mark.parametrize(
    "member",
    [
        "tpu_mlir/lib/third_party/libc.so.6",
        "tpu_mlir/lib/libbackend_bm1690.so",
        f"{SDK}/bin/ppl-compile",
        f"{SDK}/deps/chip/tpub_9_0/x.h",
        "tpu_mlir/python/tool.py",
    ],
)
def test_what_is_left_out(member):
    assert not wheel.is_needed(member)


def test_the_offer(tmp_path):
    assert install.INSTALLABLE.name == "tpu_mlir 1.30.2"
    assert "2-Clause BSD" in install.INSTALLABLE.doc
    assert install.INSTALLABLE.installed(str(tmp_path)) == ""
