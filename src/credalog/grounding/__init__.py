"""Theory -> ground network: a `Network` of sentences over ground variables, queries and evidence."""
