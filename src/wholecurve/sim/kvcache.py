"""The KV memory of a simulated engine: a fixed number of blocks, leased to sequences, with a prefix cache."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field


@dataclass(slots=True)
class Lease:
    """Blocks of one sequence: `shared` ones by hash (found in the cache or put there), the rest `private`."""

    prefix: tuple[int, ...]
    hits: int
    private: int
    shared: list[int] = field(default_factory=list)


class BlockPool:
    """Leases blocks; blocks of finished prompts stay findable until their room is needed (least recently used first).

    Invariant: `used` (private and cached blocks) never exceeds `total`.
    """

    __slots__ = ("_holders", "_idle", "_private", "total")

    def __init__(self, total: int) -> None:
        self.total = total
        self._private = 0
        self._holders: dict[int, int] = {}
        self._idle: OrderedDict[int, None] = OrderedDict()

    @property
    def used(self) -> int:
        """Blocks that hold something: leased or cached."""
        return self._private + len(self._holders)

    @property
    def leased(self) -> int:
        """Blocks that a sequence needs now."""
        return self.used - len(self._idle)

    def lease(self, prefix: tuple[int, ...], blocks: int) -> Lease | None:
        """Room for a sequence of `blocks` blocks in all, `prefix` the chained hashes of its first full ones.

        None when there is not enough room now; then nothing has changed.
        """
        hits = 0
        while hits < len(prefix) and prefix[hits] in self._holders:
            hits += 1
        found = prefix[:hits]
        needed = blocks - hits
        idle_hits = sum(self._holders[key] == 0 for key in found)
        if needed > self.total - self.leased - idle_hits:
            return None
        for key in found:
            if self._holders[key] == 0:
                del self._idle[key]
            self._holders[key] += 1
        while self.total - self.used < needed:
            oldest, _ = self._idle.popitem(last=False)
            del self._holders[oldest]
        self._private += needed
        return Lease(prefix, hits, needed, list(found))

    def publish(self, lease: Lease) -> None:
        """The prompt is computed: its full blocks can be found by others from now on."""
        for key in lease.prefix[lease.hits :]:
            if key not in self._holders:
                self._holders[key] = 1
                self._private -= 1
                lease.private -= 1
                lease.shared.append(key)

    def release(self, lease: Lease) -> None:
        """The sequence ended. Its shared blocks stay cached, the deepest ones the first to go."""
        self._private -= lease.private
        lease.private = 0
        for key in reversed(lease.shared):
            self._holders[key] -= 1
            if self._holders[key] == 0:
                self._idle[key] = None
        lease.shared.clear()
