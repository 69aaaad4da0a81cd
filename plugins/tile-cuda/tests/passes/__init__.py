"""Tests of passes, one file for each: what the pass alone changes in a kernel, and what it leaves as it is."""
