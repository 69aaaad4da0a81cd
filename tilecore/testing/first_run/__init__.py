"""The first run of a backend on its device: what the machine has, checks, the conformance kit, speed, in one report.

A backend describes its first run once (``plan.py``), and its ``__main__.py`` gives that to ``command_line.py``. The
steps are in modules of their own: checks of launching (``checks.py``, with the kernels of ``kernels.py``), the
conformance kit and random kernels (``commands.py``), the examples (``examples.py``), and speed beside other libraries
(``benchmarks.py``). Steps run in processes of their own (``processes.py``): a fault of the device ends its process, and
the report (``report.py``) says where.
"""
