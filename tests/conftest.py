"""What every test shares: property tests repeat the same examples in a build, and never fail for being slow."""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("local", deadline=None, max_examples=50)
settings.register_profile("ci", deadline=None, max_examples=50, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") == "true" else "local")
