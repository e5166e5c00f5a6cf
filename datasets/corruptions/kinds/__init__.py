"""The corruptions: noise, blurs, weather, digital ones, and the extra ones."""
