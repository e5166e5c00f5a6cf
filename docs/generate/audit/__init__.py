"""Comparison of our methods with other libraries' on equal data, networks, settings and numbers.

`python -m docs.generate.audit --env laplace-torch=ENV/bin/python --env ...` writes
docs/bundle/audit/comparisons.json, the source of the table in docs/same_answers.md.
"""
