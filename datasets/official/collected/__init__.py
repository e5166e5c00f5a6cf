"""The 62 collected tables: what is known of each, its files and its splits."""
