"""Third-party files, damaged stores and faulty methods: the damage is confined to them."""
