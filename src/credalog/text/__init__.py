"""Text <-> theory: the `.lcn` language, data for open domains, and networks that others wrote (UAI, BIF)."""
