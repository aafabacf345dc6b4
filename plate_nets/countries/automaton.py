"""The automaton of all patterns of a scheme: what may follow the beginning of a text."""

from collections import defaultdict
from collections.abc import Iterator, Mapping

from plate_nets.common.errors import SchemeError

MOST_WORK = 300_000
"""Limit for building the automaton of all formats, see `Successors.explore`: a second or two. Russia's takes 262."""
_WIDE = 16
"""How many of the widest rests of a text each other one is compared with."""

Rest = frozenset[tuple[frozenset[str], ...]]
"""The possible rests of a text: the symbols that may stand at each place."""


class Successors:
    """The possible next symbols, by state: class of a symbol -> next state; the empty text is at `start`.

    An automaton of the patterns' prefixes, built on demand. Thread-safe.
    """

    def __init__(self, patterns: Rest, alphabet: str) -> None:
        # A state is the set of possible rests (the derivative of the patterns by a prefix, Brzozowski 1964)
        self.start = _widest(patterns)
        self._alphabet = alphabet
        self._known = {self.start: self.start}
        self._rows: dict[Rest, Mapping[int, Rest]] = {}

    def __getitem__(self, state: Rest) -> Mapping[int, Rest]:
        row = self._rows.get(state)
        if row is None:
            row = self._rows[state] = dict(self._row(state))
        return row

    def explore(self, most_work: int) -> None:
        """Build all states.

        Raises:
            SchemeError: it takes more than ``most_work``, the possible rests times the different states after them.
        """
        work, waiting, seen = 0, [self.start], {self.start}
        for state in waiting:  # grows in the loop
            following = set(self[state].values())
            work += len(state) * len(following)
            if work > most_work:
                raise SchemeError(f"an automaton of more than {len(seen)} states")
            waiting += following - seen
            seen |= following

    def _row(self, state: Rest) -> Iterator[tuple[int, Rest]]:
        tails: dict[frozenset[str], set[tuple[frozenset[str], ...]]] = defaultdict(set)
        for symbols, *tail in filter(None, state):
            tails[symbols].add(tuple(tail))
        for index, symbol in enumerate(self._alphabet):
            after: Rest = frozenset().union(*(rests for symbols, rests in tails.items() if symbol in symbols))
            if after and after not in self._known:
                widest = _widest(after)
                self._known[after] = self._known.setdefault(widest, widest)  # one object, so one computation of a hash
            if after:
                yield index, self._known[after]


def _widest(rests: Rest) -> Rest:
    """Without the rests that a wider one includes. Formats of different countries often include each other."""
    kept: dict[int, list[tuple[frozenset[str], ...]]] = defaultdict(list)
    for rest in sorted(rests, key=lambda rest: -sum(map(len, rest))):
        same = kept[len(rest)]
        if not any(all(map(frozenset.issubset, rest, wide)) for wide in same[:_WIDE]):
            same.append(rest)
    return frozenset(rest for same in kept.values() for rest in same)
