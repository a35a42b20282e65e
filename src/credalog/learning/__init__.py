"""From observations to intervals: what is wanted in a theory is filled in from a table."""
