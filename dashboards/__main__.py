"""``python -m dashboards``: see dashboards/build.py."""

from __future__ import annotations

import sys

from dashboards.build import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
