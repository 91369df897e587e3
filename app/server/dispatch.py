"""Events from the engine thread to the request that waits for them on the HTTP loop."""

from __future__ import annotations

import asyncio

from engine.request import Event, Failed, Finished


class Mailbox:
    """The events of one request, in order. Lives on the HTTP loop."""

    __slots__ = ("_events", "_waiter", "ended")

    def __init__(self) -> None:
        self._events: list[Event] = []
        self._waiter: asyncio.Future[None] | None = None
        self.ended = False

    def put(self, event: Event) -> None:
        self._events.append(event)
        if isinstance(event, Finished | Failed):
            self.ended = True
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def take(self, timeout_s: float) -> list[Event]:
        """Everything that has come in; waits for a first event, [] when none came in time."""
        if not self._events:
            self._waiter = asyncio.get_running_loop().create_future()
            try:
                async with asyncio.timeout(timeout_s):
                    await self._waiter
            except TimeoutError:
                return []
            finally:
                self._waiter = None
        events, self._events = self._events, []
        return events


class Dispatcher:
    """Delivers one engine step's events with one wake-up of the HTTP loop (design, threads)."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._mailboxes: dict[str, Mailbox] = {}

    def attach(self, loop: asyncio.AbstractEventLoop) -> None:
        """Deliver on this loop from now on. Until then nobody can have asked for anything."""
        self._loop = loop

    def detach(self) -> None:
        """The loop is about to stop: later events are dropped, their readers are gone."""
        self._loop = None

    def deliver(self, events: tuple[Event, ...]) -> None:
        """Called on the engine thread, once per step."""
        loop = self._loop
        if loop is None or not events:
            return
        try:
            loop.call_soon_threadsafe(self._hand_out, events)
        except RuntimeError:
            # Closed between the check and the call: nobody reads any more.
            self._loop = None

    def open(self, request_id: str) -> Mailbox:
        """From now on events of this request are kept for its reader."""
        mailbox = self._mailboxes[request_id] = Mailbox()
        return mailbox

    def close(self, request_id: str) -> None:
        """The reader is gone; what still comes for this request is dropped."""
        self._mailboxes.pop(request_id, None)

    def _hand_out(self, events: tuple[Event, ...]) -> None:
        for event in events:
            mailbox = self._mailboxes.get(event.request_id)
            if mailbox is not None:
                mailbox.put(event)
