"""Data that figures need beside predictions: of one dimension, of planes, and the files of both."""
