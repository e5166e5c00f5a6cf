"""Third-party predictive classes, asked in processes that hold nothing but their arrays."""
