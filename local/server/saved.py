"""What the local AWS server has outlives it: a SQLite database with tables, items, and the states of all services.

All that requests of one turn of the event loop have changed is committed at once, and none of them is answered before
it is on the disk. So a kill or a power failure loses nothing that was answered. A server that can't write ends: what it
didn't answer is forgotten, as after a kill, and the next one goes on. Log lines aren't saved.
"""

import asyncio
import json
import os
import re
import signal
import sqlite3
import sys
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, NoReturn
from zlib import crc32

from ..paths import start_afresh
from .patches import ministack

READS = ("Get", "BatchGet", "TransactGet", "Query", "Scan", "Describe", "List", "Search", "Filter")

QUERY = re.compile(rb"Action=(\w+)")
"""The beginning of a request's body in the protocol of IAM."""

ITEMS = ("PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems")
"""DynamoDB's operations that change items only. No other service has one of these names."""

DATABASE = "server.db"

SCHEMA = """
PRAGMA locking_mode = EXCLUSIVE;
PRAGMA journal_mode = PERSIST;
PRAGMA synchronous = FULL;
PRAGMA fullfsync = 1;
CREATE TABLE IF NOT EXISTS saved (
    kind TEXT, owner TEXT, name TEXT, content, checksum INTEGER, PRIMARY KEY (kind, owner, name)
) WITHOUT ROWID;
BEGIN EXCLUSIVE;
COMMIT;
"""
"""A row is the state of a `service`, an `archive` with a function's code, or an `item`, whose owner is a table's id.

A write-ahead log would be twice as fast, but who flips a bit in it loses, unnoticed, all that was written after that.
"""

PUT = "REPLACE INTO saved VALUES (?, ?, ?, ?, ?)"
REMOVE = "DELETE FROM saved WHERE kind = ? AND owner = ? AND name = ?"
EMPTY = "DELETE FROM saved WHERE kind = ? AND owner = ?"

LINES = {"queries", "log_records"}
"""Stores of the logs that aren't saved: they have lines, of which there may be very many."""

LARGE: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    "dynamodb": {"tables": {"items": {}, "ItemCount": 0, "TableSizeBytes": 0, "_index_members": None}},
    "cloudwatch_logs": {"log_groups": {"streams": {}}},
    "cloudwatch": {},
}
"""Service with so much that its state isn't copied → its store with the most → what entries of that have instead.

Items are rows of their own. ministack counts them as they are put back, and builds indexes anew.
"""

