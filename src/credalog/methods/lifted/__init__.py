"""First-order theories at any domain size: slices around the question, and models of everything else."""
