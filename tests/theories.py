"""First-order theories over any number of people, each with questions about the first two.

Input: a number of people. Output: the text. One and two predicates, symmetric relations and others, guards,
evidence on some elements, several sorts, quantifiers, many values, ties with and without priors.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Family:
    """A theory for each number of people, and questions that make sense for two or more."""

    name: str
    rules: str
    questions: tuple[str, ...]

    def text(self, people: int) -> str:
        """Return the theory for so many people."""
        return f"domain Person = 1..{people}\n{self.rules}"


FAMILIES = (
    Family(
        "smokers",
        """predicate Fr(Person, Person) symmetric
predicate Sm(Person), Ca(Person)
forall x, y, z in Person distinct: 0.5 <= P(Fr(x,z) | Fr(x,y) & Fr(y,z)) <= 1
forall x, y in Person distinct: 0 <= P(Sm(x) xor Sm(y) | Fr(x,y)) <= 0.2
forall x in Person: 0.03 <= P(Ca(x) | Sm(x)) <= 0.04
forall x in Person: 0 <= P(Ca(x) | !Sm(x)) <= 0.01""",
        ("P(Ca(1))", "P(Ca(1) or Ca(2))", "P(Ca(1) and Ca(2))"),
    ),
    Family("one predicate", "predicate A(Person)\nforall x in Person: 0.2 <= P(A(x)) <= 0.4", ("P(A(1))",)),
    Family(
        "one predicate, two people",
        "predicate A(Person)\nforall x in Person: 0.2 <= P(A(x)) <= 0.4",
        ("P(A(1) and A(2))", "P(A(1) | A(2))"),
    ),
    Family(
        "ties",
        "predicate A(Person)\nforall x, y in Person, x < y: P(A(x) xor A(y)) <= 0.3",
        ("P(A(1))", "P(A(1) and A(2))"),
    ),
    Family(
        "ties with a prior",
        """predicate A(Person)
forall x in Person: 0.2 <= P(A(x)) <= 0.4
forall x, y in Person, x < y: P(A(x) xor A(y)) <= 0.1""",
        ("P(A(1) and A(2))", "P(A(1) | A(2))"),
    ),
    Family(
        "people who differ",
        """predicate A(Person)
forall x, y in Person distinct: 0.3 <= P(A(x) xor A(y)) <= 1""",
        ("P(A(1))", "P(A(1) or A(2))"),
    ),
    Family(
        "a cause and its effect",
        """predicate Ill(Person), Cough(Person)
forall x in Person: 0.1 <= P(Ill(x)) <= 0.2
forall x in Person: 0.7 <= P(Cough(x) | Ill(x)) <= 0.9
forall x in Person: 0.05 <= P(Cough(x) | !Ill(x)) <= 0.1""",
        ("P(Cough(1))", "P(Ill(1) | Cough(1))", "P(Cough(1) and Cough(2))"),
    ),
    Family(
        "a common cause",
        """proposition Flu
predicate Ill(Person)
0.1 <= P(Flu) <= 0.3
forall x in Person: 0.5 <= P(Ill(x) | Flu) <= 0.8
forall x in Person: P(Ill(x) | !Flu) <= 0.1""",
        ("P(Ill(1) and Ill(2))", "P(Ill(1) | Ill(2))"),
    ),
    Family(
        "a chain of days",
        """predicate Rain(Person)
P(Rain(1)) = 0.5
forall d in Person, d > 1: 0.6 <= P(Rain(d) | Rain(d-1)) <= 0.7
forall d in Person, d > 1: 0.2 <= P(Rain(d) | !Rain(d-1)) <= 0.3""",
        ("P(Rain(2))", "P(Rain(1) and Rain(2))"),
    ),
    Family(
        "influence that is not symmetric",
        """predicate Likes(Person, Person), Happy(Person)
forall x, y in Person distinct: 0.1 <= P(Likes(x,y)) <= 0.5
forall x, y in Person distinct: 0.6 <= P(Happy(y) | Likes(x,y)) <= 1""",
        ("P(Happy(1))", "P(Likes(1,2) and Likes(2,1))"),
    ),
    Family(
        "a guard",
        """predicate A(Person)
relation Old(Person) = {1}
forall x in Person, Old(x): 0.6 <= P(A(x)) <= 0.8
forall x in Person, not Old(x): P(A(x)) <= 0.1
forall x, y in Person, Old(x) and not Old(y): 0.2 <= P(A(x) and A(y)) <= 1""",
        ("P(A(1))",),
    ),
    Family(
        "neighbours by facts",
        """predicate A(Person)
relation Near(Person, Person) = {(1, 2), (2, 3)}
forall x, y in Person, Near(x, y): P(A(x) xor A(y)) <= 0.2
forall x in Person: P(A(x)) <= 0.5
P(A(3)) >= 0.4""",
        ("P(A(1))", "P(A(2))", "P(A(1) and A(2))"),
    ),
    Family(
        "evidence on some",
        """predicate Ill(Person), Cough(Person)
