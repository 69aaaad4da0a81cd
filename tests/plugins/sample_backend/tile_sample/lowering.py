"""How tile IR becomes target IR: not at all, here."""

from tilecore.contract.records import Lowering

LOWERING = Lowering(family="none")
