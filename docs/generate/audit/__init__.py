"""Our methods beside those of other libraries, on the same data, network, settings and numbers.

`python -m docs.generate.audit --env laplace-torch=ENV/bin/python --env ...` writes
docs/bundle/audit/comparisons.json, from which docs/same_answers.md has its table.
"""
