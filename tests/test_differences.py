"""What cells of a message differ by bounds a posterior: no table passes it, and idle evidence is seen."""

from __future__ import annotations

import numpy as np
import pytest

from credal_drawing import draw_intervals, draw_loopy
from credalog import parse
from credalog.methods.vertices import sets
from credalog.methods.vertices.differences import Differences, _Message
from credalog.methods.vertices.interval_slopes import Boxes, Layout, Step, upward
from credalog.network.formulas import Is, conjunction
from credalog.network.graph import dependency_graph
from credalog.network.sentences import Network, Query
from credalog.numbers.budget import Budget
from credalog.numbers.interval import Status
from credalog.tables.cones import Array
from credalog.tables.credal import ask, credal_network
from credalog.tables.interval_sets import filled

ROUNDING = 1e-12


def _laid_out(network: Network, query: Query) -> tuple[Layout, Boxes, Array]:
    credal = credal_network(network, dependency_graph(network))
    assert credal is not None
    put = ask(credal, query)
    assert put is not None
    credal, asked = put
    layout = sets._layout(credal, asked, (0.3, 0.7), Budget.of(0.1))
    boxes = {x: credal.ranges(x, asked.observed) for x in layout.parents}
    return layout, boxes, np.array(asked.event, dtype=np.float64)


def _drawn(rng: np.random.Generator, many_valued: bool) -> tuple[Layout, Boxes, Array]:
    network = draw_loopy(rng, count=6, zeros=0.1).network if many_valued else draw_intervals(rng, 7, 5)
    target, *observed = rng.permutation(len(network.variables))[: rng.integers(2, 5)]
    atoms = [Is(x, x.values[int(rng.integers(len(x.values)))]) for x in network.variables]
    return _laid_out(network, Query(atoms[target], conjunction(atoms[i] for i in observed)))


def _messages_at(layout: Layout, boxes: Boxes, event: Array, trial: float) -> dict[int, Array]:
    single = {x: (table[None], table[None]) for x, (table, _) in boxes.items()}
    found = upward(layout, single, event, trial, Budget.of())
    return {x: ends[1][0] for x, ends in found.messages.items()}


@pytest.mark.parametrize("many_valued", [False, True])
@pytest.mark.parametrize("seed", range(40))
def test_no_tables_pass_what_cells_and_their_differences_may_be(
    seed: int, many_valued: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(seed)
    layout, boxes, event = _drawn(rng, many_valued)
    trial, found = float(rng.random()), dict[int, _Message]()
    original = Differences._summed

    def noted(self: Differences, step: Step, *entering: object) -> _Message:
        found[step.variable] = original(self, step, *entering)  # type: ignore[arg-type]
        return found[step.variable]

    monkeypatch.setattr(Differences, "_summed", noted)
    most = Differences(layout, boxes, event).greatest(trial, Budget.of())
    for _ in range(20):
        tables = {x: filled(*ends, rng.random(ends[0].shape)) for x, ends in boxes.items()}
        values = _messages_at(layout, {x: (t, t) for x, t in tables.items()}, event, trial)
        assert values[layout.steps[-1].variable] <= most + ROUNDING
        for x, message in found.items():
            _assert_holds(message, values[x])


def _assert_holds(message: _Message, values: Array) -> None:
    assert (message.low <= values + ROUNDING).all()
    assert (values <= message.high + ROUNDING).all()
    for y, least in message.apart.items():
        axis = message.scope.index(y)
        along = np.moveaxis(values, axis, -1)
        apart = along[..., :, None] - along[..., None, :]
        bounds = np.moveaxis(np.broadcast_to(least, (*values.shape, values.shape[axis])), axis, -2)
        assert (bounds <= apart + ROUNDING).all()


def test_evidence_that_says_nothing_of_a_root_leaves_its_interval() -> None:
    """x and e share no arrows but through b, which is c or not whatever x is: P(x | e) is P(x)."""
    lcn = parse(
        """
        0.4 <= P(x) <= 0.6
        0.3 <= P(c) <= 0.7
        P(b | x & c) = 0.5
        P(b | x & !c) = 0.2
        P(b | !x & c) = 0.5
        P(b | !x & !c) = 0.2
        0.1 <= P(e | b & c) <= 0.9
        0.1 <= P(e | b & !c) <= 0.9
        0.1 <= P(e | !b & c) <= 0.9
        0.1 <= P(e | !b & !c) <= 0.9
        """
    )
    query = Query(Is(lcn.variable("x")), Is(lcn.variable("e")))
    layout, boxes, event = _laid_out(lcn.ground(), query)
    bounds = Differences(layout, boxes, event)
    assert bounds.greatest(0.6 + 1e-9, Budget.of()) <= 0.0 < bounds.greatest(0.6 - 1e-9, Budget.of())
    single = {x: (low[None], high[None]) for x, (low, high) in boxes.items()}
    apart = upward(layout, single, event, 0.7, Budget.of()).total(layout)[1][0]
    assert apart > 0.0, "where contexts choose apart, not even 0.7 is proved"


def test_a_bound_is_sought_between_what_is_attained_and_what_is_known() -> None:
    lcn = parse("0.4 <= P(x) <= 0.6\n0.3 <= P(e | x) <= 0.5\n0.3 <= P(e | !x) <= 0.5")
    query = Query(Is(lcn.variable("x")), Is(lcn.variable("e")))
    layout, boxes, event = _laid_out(lcn.ground(), query)
    truth = 0.6 * 0.5 / (0.6 * 0.5 + 0.4 * 0.3)
    bounds = Differences(layout, boxes, event)
    assert bounds.proved(truth, 1.0, gap=1e-6, budget=Budget.of()) == truth + 1e-6
    assert bounds.proved(truth, 1.0, gap=1e-6, budget=Budget.of(0.0)) == 1.0
    assert truth <= bounds.proved(truth - 0.1, 1.0, gap=1e-6, budget=Budget.of()) <= truth + 0.1
    assert lcn.query(query, tolerance=1e-6).status is Status.EXACT
