"""install tells its progress in the wrong words.

step: install
says: Installable.install called progress with wrong arguments
"""

from tile_healthy import Healthy


class Broken(Healthy):
    kind = "install_wrong_progress"

    def install(self, request):
        request.progress("fetching", 0.5, None)
        return super().install(request)


plugin = Broken()
