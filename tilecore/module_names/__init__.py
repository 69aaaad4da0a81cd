"""The modules of TileLang that programs import, as tables: what each holds here, and what is left out.

``table.py`` lists the modules that are nothing but names of other modules of tilecore, ``left_out.py`` those that
tilecore does not have, with what to use instead. ``tilecore/plugins/module_finder.py`` makes modules of them.
"""
