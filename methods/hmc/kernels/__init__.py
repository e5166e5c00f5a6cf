"""Compiled trajectories of rectified perceptrons; they call only each other and compiled/."""
