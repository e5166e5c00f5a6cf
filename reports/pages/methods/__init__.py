"""The pages of methods: description, wins, failures, and how to call them."""
