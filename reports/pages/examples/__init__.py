"""The pages of examples: where two methods disagree, and what each predicts worst."""
