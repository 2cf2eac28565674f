"""The table of rights as a page: docs/how-to/permissions.md is this module's output, and a test compares them.

``python -m exporters.permissions_reference > docs/how-to/permissions.md``
"""

from __future__ import annotations

import json
import sys

from exporters.permissions import RIGHTS, WITHOUT_RIGHTS, documents
from exporters.settings import ExporterSettings

_OPENING = """# Give it the least rights

Tuppence reads prices. It asks for no right to change anything in a cloud, and for none that your settings do not need:

```sh
tuppence check --permissions                       # every enabled source, and the store
tuppence check aws --permissions > policy.json     # one document, ready to hand on
tuppence check --permissions -o json               # all of them with what each is for
tuppence check                                     # afterwards: tries each call and names the missing action
```

Documents go to standard output, what each is for to standard error. The command calls nobody.

## What is asked for, and when

| source | who | action | for | only with |
|---|---|---|---|---|
"""

_EXAMPLE = {
    "sources": {
        "aws": {"role_arn": "arn:aws:iam::111122223333:role/tuppence-prices"},
        "gcp": {"project": "finops-1"},
        "azure": {"subscription_id": "00000000-0000-0000-0000-000000000001"},
    },
    "store": {"url": "s3://finops/tuppence/snapshots"},
}

_CLOSING = """## On a hub of Open Cluster Management

The mode `recommend` needs none. `tuppence mode rbac MODE` prints what the others need ([modes](modes.md)).
"""


def page() -> str:
    """This will return the page in Markdown."""
    rows = [
        f"| {right.source} | {right.holder} | `{right.action}` | {right.needed_for} | {right.when} |"
        for right in RIGHTS
    ]
    bare = [f"| {source} | {why} |" for source, why in WITHOUT_RIGHTS.items()]
    parts = [
        _OPENING + "\n".join(rows) + "\n",
        "`sts:GetCallerIdentity`, by which the check names the account, needs no right (AWS STS API reference).\n",
        "Without any right:\n",
        "| source | what it can do |\n|---|---|\n" + "\n".join(bare) + "\n",
        "## What the documents look like\n",
        "With a role to assume, a project, a subscription and a bucket:\n",
        *_documents(),
        _CLOSING,
    ]
    return "\n".join(parts)


def _documents() -> list[str]:
    settings = ExporterSettings.model_validate(_EXAMPLE)
    return [
        f"{one.source}, {one.holder}: {one.kind}\n\n```json\n{json.dumps(one.body, indent=2)}\n```\n"
        for one in documents(settings, ("aws", "gcp", "azure", "store"))
    ]


if __name__ == "__main__":
    sys.stdout.write(page())
