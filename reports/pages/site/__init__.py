"""The first page of a site: the method to use first, for the question that a reader chooses."""