ATTEMPTS = 100
"""How often the states are read until no thread changes them meanwhile."""

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Scope]]
Send = Callable[[Scope], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


class Saved:
    """The database of one server, and the services of ministack in this process.

    `numbers` are what the patches keep (`patches/versions.py`).
    """

    def __init__(self, folder: Path, numbers: dict[tuple[str, ...], int]) -> None:
        self._path = folder / DATABASE
        self._numbers = numbers
        self._app, self._persistence = ministack("app"), ministack("core.persistence")
        self._dynamodb = dynamodb = ministack("services.dynamodb")
        self._large = {service: ministack(f"services.{service}") for service in LARGE}
        self._stores = {name: [*one.get_state().keys() - LINES] for name, one in self._large.items()}
        """The names of their stores."""
        self._changes: list[tuple[str, tuple[Any, ...]]] = []
        self._changed = False
        """Whether the state of a service may have changed."""
        self._written: dict[str, str] = {}
        """The states of services, as they were written last."""
        self._archives: dict[str, bytes] = {}
        self._turn: asyncio.Future[None] | None = None
        """What the requests of this turn wait for: the commit."""
        self._set, self._remove, self._recount = dynamodb._set_item, dynamodb._remove_item, dynamodb._items_replaced
        dynamodb._set_item, dynamodb._remove_item = self._set_item, self._remove_item
        dynamodb._items_replaced = self._items_replaced
        functions = ministack("services.lambda_svc")
        functions._write_code_blob, functions._read_code_blob = self._write_archive, self._archives.__getitem__
        functions._prune_orphan_code_blobs = self._prune

    # Reading

    def restore(self) -> None:
        """Put back what the last server here had, or end this process."""
        path = self._path.absolute()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._database = sqlite3.connect(path, timeout=0, isolation_level=None)
            self._database.text_factory = _text
            self._database.executescript(SCHEMA)
            if self._database.execute("PRAGMA quick_check").fetchall() != [("ok",)]:
                raise ValueError("quick_check")
            self._put_back(self._database.execute("SELECT * FROM saved").fetchall())
        except (OSError, sqlite3.OperationalError) as problem:  # another server has opened it, or the disk is full
            _give_up(f"{path}: {problem}")
        except (sqlite3.DatabaseError, ValueError, LookupError, TypeError, AttributeError) as problem:
            _give_up(
                f"{path} is damaged: {problem!r}\nPut this file back as it was when the server ended (with an older "
                f"one, integers are minted again), or {start_afresh()}"
            )

    def _put_back(self, rows: list[tuple[str, str, str, Any, int]]) -> None:
        if wrong := [row for row in rows if row[4] != _checksum(*row[:4])]:
            raise ValueError(wrong[0][:3])
        self._archives |= {owner: content for kind, owner, _, content, _ in rows if kind == "archive"}
        self._written = {owner: content for kind, owner, _, content, _ in rows if kind == "service"}
        states = {name: self._loaded(text) for name, text in self._written.items()}
        for name, module in self._app._state_map.items():
            if states.get(name):
                self._app._get_module(module).load_persisted_state(states[name])
        self._numbers.update({tuple(key): number for key, number in states.get("numbers", [])})
        tables = {table["TableId"]: table for table in self._dynamodb._tables._data.values()}
        for kind, owner, name, content, _ in rows:
            if kind == "item" and owner in tables:
                self._set(tables[owner], *json.loads(name), json.loads(content))
        deleted = {owner for kind, owner, *_ in rows if kind == "item"} - tables.keys()
        self._changes += [(EMPTY, ("item", owner)) for owner in deleted]

    # Writing

    def _put(self, kind: str, owner: str, name: str, content: str | bytes) -> None:
        self._changes.append((PUT, (kind, owner, name, content, _checksum(kind, owner, name, content))))

    def _put_item(self, table: Mapping[str, Any], key: Any, sort: Any, item: Any) -> None:
        self._put("item", table["TableId"], json.dumps([key, sort]), json.dumps(item))

    def _set_item(self, table: Mapping[str, Any], key: Any, sort: Any, item: Any) -> Any:
        """Set an item, as ministack does, and note it."""
        self._put_item(table, key, sort, item)
        return self._set(table, key, sort, item)

    def _remove_item(self, table: Mapping[str, Any], key: Any, sort: Any) -> Any:
        """Remove an item, as ministack does, and note it."""
        self._changes.append((REMOVE, ("item", table["TableId"], json.dumps([key, sort]))))
        return self._remove(table, key, sort)

    def _items_replaced(self, table: Mapping[str, Any]) -> None:
        """Count the items of a table whose items were replaced as a whole, as ministack does, and note them."""
        self._changes.append((EMPTY, ("item", table["TableId"])))
        for key, items in table["items"].items():
            for sort, item in items.items():
                self._put_item(table, key, sort, item)
        self._recount(table)

    def _write_archive(self, code: bytes) -> str:
        """Note a function's code, and return its name."""
        name = _name_of(code)
        if name not in self._archives:
            self._archives[name] = code
            self._put("archive", name, "", code)
        return name

    def _prune(self, needed: set[str]) -> None:
        for name in self._archives.keys() - needed:
            del self._archives[name]
            self._changes.append((EMPTY, ("archive", name)))

    def _states(self) -> dict[str, str]:
        """Return the state of every service, by name: of DynamoDB without items, of the logs without lines."""
        known = self._app._build_persistence_save_dict()
        states: dict[str, Any] = {name: state() for name, state in known.items() if name not in LARGE}
        for service, replaced in LARGE.items():
            states[service] = {name: getattr(self._large[service], f"_{name}") for name in self._stores[service]}
            states[service] |= {name: _each(states[service][name], instead) for name, instead in replaced.items()}
        states["numbers"] = [[list(key), number] for key, number in self._numbers.items()]
        return {name: json.dumps(state, default=self._persistence._json_default) for name, state in states.items()}

    def _note_states(self) -> None:
        """Note which states of services have changed."""
        for name, text in self._unchanging().items():
            if text != self._written.get(name):
                self._put("service", name, "", text)
                self._written[name] = text
        self._changed = False

    def _unchanging(self) -> dict[str, str]:
        """Return the states as they are while no thread of a function changes them."""
        for _ in range(ATTEMPTS - 1):
            with suppress(RuntimeError):
                return self._states()
        return self._states()

    def _loaded(self, text: str) -> Any:
        return json.loads(text, object_hook=self._persistence._json_object_hook)

    def _write(self) -> None:
        """Commit all changes, or end this process."""
        try:
            if self._changed:
                self._note_states()
            changes, self._changes = self._changes, []
            if not self._path.exists():  # SQLite would write into a file that nobody finds
                raise FileNotFoundError("it was removed")
            self._database.execute("BEGIN")
            for statement, values in changes:
                self._database.execute(statement, values)
            self._database.execute("COMMIT")
        except Exception as problem:  # whatever it is: nobody may wait for it without end
            _give_up(f"{self._path.absolute()} can't be written: {problem!r}")

    def _commit(self) -> None:
        self._write()
        turn, self._turn = self._turn, None
        if turn:
            turn.set_result(None)

    async def _written_down(self) -> None:
        """Wait until all that was changed is on the disk."""
        if not self._changes and not self._changed:
            return
        if self._turn is None:
            loop = asyncio.get_running_loop()
            self._turn = loop.create_future()
            loop.call_soon(self._commit)
        await asyncio.shield(self._turn)

    def around(self, app: App) -> App:
        """Return an ASGI application that restores what was saved, and answers no request before what it changed is."""

        async def called(scope: Scope, receive: Receive, send: Send) -> None:
            beginning = b""

            async def sent(message: Scope) -> None:
                if message["type"] == "http.response.start" and not _is_a_functions(scope):
                    self._changed = self._changed or _may_change(scope, beginning)
                    await self._written_down()
                await send(message)

            async def received() -> Scope:
                nonlocal beginning
                message = await receive()
                if message["type"] == "http.request":
                    beginning = beginning or message.get("body", b"")[:100]
                elif message["type"] == "lifespan.startup":
                    self.restore()
                elif message["type"] == "lifespan.shutdown":
                    self._changed = True  # by a schedule, without a request
                    self._write()
                return message

            await app(scope, received, sent if scope["type"] == "http" else send)

        return called


def _give_up(problem: str) -> NoReturn:
    """End this process and its functions at once: it has changed what isn't written, or has nothing to begin with."""
    with suppress(OSError):  # the disk is full
        print(problem, file=sys.stderr, flush=True)
    os.killpg(0, signal.SIGKILL)  # a function would keep its connections open
    raise AssertionError


def _each(scoped: Any, instead: Mapping[str, Any]) -> Any:
    """Return entries of ministack, of all accounts and regions, each of them with these values."""
    changed = type(scoped)()
    changed._data = {place: {**entry, **instead} for place, entry in list(scoped._data.items())}
    return changed


@cache
def _name_of(code: bytes) -> str:
    return sha256(code).hexdigest()


def _text(stored: bytes) -> str:
    """Return a text, whatever somebody has made of it: its checksum shows that."""
    return stored.decode(errors="replace")


def _checksum(*row: str | bytes) -> int:
    return crc32(repr(row).encode())


def _is_a_functions(scope: Scope) -> bool:
    """Return whether a function answers a request. What it has changed was saved when it was answered itself."""
    path: str = scope["path"]
    return path.startswith("/_aws/") or path.endswith("/invocations")


def _may_change(scope: Scope, body: bytes) -> bool:
    """Return whether a request, whose body begins so, may have changed anything but items."""
    if scope["method"] in ("GET", "HEAD", "OPTIONS") and b"Action=" not in scope["query_string"]:
        return False
    target = next((value for name, value in scope["headers"] if name == b"x-amz-target"), b"")
    asked = QUERY.match(body)
    action = (asked[1] if asked else target.rpartition(b".")[2]).decode("latin-1")
    return not action.startswith(READS + ITEMS) or action.endswith("Token")  # GetSessionToken makes one
