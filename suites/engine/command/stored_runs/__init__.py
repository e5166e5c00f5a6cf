"""Commands on finished runs: bundle, reproduce, score, submit, admit, store."""
