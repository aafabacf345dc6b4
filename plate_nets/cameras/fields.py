"""Interlaced pictures -> whole ones, with FFmpeg's own filters.

A picture of an interlaced camera has two fields: the even rows and the odd rows, which were taken one after the other.
What moves has combed edges, and plates cannot be read.
"""

from collections.abc import Callable, Iterator
from typing import Literal

import av
import av.error
from av.filter import Graph

Deinterlace = Literal["auto", "on", "off"]
"""Deinterlace pictures that say so or are combed, all pictures, or none."""

_EVERY = 25
"""Pictures between the starts of two looks at a stream that does not say it is interlaced."""
_SURE = 12
"""So many combed pictures in a row with the same field first: of a noisy progressive stream, two in a row may be."""
_JUDGE = "idet"
"""Corrects what a picture says of its fields. Where nothing moves, what the stream says stays."""
_COMBED, _STILL = ("tff", "bff"), "undetermined"
_VERDICT = "lavfi.idet.single.current_frame"

_Layout = tuple[int, int, str]
"""Width, height and pixel format."""


class Deinterlacer:
    """Deinterlaces the pictures of one source. A source whose pictures are whole is passed on as it is.

    Args:
        each: make a picture of each field, so twice as many; otherwise one of both.
        notice: called with a line if the pictures are combed although the stream does not say so.
    """

    def __init__(self, mode: Deinterlace, *, each: bool, notice: Callable[[str], None]) -> None:
        self._mode = mode
        which, rate = "all" if mode == "on" else "interlaced", "send_field" if each else "send_frame"
        self._filters = {_JUDGE: "", "bwdif": f"mode={rate}:deint={which}"}
        self._notice = notice
        self._chain: _Chain | None = None
        self._look: _Chain | None = None
        self._count = 0
        self._order, self._run = "", 0
        """The field that came first in the last combed pictures of the look, and how many those are."""

    def take(self, picture: av.VideoFrame) -> Iterator[av.VideoFrame]:
        """The next picture of the source -> the whole pictures that are ready; they come up to two pictures later."""
        if self._mode == "off":
            yield picture
            return
        if self._chain and not self._chain.fits(picture):
            yield from self._chain.rest()
            self._chain = _Chain(picture, self._filters)
        elif not self._chain and (self._mode == "on" or picture.interlaced_frame or self._is_combed(picture)):
            self._chain = _Chain(picture, self._filters)
        yield from self._chain.take(picture) if self._chain else (picture,)

    def rest(self) -> Iterator[av.VideoFrame]:
        if self._chain:
            yield from self._chain.rest()

    def _is_combed(self, picture: av.VideoFrame) -> bool:
        """Whether the pictures of a look were combed until it was sure; the first one that is not ends the look."""
        if self._look and not self._look.fits(picture):
            self._look = None
        if not self._look and self._count % _EVERY == 0:
            self._look, self._run = _Chain(picture, {_JUDGE: ""}), 0
        self._count += 1
        for judged in self._look.take(picture) if self._look else ():
            verdict = str(judged.metadata.get(_VERDICT))
            if verdict in _COMBED:
                self._run = self._run + 1 if verdict == self._order else 1
                self._order = verdict
            elif verdict != _STILL or not self._run:
                self._look = None
        if not self._look or self._run < _SURE:
            return False
        self._look = None
        self._notice(
            "its pictures are interlaced, although the stream does not say so; they are deinterlaced, unless you set "
            "`deinterlace: off`"
        )
        return True


class _Chain:
    def __init__(self, picture: av.VideoFrame, filters: dict[str, str]) -> None:
        self._layout = _layout(picture)
        self._graph = Graph()
        self._graph.threads = 1  # there is a thread for each camera
        width, height, _ = self._layout
        source = self._graph.add_buffer(width=width, height=height, format=picture.format, time_base=picture.time_base)
        steps = [self._graph.add(name, options) for name, options in filters.items()]
        self._graph.link_nodes(source, *steps, self._graph.add("buffersink")).configure()

    def fits(self, picture: av.VideoFrame) -> bool:
        return _layout(picture) == self._layout

    def take(self, picture: av.VideoFrame | None) -> Iterator[av.VideoFrame]:
        """A picture, or None at the end -> those that come out."""
        self._graph.vpush(picture)
        while True:
            try:
                yield self._graph.vpull()
            except (BlockingIOError, av.error.EOFError):
                return

    def rest(self) -> Iterator[av.VideoFrame]:
        return self.take(None)


def _layout(picture: av.VideoFrame) -> _Layout:
    return picture.width, picture.height, picture.format.name
