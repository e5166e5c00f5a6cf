"""The first page of a site: which method first, for the question that a reader chooses."""
