"""Pictures and tables: drawings of the dependency graph, HTML for notebooks."""
