"""What an account's past says: the antecedents of the three rules.

Input: transactions in chronological order. Output: one column of flags per rule.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from experiments.fraud.transactions import Flags, Integers, Transactions

__all__ = ["ANTECEDENTS", "antecedents"]

ANTECEDENTS = ("Has-FraudHistory", "Has-ZeroAmountHistory", "Has-MultiZip")


def antecedents(transactions: Transactions) -> Flags:
    """Tell for every transaction which antecedents hold; "before" means an earlier row of the account.

    A1: an earlier transaction was fraudulent. A2: an earlier one had amount 0. A3: earlier ones had at least
    two distinct zip codes.
    """
    account = transactions.account
    fraud = _count_before(account, transactions.fraud) > 0
    zero = _count_before(account, transactions.numbers("amount") == 0) > 0
    zips = _count_before(account, _first_of_kind(account, transactions.column("zip1"))) > 1
    return np.column_stack([fraud, zero, zips])


def _count_before(account: Integers, event: Flags) -> Integers:
    """Count the events of each account strictly before each row."""
    order = np.argsort(account, kind="stable")
    running: Integers = np.cumsum(event[order]) - event[order]
    starts = np.r_[True, np.diff(account[order]) != 0]
    at_start = np.maximum.accumulate(np.where(starts, running, 0))
    before: NDArray[np.int64] = np.empty(len(order), dtype=np.int64)
    before[order] = running - at_start
    return before


def _first_of_kind(account: Integers, kind: Integers) -> Flags:
    """Mark the rows where an account shows a kind for the first time."""
    pair = account * (int(kind.max()) + 1) + kind
    _, first = np.unique(pair, return_index=True)
    flags = np.zeros(len(pair), dtype=np.bool_)
    flags[first] = True
    return flags
