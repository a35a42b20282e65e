"""The trusted base: outward rounding, weak-duality proofs, and the check of every witness."""
