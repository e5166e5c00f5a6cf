"""The methods as estimators with the conventions of scikit-learn."""
