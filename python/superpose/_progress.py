"""How far a long call is: a bar of tqdm where that is installed and someone looks, or a function of one's own."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import sys
from typing import Any, Callable, Dict, Iterator, Optional, Union

from ._given import wrong

#: Seconds that a call may take without a bar.
DELAY = 1.0

Listener = Callable[[int, int, str], Any]
Progress = Union[None, bool, Listener]


@contextlib.contextmanager
def listener(progress: Progress) -> Iterator[Optional[Listener]]:
    """What the engine is to call: nothing, the caller's function, or a bar that ends with the call."""
    if callable(progress):
        yield progress
    elif progress is not None and progress is not True and progress is not False:
        raise wrong("progress", progress, "None, True, False or a function of (done, total, note)")
    elif progress is False or (progress is None and not (_someone_looks() and _has("tqdm"))):
        yield None
    elif not _has("tqdm"):
        # Said now rather than in the middle of the work.
        raise ImportError("progress = True: needs tqdm (pip install tqdm); a function of (done, total, note) needs nothing")
    else:
        bar = _Bar()
        try:
            yield bar.tell
        finally:
            bar.close()


class _Bar:
    """A bar that appears when the engine first tells of work, which short calls never do. Work goes on without it where it
    cannot be drawn."""

    def __init__(self) -> None:
        self._bar: Any = None
        self._broken = False

    def tell(self, done: int, total: int, note: str) -> None:
        if not self._broken:
            try:
                self._draw(done, total, note)
            except Exception:
                self._broken = True

    def _draw(self, done: int, total: int, note: str) -> None:
        if self._bar is None:
            kind = "{desc} {percentage:3.0f}%|{bar}| {elapsed}, {remaining} left" if total else "{desc} {elapsed}"
            drawing = importlib.import_module("tqdm.notebook" if _in_notebook() and _has("ipywidgets") else "tqdm")
            self._bar = drawing.tqdm(total=total or None, bar_format=kind, delay=DELAY, leave=False)
        if total:
            self._bar.total = total
            done = min(done, total)
        self._bar.set_description_str(note, refresh=False)
        self._bar.update(done - self._bar.n)
        if not total:
            self._bar.refresh()

    def close(self) -> None:
        if self._bar is not None:
            with contextlib.suppress(Exception):
                self._bar.close()


#: Whether a module is installed, for those that were asked for.
_FOUND: Dict[str, bool] = {}


def _has(module: str) -> bool:
    if module not in _FOUND:
        _FOUND[module] = importlib.util.find_spec(module) is not None
    return _FOUND[module]


def _in_notebook() -> bool:
    shell = getattr(sys.modules.get("IPython"), "get_ipython", None)
    return callable(shell) and getattr(shell(), "kernel", None) is not None


def _someone_looks() -> bool:
    try:
        return _in_notebook() or sys.stderr.isatty()
    except (AttributeError, ValueError, OSError):
        # No stream, one that is closed, or an object that only writes.
        return False
