"""Tests of third-party predictive classes that answer in other processes."""
