"""The plan of a command: the runs to be done, their cost, and who runs them."""
