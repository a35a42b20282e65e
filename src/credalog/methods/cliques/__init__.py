"""Certified branch and bound on the joint tables of cliques."""
