"""The plan of a command: which runs, at what cost, by whom."""
