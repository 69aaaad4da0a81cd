"""It imports a record that only a newer tilecore has.

step: resolve
says: raised ImportError: cannot import name 'Tuning'
targets: broken
"""

from tilecore.contract.records import Tuning

plugin = Tuning
