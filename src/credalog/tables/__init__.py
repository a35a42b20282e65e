"""Arrays over the joint states of a few variables: products, distributions, cones, credal sets."""
