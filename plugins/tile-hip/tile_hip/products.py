"""The chips of AMD's products: for errors about names that are no architectures.

Sources: the tables "GPU hardware specifications" and "supported GPUs" of AMD's ROCm documentation, and the table of
processors in LLVM's "User Guide for AMDGPU Backend".
"""

from __future__ import annotations

import re

# products by architecture, with the architectures that tile-hip does not compile for
PRODUCTS = {
    "gfx803": "RX 470, RX 480, RX 570, RX 580",
    "gfx900": "MI25, Vega 56, Vega 64",
    "gfx906": "MI50, MI60, VII",
    "gfx908": "MI100",
    "gfx90a": "MI200, MI210, MI250, MI250X",
    "gfx942": "MI300, MI300A, MI300X, MI308X, MI325X",
    "gfx950": "MI350, MI350X, MI355X",
    "gfx1010": "RX 5600 XT, RX 5700, RX 5700 XT",
    "gfx1030": "RX 6800, RX 6800 XT, RX 6900 XT, RX 6950 XT, W6800, V620",
    "gfx1031": "RX 6700, RX 6700 XT, RX 6750 XT",
    "gfx1032": "RX 6600, RX 6600 XT, RX 6650 XT, W6600",
    "gfx1100": "RX 7900 XTX, RX 7900 XT, RX 7900 GRE, W7900, W7800",
    "gfx1101": "RX 7800 XT, RX 7700 XT, W7700, V710",
    "gfx1102": "RX 7600, RX 7600 XT, W7600, W7500",
    "gfx1103": "780M, 760M, 740M",
    "gfx1150": "890M, 880M",
    "gfx1151": "8060S, 8050S, 8040S",
    "gfx1152": "860M, 840M",
    "gfx1200": "RX 9060, RX 9060 XT",
    "gfx1201": "RX 9070, RX 9070 XT, RX 9070 GRE, R9700",
}
_WORDS = re.compile(r"amd|radeon|\(tm\)|instinct|graphics|ryzen|\bai\b|\brx\b|\bpro\b|^rx|[^a-z0-9]")


def _plain(name: str) -> str:
    """The name without the words and signs that people leave out: 7900xtx for "AMD Radeon RX 7900 XTX"."""
    return _WORDS.sub("", name.lower())


_BY_PRODUCT = {_plain(product): (arch, product) for arch, text in PRODUCTS.items() for product in text.split(", ")}


def chip_of(name: str) -> tuple[str, str] | None:
    """(the architecture, the product as AMD writes it) that a product's name means; None for other names."""
    return _BY_PRODUCT.get(_plain(name))
