"""What `omr.pdq` is made of."""
