"""What can be asked of a network beside one interval: decide, MAP, diagnose, explain, measure, maxent."""
