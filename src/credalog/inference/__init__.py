"""The questions: bounds, propagation, explanations, entropy, consistency, Nilsson's logic."""
