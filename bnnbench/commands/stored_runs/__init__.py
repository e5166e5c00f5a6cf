"""Commands on finished runs: bundle, reproduce, repeat, score, submit, admit, store."""
