"""The compiled sums of uniforms."""
