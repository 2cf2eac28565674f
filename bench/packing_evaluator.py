"""An evaluator of plans, written apart from the solver: does every pod stand on a real node, and what does it cost.

It knows only the trace, the catalogue of real offers and the rules of a policy, and it imports nothing of Tuppence. All
sums are in whole numbers (thousandths of a vCPU, hundredths of a MiB), money in USD as the catalogue has it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Need:
    """One pod of the trace: thousandths of a vCPU, MiB, GPUs, quality of service."""

    cpu_milli: int
    memory_mib: int
    gpus: int
    qos: str


@dataclass(frozen=True, slots=True)
class Machine:
    """One real offer: nominal vCPUs, GiB, GPUs, USD an hour; market `od` or `spot`."""

    provider: str
    region: str
    market: str
    vcpus: float
    memory_gib: float
    gpus: float
    usd_per_hour: float


@dataclass(frozen=True, slots=True)
class Rules:
    """What a policy allows: places, and the quality of service that may use spot."""

    places: frozenset[tuple[str, str]]
    spot_for: frozenset[str]


@dataclass(slots=True)
class Verdict:
    """What is wrong with a plan, one line each, and what it really costs."""

    unplaced: list[str] = field(default_factory=list)
    placed_twice: list[str] = field(default_factory=list)
    phantom_offers: list[str] = field(default_factory=list)
    zero_prices: list[str] = field(default_factory=list)
    rule_breaks: list[str] = field(default_factory=list)
    overfull: list[str] = field(default_factory=list)
    gbp_per_hour: float = 0.0

    @property
    def faults(self) -> int:
        """How many faults there are."""
        lists = (
            self.unplaced,
            self.placed_twice,
            self.phantom_offers,
            self.zero_prices,
            self.rule_breaks,
            self.overfull,
        )
        return sum(len(one) for one in lists)


def evaluate(
    nodes: Iterable[tuple[str, Iterable[str]]],
    *,
    pods: Mapping[str, Need],
    catalogue: Mapping[str, Machine],
    rules: Rules,
    gbp_per_usd: float,
    reserved_milli: int = 200,
    memory_percent: int = 92,
) -> Verdict:
    """This will judge a plan.

    Args:
        nodes: offer name and pod names of each node.
        pods: every pod that must have a place.
        catalogue: every real offer by name (provider/region/market/type).
        rules: of the policy.
        gbp_per_usd: rate.
        reserved_milli: thousandths of a vCPU that a node keeps.
        memory_percent: share of the memory that pods may use.
    """
    verdict = Verdict()
    seen: dict[str, int] = defaultdict(int)
    usd = 0.0
    for number, (offer, names) in enumerate(nodes):
        held = list(names)
        for name in held:
            seen[name] += 1
        machine = catalogue.get(offer)
        if machine is None:
            verdict.phantom_offers.append(offer)
            continue
        usd += machine.usd_per_hour
        if machine.usd_per_hour <= 0:
            verdict.zero_prices.append(offer)
        _judge_node(verdict, f"{offer}#{number}", machine, [(name, pods[name]) for name in held if name in pods], rules)
        _judge_room(verdict, f"{offer}#{number}", machine, [pods[name] for name in held if name in pods],
                    reserved_milli=reserved_milli, memory_percent=memory_percent)  # fmt: skip
    verdict.unplaced = sorted(name for name in pods if seen[name] == 0)
    verdict.placed_twice = sorted(name for name, times in seen.items() if times > 1 or name not in pods)
    verdict.gbp_per_hour = usd * gbp_per_usd
    return verdict


def _judge_node(verdict: Verdict, node: str, machine: Machine, held: list[tuple[str, Need]], rules: Rules) -> None:
    if (machine.provider, machine.region) not in rules.places:
        verdict.rule_breaks.append(f"{node}: {machine.provider} {machine.region} is not allowed")
    if machine.market == "spot":
        verdict.rule_breaks += [
            f"{name} on {node}: {need.qos} on spot" for name, need in held if need.qos not in rules.spot_for
        ]


def _judge_room(
    verdict: Verdict, node: str, machine: Machine, held: list[Need], *, reserved_milli: int, memory_percent: int
) -> None:
    cpu = round(machine.vcpus * 1000) - reserved_milli - sum(need.cpu_milli for need in held)
    memory = round(machine.memory_gib * 1024) * memory_percent - 100 * sum(need.memory_mib for need in held)
    gpus = machine.gpus - sum(need.gpus for need in held)
    if min(cpu, memory, gpus) < 0:
        verdict.overfull.append(f"{node}: {cpu} milli-vCPU, {memory / 100:.0f} MiB, {gpus} GPUs left")
