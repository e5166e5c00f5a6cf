"""Foreign files, damaged stores and careless methods: the harm they do stays with them."""
