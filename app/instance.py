"""One Ondol per data folder: a lock that dies with its process, and a note of who holds it."""

from __future__ import annotations

import fcntl
import json
import os
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType

from app.settings import format_url

_LOCK_NAME = "ondol.lock"
_NOTE_NAME = "instance.json"


@dataclass(frozen=True, slots=True)
class Holder:
    """The process that has the data folder."""

    pid: int
    host: str
    port: int


class InstanceHeld(Exception):
    """Another Ondol has this data folder. `holder` is None while that one is still starting."""

    def __init__(self, holder: Holder | None) -> None:
        if holder is None:
            who = "Another Ondol is just starting with this data folder."
        else:
            url = format_url(holder.host, holder.port)
            who = f"Ondol is already running with this data folder: process {holder.pid}, {url}"
        super().__init__(who)
        self.holder = holder


def find_holder(data_dir: Path) -> Holder | None:
    """Who has a data folder now; None where nobody has it, or its holder is just starting."""
    instance = Instance(data_dir)
    try:
        with (data_dir / _LOCK_NAME).open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return instance.read_note()
    except OSError:
        return None
    return None


class Instance:
    """The right to one data folder, from `acquire` to `release`.

    The lock is the operating system's (flock): a crash frees it, a stale file means nothing.
    """

    def __init__(self, data_dir: Path) -> None:
        self._lock_path = data_dir / _LOCK_NAME
        self._note_path = data_dir / _NOTE_NAME
        self._fd: int | None = None

    def acquire(self) -> None:
        """Does nothing where it is held already. Raises InstanceHeld where another process has the
        folder, OSError where it is broken."""
        if self._fd is not None:
            return
        fd = os.open(self._lock_path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(fd)
            raise InstanceHeld(self.read_note()) from None
        except OSError:
            os.close(fd)
            raise
        self._fd = fd
        self._note_path.unlink(missing_ok=True)

    def announce(self, host: str, port: int) -> None:
        """Tell a second Ondol where this one listens. Written atomically."""
        holder = Holder(pid=os.getpid(), host=host, port=port)
        fd, temporary = tempfile.mkstemp(dir=self._note_path.parent, prefix=_NOTE_NAME)
        try:
            with os.fdopen(fd, "w", encoding="utf-8") as file:
                json.dump(asdict(holder), file)
                file.flush()
                os.fsync(file.fileno())
            Path(temporary).replace(self._note_path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise

    def release(self) -> None:
        """Give the folder back. The lock file stays: without it two could lock two files."""
        if self._fd is None:
            return
        self._note_path.unlink(missing_ok=True)
        os.close(self._fd)
        self._fd = None

    def read_note(self) -> Holder | None:
        """What the holder has announced. Means nothing while nobody holds the lock."""
        try:
            note = json.loads(self._note_path.read_text(encoding="utf-8"))
            return Holder(pid=int(note["pid"]), host=str(note["host"]), port=int(note["port"]))
        except (OSError, ValueError, TypeError, KeyError, RecursionError):
            return None

    def __enter__(self) -> Instance:
        self.acquire()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.release()
