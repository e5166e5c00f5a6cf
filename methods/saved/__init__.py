"""Posteriors as files that any process can load: a description in JSON, and arrays.

A saved posterior is a folder with `posterior.json`, `arrays.npz` (NumPy's format without pickles,
which needs no further package) and, for estimators of scikit-learn, files of skops. Nothing in it
runs code: classes are looked up by short names in a table, and modules named in a file are never
imported.
"""
