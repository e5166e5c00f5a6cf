"""The work of `bnnbench report` and `bnnbench site`."""
