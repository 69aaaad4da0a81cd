"""The adapter returns the wrong thing from advice.

step: advice
says: plain.load().advice returned a wrong value
"""

from tile_healthy import Healthy, HealthyAdapter


class BrokenAdapter(HealthyAdapter):
    def advise(self, code):
        return ["do", "this"]


class Broken(Healthy):
    kind = "adapter_nonsense_from_advice"
    adapter = BrokenAdapter


plugin = Broken()
