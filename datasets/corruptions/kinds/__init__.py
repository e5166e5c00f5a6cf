"""The corruptions: noise, blur, weather, digital, extra."""
