"""The node mix in words: the nodes that there are, and what falls away when the plan is carried out."""

from __future__ import annotations

from exporters.core.money import pounds
from recommender.advise.plan import Machines
from recommender.report import words

_BASES = {
    "seen": "nodes seen: {nodes}, {price}",
    "usage": "nodes on the machine types that usage names: {nodes}, {price}",
}


def nodes_in_words(packed: Machines) -> str:
    """This will say what the nodes that there are cost, and what the plan takes away of them; one line, as clauses."""
    return "".join(f"; {clause}" for clause in (_current(packed), _saved(packed)) if clause)


def _current(packed: Machines) -> str:
    form = _BASES.get(packed.current_basis)
    if form is None or packed.current_nodes is None:
        return ""
    cost = packed.current_gbp_per_hour
    price = "without a price" if cost is None else f"{pounds(cost)} an hour"
    without = packed.current_nodes_without_price
    outside = packed.current_nodes_not_in_settings
    rest = f", {without:g} of them without a price" if without and cost is not None else ""
    rest += f", {outside:g} in pools that the settings do not describe" if outside else ""
    text = form.format(nodes=f"{packed.current_nodes:g}", price=price)
    return text + rest


def _saved(packed: Machines) -> str:
    if packed.saving_gbp_per_hour is None or not (packed.nodes_removed or packed.nodes_added):
        return ""
    removed = words.count(packed.nodes_removed, "node")
    balance = packed.saving_gbp_per_hour
    money = f"{pounds(abs(balance))} an hour {'less' if balance >= 0 else 'more'}"
    return f"the plan takes away {removed} and adds {packed.nodes_added}: {money}"
