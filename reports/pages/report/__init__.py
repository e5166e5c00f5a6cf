"""Pages, the site, exports and the command line."""
