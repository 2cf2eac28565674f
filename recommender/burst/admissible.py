"""What owned nodes admit: gangs by first fit on the real nodes, not the sum of what is free.

Three nodes with one free GPU each admit no pod of two GPUs. First fit in decreasing order is what a scheduler comes
near to without moving pods; what it leaves over is what waits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from recommender.burst.units import Unit
from recommender.forecast.demand import DEFAULT_ARCHITECTURE
from recommender.forecast.frames import UNKNOWN_CLASS

MOST_REPEATS = 10
"""The mix is repeated at most so often; a cluster that is emptier than that lacks nothing."""
_ROUNDING = 1e-9
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
ResourceClass = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Shape:
    """Equal nodes of a pool, by what each leaves for pods.

    Args:
        pool: its name.
        instance_type: machine type.
        nodes: how many there are.
        vcpus: allocatable, system pods taken off.
        memory_gib: the same in GiB.
        gpus: devices.
        gpu_model: their model; empty without GPUs.
        architecture: of their processors.
    """

    pool: str
    instance_type: str
    nodes: int
    vcpus: float
    memory_gib: float
    gpus: float = 0.0
    gpu_model: str = ""
    architecture: str = DEFAULT_ARCHITECTURE

    def amounts(self) -> dict[ResourceClass, float]:
        """This will return what all its nodes have, by resource and resource class."""
        found = {
            ("vcpu", self.architecture): self.nodes * self.vcpus,
            ("memory_gib", self.architecture): self.nodes * self.memory_gib,
        }
        return found | ({("gpu", self.gpu_model or UNKNOWN_CLASS): self.nodes * self.gpus} if self.gpus > 0 else {})


class FreeNodes:
    """Nodes and what they have left; units are placed on them one after the other."""

    def __init__(self, shapes: Sequence[Shape]) -> None:
        rows = [(one.vcpus, one.memory_gib, one.gpus) for one in shapes for _ in range(one.nodes)]
        self._free = np.array(rows, dtype=np.float64).reshape(len(rows), 3)
        self._models = np.array([one.gpu_model for one in shapes for _ in range(one.nodes)], dtype=object)
        self._architectures = np.array([one.architecture for one in shapes for _ in range(one.nodes)], dtype=object)

    def place(self, unit: Unit) -> bool:
        """This will place all replicas of a unit, each on the first node that holds it, or none of them."""
        need = np.array((unit.vcpus, unit.memory_gib, unit.gpus))
        serves = self._serves(unit)
        before = self._free.copy() if unit.replicas > 1 else None
        for _ in range(unit.replicas):
            fits = serves & (self._free + _ROUNDING >= need).all(axis=1)
            if not fits.any():
                if before is not None:
                    self._free = before
                return False
            self._free[int(fits.argmax())] -= need
        return True

    def lacks(self, unit: Unit) -> ResourceClass:
        """This will return the resource that the fewest nodes have enough of for a replica that finds no room."""
        need = np.array((unit.gpus, unit.vcpus, unit.memory_gib))
        enough = (self._free[:, [2, 0, 1]] + _ROUNDING >= need) & self._serves(unit)[:, None]
        counts = np.where(need > 0, enough.sum(axis=0), len(self._free) + 1)
        resource = ("gpu", "vcpu", "memory_gib")[int(counts.argmin())]
        return resource, unit.gpu_class if resource == "gpu" else unit.architecture

    def state(self) -> Floats:
        """This will return what is left, to go back to."""
        return self._free.copy()

    def restore(self, state: Floats) -> None:
        """This will go back to what was left then."""
        self._free = state

    def _serves(self, unit: Unit) -> Bools:
        serves: Bools = self._architectures == unit.architecture
        if unit.gpus > 0 and unit.gpu_models:
            serves &= np.array([model in unit.gpu_models for model in self._models], dtype=bool)
        return serves


@dataclass(frozen=True, slots=True)
class Admitted:
    """What fits.

    Args:
        left: units of the mix that do not fit beside the others.
        never: units that would not even fit on empty nodes; they are no sign of a shortage.
        amounts: what the nodes admit by resource and resource class, the mix repeated until nothing more fits.
    """

    left: tuple[Unit, ...]
    never: tuple[Unit, ...]
    amounts: dict[ResourceClass, float]


def admit(mix: Sequence[Unit], shapes: Sequence[Shape]) -> Admitted:
    """This will place a mix by first fit, and go on with copies of it until nothing more fits.

    A class that a unit of the mix finds too little of admits no more than was placed: what small units could still use
    does not help the large one that waits. One that only the copies run out of admits what was placed with them. One
    that nothing runs out of admits all there is.

    Args:
        mix: what runs and waits; placed critical first, then what runs, then the largest.
        shapes: the owned nodes.
    """
    nodes = FreeNodes(shapes)
    never = _never(mix, shapes)
    ordered = in_order([one for one in mix if one not in never], shapes)
    placed, left = _split(nodes, ordered)
    short = {nodes.lacks(one) for one in left}
    copies: list[Unit] = []
    used_up: set[ResourceClass] = set()
    more = ordered
    for _ in range(MOST_REPEATS - 1):
        more, refused = _split(nodes, more)
        used_up |= {nodes.lacks(one) for one in refused}
        copies += more
    first, repeated, whole = _sum(_amounts(placed)), _sum(_amounts([*placed, *copies])), nominal(shapes)
    amounts = {key: max(whole.get(key, 0.0), repeated.get(key, 0.0)) for key in {*whole, *repeated}}
    amounts |= {key: repeated.get(key, 0.0) for key in used_up}
    amounts |= {key: first.get(key, 0.0) for key in short}
    return Admitted(tuple(left), never, amounts)


def _never(mix: Sequence[Unit], shapes: Sequence[Shape]) -> tuple[Unit, ...]:
    nodes = FreeNodes(shapes)
    empty = nodes.state()
    found = []
    for one in mix:
        if not nodes.place(one):
            found.append(one)
        nodes.restore(empty.copy())
    return tuple(sorted(found, key=lambda one: one.id))


def _amounts(units: Sequence[Unit]) -> list[dict[ResourceClass, float]]:
    return [one.amounts() for one in units]


def in_order(mix: Sequence[Unit], shapes: Sequence[Shape]) -> list[Unit]:
    """This will return units in the order of placing: critical first, then what runs, then the largest."""
    return sorted(mix, key=lambda one: _rank(one, shapes))


def nominal(shapes: Sequence[Shape]) -> dict[ResourceClass, float]:
    """This will return the sums over the nodes, which are more than can be admitted."""
    return _sum([shape.amounts() for shape in shapes])


def _sum(parts: Sequence[dict[ResourceClass, float]]) -> dict[ResourceClass, float]:
    amounts: dict[ResourceClass, float] = {}
    for part in parts:
        for key, amount in part.items():
            amounts[key] = amounts.get(key, 0.0) + amount
    return amounts


def _split(nodes: FreeNodes, ordered: Sequence[Unit]) -> tuple[list[Unit], list[Unit]]:
    placed: list[Unit] = []
    left: list[Unit] = []
    for one in ordered:
        (placed if nodes.place(one) else left).append(one)
    return placed, left


def _shares(unit: Unit, shapes: Sequence[Shape]) -> dict[str, float]:
    """The share of the largest node that one replica takes, by resource; infinite where no node has any."""
    needs = {"gpu": unit.gpus, "vcpu": unit.vcpus, "memory_gib": unit.memory_gib}
    columns = {"gpu": "gpus", "vcpu": "vcpus", "memory_gib": "memory_gib"}
    shares = {}
    for resource, need in needs.items():
        most = max((getattr(one, columns[resource]) for one in shapes), default=0.0)
        shares[resource] = need / most if most > 0 else (math.inf if need > 0 else 0.0)
    return shares


def _rank(unit: Unit, shapes: Sequence[Shape]) -> tuple[bool, bool, float, str]:
    """Critical first, then what runs, then the greatest share of a node."""
    return (not unit.is_critical, unit.is_waiting, -max(_shares(unit, shapes).values()) * unit.replicas, unit.id)
