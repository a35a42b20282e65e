"""Transactions of the same kind as the contest's, for those who do not have its files.

Input: a random generator. Output: `Transactions` with the same columns: most accounts seen once, some often;
fraud is rare, returns to the accounts it hit, and shifts some features a little.
"""

from __future__ import annotations

import numpy as np

from experiments.fraud.transactions import FEATURES, Flags, Integers, Transactions, encode

__all__ = ["generate"]

SINGLES, REPEATERS = 6000, 1500
"""Accounts with one transaction, and with several: a tenth of the contest's."""

HIT, HIT_REPEATER = 0.012, 0.06
"""The share of accounts that fraud hits, among those seen once and among the others."""

RETURNS = 0.6
"""The share of fraudulent transactions in an account once fraud has hit it."""

ZERO, ZERO_WHERE_HIT = 0.01, 0.15
"""The share of transactions with amount 0, in general and in accounts that fraud hits."""

AT_HOME, AT_HOME_WHERE_HIT = 0.9, 0.5
"""The share of transactions that come from the account's usual zip code."""

CATEGORIES = {
    "amount": 60, "hour1": 24, "state1": 50, "zip1": 300, "field1": 5, "field2": 2, "field3": 2000,
    "field4": 38, "flag1": 2, "flag2": 2, "flag3": 2, "flag4": 2, "flag5": 12,
    "indicator1": 2, "indicator2": 2,
}  # fmt: skip
"""How many values each feature has."""


def generate(rng: np.random.Generator) -> Transactions:
    """Draw all transactions, in random order of time."""
    account = _accounts(rng)
    hit = _hit_accounts(rng)[account]
    fraud = np.asarray(hit & (rng.random(len(account)) < RETURNS))
    columns = {name: 1 + _column(size, fraud, rng) for name, size in CATEGORIES.items()}
    empty = rng.random(len(account)) < np.where(hit, ZERO_WHERE_HIT, ZERO)
    columns["amount"] = np.where(empty, 0, columns["amount"])
    home = columns["zip1"][np.unique(account, return_index=True)[1]][account]
    stays = rng.random(len(account)) < np.where(hit, AT_HOME_WHERE_HIT, AT_HOME)
    columns["zip1"] = np.where(stays, home, columns["zip1"])
    texts = [columns[feature].astype(str).tolist() for feature in FEATURES]
    return encode(texts, account.astype(str).tolist(), fraud)


def _accounts(rng: np.random.Generator) -> Integers:
    """Give every transaction an account."""
    repeats = 2 + rng.poisson(1.1, REPEATERS)
    counts = np.concatenate([np.ones(SINGLES, dtype=np.int64), repeats])
    return np.asarray(rng.permutation(np.repeat(np.arange(SINGLES + REPEATERS), counts)))


def _hit_accounts(rng: np.random.Generator) -> Flags:
    """Choose the accounts that fraud hits."""
    chance = np.where(np.arange(SINGLES + REPEATERS) < SINGLES, HIT / RETURNS, HIT_REPEATER)
    return np.asarray(rng.random(len(chance)) < chance)


def _column(size: int, fraud: Flags, rng: np.random.Generator) -> Integers:
    """Draw one feature from a distribution with a long tail, tilted where there is fraud."""
    weight = 1 / np.arange(1, size + 1)
    tilted = weight * rng.gamma(2.0, size=size)
    legitimate = rng.choice(size, len(fraud), p=weight / weight.sum())
    fraudulent = rng.choice(size, len(fraud), p=tilted / tilted.sum())
    return np.where(fraud, fraudulent, legitimate)
