"""What suites measure of posteriors beside the scores of predictions."""
