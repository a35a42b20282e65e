"""The ground network: formulas, sentences, the dependency graph, and the same in numbers."""
