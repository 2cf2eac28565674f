"""The golden files of Open Cluster Management and of the Dynamic Scoring Framework.

``python -m tests.recommender.emit.handed`` writes them anew; look at the difference.
"""

from __future__ import annotations

import shutil
from functools import cache
from pathlib import Path

from recommender.emit import dsf, ocm
from recommender.emit.contract import System
from recommender.emit.write import files_of
from tests.recommender.emit.subjects import example

GOLDEN = Path(__file__).with_name("golden")
OURS = (
    System("ocm", "Open Cluster Management", ocm.emit),
    System("dsf", "Dynamic Scoring Framework", dsf.emit),
)


@cache
def everything() -> dict[str, str]:
    """This will return the text of each golden file by its path."""
    return files_of(example(), [(system, system.emit(example())) for system in OURS])


def main() -> None:
    """This will write all golden files."""
    for system in OURS:
        shutil.rmtree(GOLDEN / system.name, ignore_errors=True)
    for name, text in everything().items():
        path = GOLDEN / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="")


if __name__ == "__main__":
    main()
