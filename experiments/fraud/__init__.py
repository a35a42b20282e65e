"""Credit card fraud: the paper's Table 2."""
