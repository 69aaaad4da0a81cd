"""A dependency of the package is missing.

step: resolve
says: importing import_error:plugin raised ModuleNotFoundError: No module named 'acme_sdk'
targets: broken
"""

import acme_sdk

plugin = acme_sdk.plugin
