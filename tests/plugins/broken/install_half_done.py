"""install is interrupted and does not say so: half of it is there, which installed does not take for whole.

step: install
says: Installable.install did not complete the installation
"""

from pathlib import Path

from tile_healthy import Healthy


class Broken(Healthy):
    kind = "install_half_done"

    def install(self, request):
        place = Path(request.folder, "kit.part")
        place.write_text("half of the tools")
        return str(place)


plugin = Broken()
