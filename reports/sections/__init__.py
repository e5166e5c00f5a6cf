"""The sections of a page: tables and the figures beside them."""