forall x in Person: 0.1 <= P(Ill(x)) <= 0.2
forall x, y in Person, x < y: P(Ill(x) and Ill(y)) <= 0.05
forall x in Person: P(Cough(x) | Ill(x)) = 0.8
forall x in Person: P(Cough(x) | !Ill(x)) = 0.1
evidence Cough(1), !Cough(2)""",
        ("P(Ill(1))", "P(Ill(2))"),
    ),
    Family(
        "several sorts",
        """domain City = {rome, oslo}
predicate Lives(Person, City), Warm(City), Glad(Person)
forall x in Person: P(Lives(x, rome) and Lives(x, oslo)) <= 0.1
forall c in City: 0.2 <= P(Warm(c)) <= 0.7
forall x in Person, c in City: 0.5 <= P(Glad(x) | Lives(x,c) & Warm(c)) <= 0.9""",
        ("P(Glad(1))", "P(Warm(rome) or Warm(oslo))"),
    ),
    Family(
        "many values",
        """variable Mood(Person) in {good, fair, bad}
forall x in Person: P(Mood(x) = good) >= 0.4
forall x in Person: P(Mood(x) = bad) <= 0.2
forall x, y in Person, x < y: P(Mood(x) = Mood(y)) >= 0.5""",
        ("P(Mood(1) = fair)", "P(Mood(1) = good and Mood(2) = good)"),
    ),
    Family(
        "an existential condition",
        """predicate Fr(Person, Person) symmetric
predicate Sm(Person)
forall x, y in Person, x < y: P(Fr(x,y)) <= 0.3
forall x in Person: P(Sm(x) | exists y in Person, y != x: Fr(x,y) & Sm(y)) >= 0.3""",
        ("P(Sm(1))", "P(Fr(1,2) and Sm(1))"),
    ),
    Family(
        "a linear sentence",
        """predicate A(Person), B(Person)
forall x in Person: P(A(x)) + P(B(x)) <= 0.7
forall x in Person: P(A(x)) >= 2 P(B(x))""",
        ("P(B(1))", "P(A(1) and B(1))"),
    ),
    Family(
        "tau is False",
        """predicate A(Person)
forall x in Person: 0.3 <= P(A(x)) <= 0.6
forall x, y in Person, x < y: P(A(x) and A(y)) <= 0.2 ; tau=False""",
        ("P(A(1))", "P(A(1) or A(2))"),
    ),
    Family(
        "mutual conditions",
        """predicate A(Person)
forall x, y in Person distinct: 0.6 <= P(A(x) | A(y)) <= 1
forall x in Person: P(A(x)) >= 0.1""",
        ("P(A(1) and A(2))", "P(A(1) | !A(2))"),
    ),
    Family(
        "friends with a prior",
        """predicate Fr(Person, Person) symmetric
forall x, y in Person, x < y: 0.1 <= P(Fr(x,y)) <= 0.2
forall x, y, z in Person distinct: P(Fr(x,z) | Fr(x,y) & Fr(y,z)) >= 0.5""",
        ("P(Fr(1,2))",),
    ),
    Family(
        "an epidemic among random contacts",
        """predicate Inf(Person), Sick(Person), Met(Person, Person) symmetric
forall x in Person: 0.01 <= P(Inf(x)) <= 0.1
forall x, y in Person, x < y: P(Met(x,y)) <= 0.2
forall x, y in Person distinct: 0.2 <= P(Inf(x) | Inf(y) & Met(x,y)) <= 0.5
forall x in Person: 0.7 <= P(Sick(x) | Inf(x)) <= 0.9
forall x in Person: P(Sick(x) | !Inf(x)) <= 0.05""",
        ("P(Sick(1))", "P(Inf(1) | Sick(1))", "P(Inf(1) | Inf(2) & Met(1,2))"),
    ),
    Family(
        "access to documents",
        """domain Doc = {plans, wages, mail}
predicate Admin(Person), May(Person, Doc), Reads(Person, Doc)
relation Owner(Person, Doc) = {(1, plans), (2, wages)}
forall x in Person: P(Admin(x)) <= 0.05
forall x in Person, d in Doc: P(May(x,d) | Admin(x)) >= 0.99
forall x in Person, d in Doc, Owner(x, d): P(May(x,d)) >= 0.9
forall x in Person, d in Doc, not Owner(x, d): P(May(x,d) | !Admin(x)) <= 0.02
forall x in Person, d in Doc: P(Reads(x,d) | !May(x,d)) <= 0.001
forall x in Person, d in Doc: 0.1 <= P(Reads(x,d) | May(x,d)) <= 0.5""",
        ("P(Reads(1, plans))", "P(Reads(2, plans))", "P(May(1, plans) and May(1, wages))"),
    ),
    Family(
        "many who rarely agree",
        """predicate A(Person)
forall x in Person: P(A(x)) >= 0.3
forall x, y in Person, x < y: P(A(x) and A(y)) <= 0.1""",
        ("P(A(1))", "P(A(1) | A(2))"),
    ),
)
