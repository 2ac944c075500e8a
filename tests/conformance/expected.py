"""Tests that device `cpu` passes and `neuron` does not, with the reason. Checked both ways: a failure that no entry
covers fails the run, and so does an entry that covers no failure of a full run.

Each entry is a regular expression on the test's name, searched in it.
"""

EXPECTED = {}
