"""Files of corrupted images and textures: fetching, recognition, caching and writing."""
