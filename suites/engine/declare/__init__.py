"""What a suite says, and the runs that follow from it."""
