"""A progress bar on stderr, only when it is a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import Progress, TaskID

from exporters.core.output import stderr


@contextmanager
def terminal_progress() -> Iterator[Callable[..., None]]:
    """This will show each step as a bar while the block runs; without a terminal it shows nothing."""
    if not stderr.is_terminal:
        yield _silent
        return
    tasks: dict[str, TaskID] = {}
    with Progress(console=stderr, transient=True) as bars:

        def show(step: str, *, done: int, total: int | None) -> None:
            if step not in tasks:
                tasks[step] = bars.add_task(step, total=total)
            bars.update(tasks[step], completed=done, total=total)

        yield show


def _silent(step: str, *, done: int, total: int | None) -> None:
    del step, done, total
