"""Adapters: each turns a `Program` into a solver's claim; each library is imported only here."""
