"""Finished searches in one SQLite file, so that a run that was killed goes on where it was.

A search is committed by itself, in one transaction: after a kill every row is whole or not there. Several processes may
use one file; whoever commits a search first, it is there once. The file says that it is mapper's (`application_id`) and
how it is laid out (`user_version`).
"""

from __future__ import annotations

import hashlib
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import TypeVar

from mapper.errors import InputError
from mapper.runs.job import job_key, job_text
from mapper.runs.outcome import written
from mapper.runs.work import Measurement, Outcome
from mapper.search.solve import Problem

T = TypeVar("T")

APPLICATION = int.from_bytes(b"mapr")
SCHEMA = 2
"""Raised with every change of the tables."""
TABLE = """
CREATE TABLE jobs (
    key TEXT PRIMARY KEY,   -- of the problem and the version of mapper
    search TEXT NOT NULL,   -- the problem, for people
    outcome TEXT NOT NULL,  -- JSON
    digest TEXT NOT NULL    -- SHA-256 of the outcome
)
"""

INSERT = "INSERT OR IGNORE INTO jobs VALUES (?, ?, ?, ?)"

BUSY_SECONDS = 30.0
"""How long a process waits for another one that writes: a commit takes milliseconds."""
SUFFIXES = ("", "-wal", "-shm")
"""Files of a store, its own first."""

_MAGIC, _APPLICATION_AT = b"SQLite format 3\0", slice(68, 72)
"""How a database begins and where its application id stands (https://www.sqlite.org/fileformat2.html, section 1.3)."""


class UnusableError(InputError):
    """A store that nothing can be read from: damaged, or of another version."""


