"""The pages of methods: what each is, where it wins and fails, and how to call it."""
