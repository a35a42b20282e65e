"""Proofs that can be carried away: bounds and models written down so that `credalog.verify` can check them.

Input: an engine and results. Output: the lines of a certificate (docs/certificates.md). A bound is proved
once more, on tables whose rows all have a reason, whichever method found it.
"""

from credalog.questions.certificates.writing import Certificate, certify, certify_consistency

__all__ = ["Certificate", "certify", "certify_consistency"]
