"""How far a long call is: a bar of tqdm where that is installed and someone looks, or a function of one's own."""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import sys
from typing import Any, Callable, Iterator, Optional, Union

#: Seconds that a call may take without a bar.
DELAY = 1.0

Listener = Callable[[int, int, str], Any]
Progress = Union[None, bool, Listener]


@contextlib.contextmanager
def listener(progress: Progress) -> Iterator[Optional[Listener]]:
    """What the engine is to call: nothing, the caller's function, or a bar that ends with the call."""
    if callable(progress):
        yield progress
    elif progress is False or (progress is None and not (_someone_looks() and _has("tqdm"))):
        yield None
    else:
        bar = _Bar()
        try:
            yield bar.tell
        finally:
            bar.close()


class _Bar:
    """A bar that appears when the engine first tells of work, which short calls never do."""

    def __init__(self) -> None:
        self._bar: Any = None

    def tell(self, done: int, total: int, note: str) -> None:
        if self._bar is None:
            if _in_notebook() and _has("ipywidgets"):
                from tqdm.notebook import tqdm
            else:
                from tqdm import tqdm
            kind = "{desc} {percentage:3.0f}%|{bar}| {elapsed}, {remaining} left" if total else "{desc} {elapsed}"
            self._bar = tqdm(total=total or None, bar_format=kind, delay=DELAY, leave=False)
        if total:
            self._bar.total = total
            done = min(done, total)
        self._bar.set_description_str(note, refresh=False)
        self._bar.update(done - self._bar.n)
        if not total:
            self._bar.refresh()

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()


@functools.lru_cache(maxsize=None)
def _has(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


def _in_notebook() -> bool:
    shell = sys.modules.get("IPython")
    return shell is not None and getattr(shell.get_ipython(), "kernel", None) is not None


def _someone_looks() -> bool:
    return _in_notebook() or (sys.stderr is not None and sys.stderr.isatty())
