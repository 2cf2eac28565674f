"""The golden files of the hand-over: what Argo CD, meshes, KAI, cluster profiles and Kubernetes get of the example.

``python -m tests.recommender.emit.golden`` writes them anew; look at the difference.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from recommender.emit.index import Index, index_of
from recommender.emit.index_page import page
from recommender.emit.registry import SYSTEMS
from recommender.emit.write import files_of
from tests.recommender.emit.subjects import example

GOLDEN = Path(__file__).with_name("golden")
NAMES = ("argocd", "clusterprofile", "kai", "kubernetes", "mesh")
OURS = tuple(system for system in SYSTEMS if system.name in NAMES)


def made() -> tuple[Index, dict[str, str]]:
    """This will return the index of the example, and its files."""
    emitted = [(system, system.emit(example())) for system in OURS]
    files = files_of(example(), emitted)
    return index_of(example(), emitted, files=sorted(files)), files


def everything() -> dict[str, str]:
    """This will return the text of each golden file by its path."""
    index, files = made()
    document = json.dumps(index.model_dump(mode="json", exclude_none=True), indent=2, sort_keys=True)
    return {**files, "index.md": page(index), "index.json": document + "\n"}


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
