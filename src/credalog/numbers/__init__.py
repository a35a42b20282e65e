"""Numbers with their warranty: intervals, tolerances, budgets."""
