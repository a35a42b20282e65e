"""The mutation run: which tests notice when the trusted code is changed, and what nobody notices."""
