"""The import looks its own target up, which would go on for ever.

step: resolve
says: it uses its own target while the target is being loaded
targets: broken
"""

from tilecore.plugins import manager

plugin = manager.get("uses_itself")
