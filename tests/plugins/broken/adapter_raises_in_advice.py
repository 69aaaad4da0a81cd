"""The adapter raises in advice.

step: advice
says: plain.load().advice raised RuntimeError: boom
"""

from tile_healthy import Healthy, HealthyAdapter


class BrokenAdapter(HealthyAdapter):
    def advise(self, code):
        raise RuntimeError("boom")


class Broken(Healthy):
    kind = "adapter_raises_in_advice"
    adapter = BrokenAdapter


plugin = Broken()