class Store:
    """Outcomes by problem. Raises `InputError`, naming the file, for everything that keeps it from being used."""

    def __init__(self, path: Path, fresh: bool = False) -> None:
        """Open the store at `path` or make one; `fresh`: what is in it goes, also where it is unusable.

        A file that is not mapper's is left as it is.
        """
        self.path = path
        self._keys: dict[Problem, str] = {}
        try:
            self._connection = self._opened(fresh)
        except UnusableError:
            if not fresh or not _is_ours(path):
                raise
            _remove(path)
            self._connection = self._opened(fresh)

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __len__(self) -> int:
        """Finished searches, of whatever problems."""
        with self._errors():
            return int(self._connection.execute("SELECT count(*) FROM jobs").fetchone()[0])

    def finished(self, problems: Iterable[Problem]) -> int:
        """How many of `problems` it holds."""
        with self._errors():
            keys = {key for (key,) in self._connection.execute("SELECT key FROM jobs")}
        return sum(self._key(problem) in keys for problem in problems)

    def get(self, problem: Problem, read: Callable[[str, Problem], T]) -> T | None:
        """What came of `problem`, as `read` makes of its text; None where its search is not finished."""
        row = self._row(problem)
        if row is None:
            return None
        outcome, digest = row
        try:
            if _digest(outcome) != digest:
                raise ValueError("its digest is another")
            return read(outcome, problem)
        except ValueError:
            raise UnusableError(
                "a search in it is damaged, or was costed by another mapper", str(self.path), ANEW
            ) from None

    def put(self, problem: Problem, outcome: Outcome | Measurement) -> None:
        """Commit the outcome of a finished search, once; one that is not final is passed over."""
        text = written(outcome)
        if text is not None:
            row = (self._key(problem), job_text(problem), text, _digest(text))
            with self._errors():
                self._connection.execute(INSERT, row)

    def merge(self, path: Path) -> int:
        """Take in what another store holds; the number of searches that were not here. It is left as it is."""
        if not path.is_file() or not path.stat().st_size:
            raise InputError("no such store", str(path), "the folder of a shard has it")
        before = len(self)
        with Store(path) as other:
            rows = other.rows()
        if any(_digest(outcome) != digest for *_, outcome, digest in rows):
            raise UnusableError("it is damaged", str(path), ANEW)
        with self._errors(), _transaction(self._connection):
            self._connection.executemany(INSERT, rows)
        return len(self) - before

    def rows(self) -> list[tuple[str, str, str, str]]:
        """Everything in it, in the order in which it was committed: keys, searches, outcomes and their digests."""
        with self._errors():
            return self._connection.execute("SELECT key, search, outcome, digest FROM jobs ORDER BY rowid").fetchall()

    def close(self) -> None:
        """Close it; the last to do so leaves one file."""
        # All is committed: what is wrong now does no harm.
        with suppress(sqlite3.Error):
            self._connection.close()

    def discard(self) -> None:
        """Close it and remove the file, unless another process has it open."""
        try:
            # Leaving WAL needs the file for oneself alone.
            self._connection.execute("PRAGMA busy_timeout = 0")
            alone = self._connection.execute("PRAGMA journal_mode = DELETE").fetchone()[0] == "delete"
        except sqlite3.Error:
            alone = False
        self.close()
        if alone:
            _remove(self.path)

    def _key(self, problem: Problem) -> str:
        key = self._keys.get(problem)
        if key is None:
            key = self._keys[problem] = job_key(problem)
        return key

    def _row(self, problem: Problem) -> tuple[str, str] | None:
        with self._errors():
            found = self._connection.execute("SELECT outcome, digest FROM jobs WHERE key = ?", (self._key(problem),))
            row: tuple[str, str] | None = found.fetchone()
        return row

    def _opened(self, fresh: bool) -> sqlite3.Connection:
        with self._errors():
            connection = sqlite3.connect(self.path, timeout=BUSY_SECONDS, isolation_level=None)
        try:
            with self._errors():
                self._check(connection)
                # A kill loses nothing; a power cut at worst the last searches, and never harms the others.
                connection.execute("PRAGMA synchronous = NORMAL")
                # Before the log is used: so the file itself says whose it is.
                with _transaction(connection):
                    _lay_out(connection, fresh)
                _write_ahead(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _check(self, connection: sqlite3.Connection) -> None:
        """Refuse what is neither empty nor a sound store of this version, before anything is written."""
        application, schema = _whose(connection)
        if application == 0 and _is_empty(connection):
            return
        if application != APPLICATION:
            raise InputError("a database, but not of mapper", str(self.path), ELSEWHERE)
        if schema != SCHEMA:
            reason = f"layout {schema} of another version of mapper; this one knows {SCHEMA}"
            raise UnusableError(reason, str(self.path), ANEW)
        if connection.execute("PRAGMA quick_check(1)").fetchone()[0] != "ok":
            raise UnusableError("it is damaged", str(self.path), ANEW)

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF
            reason, hint = _REASONS.get(code, (str(error), None))
            raise (UnusableError if code in _UNUSABLE else InputError)(reason, str(self.path), hint) from None


ANEW = "remove it, or search without --resume"
ELSEWHERE = "move it, or give another --output"
GOES_ON = "what is finished is kept"

_REASONS = {
    sqlite3.SQLITE_FULL: ("no room left on the disk", f"{GOES_ON}: make room, then --resume continues"),
    sqlite3.SQLITE_IOERR: ("cannot be read or written", f"{GOES_ON}: --resume continues"),
    sqlite3.SQLITE_BUSY: ("another process keeps it locked", "wait for that, or give another --output"),
    sqlite3.SQLITE_READONLY: ("cannot be written", "give an --output that can be written"),
    sqlite3.SQLITE_CANTOPEN: ("cannot be opened", ELSEWHERE),
    sqlite3.SQLITE_NOTADB: ("not a store of finished searches", ELSEWHERE),
    sqlite3.SQLITE_CORRUPT: ("it is damaged", ANEW),
    # A table or a column that is not there.
    sqlite3.SQLITE_ERROR: ("it is damaged", ANEW),
}
"""Message and hint by SQLite's result code."""
_UNUSABLE = (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_ERROR)


def _whose(connection: sqlite3.Connection) -> tuple[int, int]:
    """Application and layout."""
    asked = ("PRAGMA application_id", "PRAGMA user_version")
    application, schema = (int(connection.execute(each).fetchone()[0]) for each in asked)
    return application, schema


def _is_empty(connection: sqlite3.Connection) -> bool:
    return not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]


def _lay_out(connection: sqlite3.Connection, fresh: bool) -> None:
    if _is_empty(connection):
        connection.execute(TABLE)
        connection.execute(f"PRAGMA application_id = {APPLICATION}")
        connection.execute(f"PRAGMA user_version = {SCHEMA}")
    elif fresh:
        connection.execute("DELETE FROM jobs")


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All or nothing, and no other writer meanwhile."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def _write_ahead(connection: sqlite3.Connection) -> None:
    """Commits append to a log: quick, and whole after a kill. A file system that cannot do that keeps its journal."""
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            # SQLite does not wait by itself where two processes change the mode at once.
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.01)


def _is_ours(path: Path) -> bool:
    """Whether the file begins as a store does, whatever has become of the rest."""
    try:
        with path.open("rb") as file:
            head = file.read(100)
    except OSError:
        return False
    return head.startswith(_MAGIC) and head[_APPLICATION_AT] == APPLICATION.to_bytes(4)


def _remove(path: Path) -> None:
    for suffix in SUFFIXES:
        path.with_name(path.name + suffix).unlink(missing_ok=True)
