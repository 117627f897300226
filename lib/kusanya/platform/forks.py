"""What a process holds open is never shared with the children that it forks.

`fork` copies memory, but neither threads nor the right to a lock: a child would wait for a thread
that it does not have, speak on a socket that its parent reads, and believe in file locks that the
kernel does not know. An object that has one is a `ForkAware` and is called around every fork.
Where the system has no fork (Windows), nothing is ever called.
"""

import os
import threading
import weakref
from typing import Final


class ForkAware:
    """Holds something that must not cross a fork; known to this module for as long as it lives.

    None of its methods may raise: the fork happens all the same.
    """

    def __init__(self) -> None:
        with _registry.lock:
            _registry.live.add(self)

    def before_fork(self) -> None:
        """Bring what is under way to rest; called in the thread that forks."""

    def after_fork_in_parent(self) -> None:
        """Go on."""

    def after_fork_in_child(self) -> None:
        """Forget what belongs to the parent, and begin anew with the next use.

        The calling thread is the only one. A lock may be held by one that is gone: make new ones.
        """


class _Registry:
    def __init__(self) -> None:
        # Held from before a fork until after it: two threads never fork at once.
        self.lock = threading.RLock()
        self.live: weakref.WeakSet[ForkAware] = weakref.WeakSet()
        self._forked: list[ForkAware] = []

    def before(self) -> None:
        self.lock.acquire()
        self._forked = list(self.live)
        for one in self._forked:
            one.before_fork()

    def in_parent(self) -> None:
        forked, self._forked = self._forked, []
        for one in forked:
            one.after_fork_in_parent()
        self.lock.release()

    def in_child(self) -> None:
        self.lock = threading.RLock()
        self._forked = []
        for one in list(self.live):
            one.after_fork_in_child()


_registry: Final = _Registry()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_registry.before,
        after_in_parent=_registry.in_parent,
        after_in_child=_registry.in_child,
    )
