"""The track openb-34d: its daily snapshots of pods, its policies, its catalogue and its certified bounds.

Conventions as in benchmark/SOURCE.md: snapshot NN holds the pods that run at 12:00 UTC of day NN; allocatable is
vCPU − 0.2 and 92 % of the memory; whole GPUs of any model; pounds at the ECB rate of 3 August 2026.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import polars as pl
from packing_evaluator import Machine, Need, Rules

from recommender.place.packing.problem import NodeOffer, Pod

GBP_PER_USD = 0.742375
FIRST_SECOND = 9_961_200
DAY = 86_400
HOME = ("aws", "eu-west-2")


@dataclass(frozen=True, slots=True)
class Policy:
    """One policy of the track.

    Args:
        places: provider and region; None: every place outside the US.
        spot_for_best_effort: whether pods of class BE may use spot.
    """

    places: tuple[tuple[str, str], ...] | None
    spot_for_best_effort: bool


POLICIES = {
    "home_od": Policy((HOME,), spot_for_best_effort=False),
    "home_spot": Policy((HOME,), spot_for_best_effort=True),
    "uk2_spot": Policy((HOME, ("gcp", "europe-west2")), spot_for_best_effort=True),
    "eu3_od": Policy(None, spot_for_best_effort=False),
    "eu3_spot": Policy(None, spot_for_best_effort=True),
}


@dataclass(frozen=True, slots=True)
class Track:
    """Everything that is read once: pods with their times, real offers by name, bounds by snapshot and policy."""

    pods: pl.DataFrame
    catalogue: dict[str, Machine]
    bounds: dict[tuple[str, str], dict[str, float]]


def load(data: Path) -> Track:
    """This will read the track from the data folder."""
    pods = pl.read_csv(data / "usage/alibaba_gpu_v2023/openb_pod_list_default.csv", infer_schema_length=None)
    machines = pl.read_csv(data / "benchmark/bench_types_usd.csv").filter(~pl.col("region").str.starts_with("us"))
    bounds = pl.read_csv(data / "benchmark/openb_bounds.csv")
    return Track(
        pods=pods.filter(pl.col("deletion_time") > pl.col("creation_time")),
        catalogue={
            "/".join((row["prov"], row["region"], row["market"], row["type"])): Machine(
                row["prov"], row["region"], row["market"], row["vcpu"], row["mem"], row["gpu"], row["usd"]
            )
            for row in machines.iter_rows(named=True)
            if not row["region"].startswith("us-")
        },
        bounds={(row["snapshot"], row["policy"]): row for row in bounds.iter_rows(named=True)},
    )


def snapshot(track: Track, day: int) -> dict[str, Need]:
    """This will return the pods that run at noon of a day, 1 to 34."""
    second = FIRST_SECOND + DAY * (day - 1) + DAY // 2
    running = track.pods.filter(pl.col("creation_time") <= second, pl.col("deletion_time") > second)
    return {
        row["name"]: Need(row["cpu_milli"], row["memory_mib"], row["num_gpu"], row["qos"])
        for row in running.iter_rows(named=True)
    }


def rules(track: Track, policy: Policy) -> Rules:
    """This will say a policy in the evaluator's words."""
    every = {(machine.provider, machine.region) for machine in track.catalogue.values()}
    places = every if policy.places is None else set(policy.places)
    return Rules(frozenset(places), frozenset({"BE"} if policy.spot_for_best_effort else ()))


def node_offers(catalogue: dict[str, Machine], policy: Policy) -> tuple[NodeOffer, ...]:
    """This will turn the offers that a policy allows into the solver's words; the class is market and place."""
    return tuple(
        NodeOffer(
            id=name,
            cluster=f"{machine.provider}/{machine.region}",
            offer_class=f"{machine.market} {machine.provider}/{machine.region}",
            vcpus=machine.vcpus - 0.2,
            memory_gib=machine.memory_gib * 0.92,
            gpus=machine.gpus,
            gbp_per_hour=machine.usd_per_hour * GBP_PER_USD,
        )
        for name, machine in catalogue.items()
        if (policy.places is None or (machine.provider, machine.region) in policy.places)
        and (machine.market == "od" or policy.spot_for_best_effort)
    )


def solver_pods(
    needs: dict[str, Need], offers: tuple[NodeOffer, ...], surcharges: tuple[tuple[str, float], ...] = ()
) -> tuple[Pod, ...]:
    """This will turn pods into the solver's words: BE may go to every class, the others to on-demand ones."""
    classes = frozenset(offer.offer_class for offer in offers)
    on_demand = frozenset(name for name in classes if name.startswith("od "))
    return tuple(
        Pod(
            id=name,
            vcpus=need.cpu_milli / 1000,
            memory_gib=need.memory_mib / 1024,
            gpus=need.gpus,
            allowed=classes if need.qos == "BE" else on_demand,
            surcharges=surcharges,
        )
        for name, need in needs.items()
    )
