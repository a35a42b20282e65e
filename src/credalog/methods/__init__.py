"""Methods of inference: each maps a network, a query and options to an answer."""
