"""Moments of rectifiers and maxima and their gradients, each in one pass over memory."""
