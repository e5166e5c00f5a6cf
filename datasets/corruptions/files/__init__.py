"""Corrupted images and textures as files: fetched, recognised, kept between runs and written."""
