"""The state of the local AWS server survives its process: a snapshot of all services, and a journal since then.

- After SIGTERM (`kill`, a shutdown), the snapshot has everything.
- After SIGKILL, snapshot and journal have everything but the newest log lines and messages of queues: no request is
  answered before what it has changed is in the journal.
- After a power failure, the end of the journal may be missing: it was begun in another boot, and nothing says that the
  server ended. So a write to any other table than those of counters and receipts is on the disk before it is answered.
  The counters tables then count as lost: the coordinator begins above all that they may have minted. So they do where
  the journal ends within a line, since somebody may have cut it off.

A snapshot is written a second after the last change of anything but tables and items, and when the journal exceeds
64 MB. ministack handles DynamoDB's requests one after the other in the thread of its event loop, and so are both files
written there.
"""

import asyncio
import errno
import json
import os
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Generator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager, suppress
from functools import wraps
from hashlib import sha256
from pathlib import Path
from typing import Any, Protocol, cast

QUIET = 1.0
"""Seconds without a change after which a snapshot is written."""

LONGEST = 64 * 1024 * 1024
"""Bytes of a journal after which a snapshot is written."""

TARGET = b"DynamoDB_20120810."
READS = ("Get", "BatchGet", "TransactGet", "Query", "Scan", "Describe", "List", "Search")
ITEMS = frozenset({"PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems"})
TABLES = frozenset({"CreateTable", "UpdateTable", "DeleteTable"})
"""What is in the journal."""

BESIDE = ("UpdateTimeToLive", "UpdateContinuousBackups", "PutResource", "DeleteResource", "Tag", "Untag")
"""Prefixes of operations whose changes may wait for the next snapshot. Of DynamoDB's operations in none of these
lists, a snapshot is written before the response."""

LOGS = "cloudwatch_logs"

ELSEWHERE = ("dynamodb", LOGS, "sqs")
"""The services whose state is not in the journal: tables and items have lines of their own; log lines and messages may
be lost."""

LOST_BY_POWER = ("-counters", "-receipts")
"""Suffixes of the tables whose writes aren't synced to the disk; these are most writes."""

BOOT, END = "boot", "end"
"""The kinds of a journal's first line, which has the boot in which it was begun, and of its last one after SIGTERM."""

SYNCED = ("table", "drop", "set", "remove")
"""The kinds of changes that wait for the disk: those of tables and items."""

COUNTERS = "-counters"

MAY_LACK = "the end of what was saved may be missing"

Change = list[Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Scope]]
Send = Callable[[Scope], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
Response = tuple[int, dict[str, str], bytes]


class Services(Protocol):
    """What the journal needs of ministack."""

    def states(self, without: Collection[str] = ()) -> Mapping[str, Any]:
        """Return the state of every service but these, by name."""
        ...

    def log_groups(self) -> Any:
        """Return the state of the logs without their lines, of which there may be very many."""
        ...

    def restore(self, states: Mapping[str, Any]) -> None:
        """Put the states of all services back."""
        ...

    def clean(self) -> None:
        """Remove files that only the states before the last ones needed."""
        ...

    def dumped(self, document: Any) -> str:
        """Return a state, or a part of one, as JSON."""
        ...

    def loaded(self, text: str) -> Any:
        """Return what was dumped."""
        ...


class Damaged(Exception):
    """A file isn't as it was written."""

    def __init__(self, path: Path, what: str) -> None:
        super().__init__(f"{path.absolute()} {what}")


class Journal:
    """The files of one server: `snapshot-<number>.json`, and `journal-<number>` with what was written after it."""

    def __init__(self, folder: Path, services: Services, dynamodb: Any) -> None:
        self._folder = folder
        self._services = services
        self._dynamodb = dynamodb
        self._set, self._remove = dynamodb._set_item, dynamodb._remove_item
        self._changes: list[Change] = []
        self._number = 0
        self._file = -1
        self._length = 0
        self._incomplete = False
        """Whether a change couldn't be written, so that only a snapshot can be trusted."""
        self._timer: asyncio.TimerHandle | None = None
        self._written: dict[str, str] = {}
        """The states of services, as they were written last."""

    # Reading

    def restore(self) -> None:
        """Put back what the last server here had, and begin a new journal.

        Raises:
            Damaged: a file isn't as it was written.
            OSError: the new journal can't be written.
        """
        self._folder.mkdir(parents=True, exist_ok=True)
        numbers = sorted(_number(path) for path in self._folder.glob("snapshot-*.json"))
        journals = sorted(_number(path) for path in self._folder.glob("journal-*"))
        if not numbers:
            if any(self._journal(number).read_bytes().count(b"\n") > 1 for number in journals):
                raise Damaged(self._snapshot(journals[-1]), "is missing")
            self.save()
            return
        self._number = numbers[-1]
        if self._number not in journals:
            raise Damaged(self._journal(self._number), "is missing")
        path = self._snapshot(self._number)
        states: dict[str, Any] = {}
        with _damage_named(path):
            states |= self._services.loaded(path.read_text())
        boot, ended, cut, changes = "", False, False, list[tuple[Path, int, Change]]()
        for number in (number for number in journals if number >= self._number):
            path = self._journal(number)
            *lines, rest = path.read_bytes().split(b"\n")
            cut = cut or rest != b""
            for place, line in enumerate(lines, 1):
                with _damage_named(path, place):
                    for kind, *change in json.loads(line):
                        ended = kind == END
                        if kind == BOOT:
                            (boot,) = change
                        elif kind == "service":
                            name, text = change
                            states[name] = self._services.loaded(text)
                        elif not ended:
                            changes.append((path, place, [kind, *change]))
            self._number = number
        with _damage_named(path):
            self._services.restore(states)
        for path, place, change in changes:
            with _damage_named(path, place):
                self._replay(*change)
        if cut or (boot != boot_id() and not ended):
            self._lose_counters()
        self.save()  # so that no loss is forgotten, and nothing is written after half a line

    def _replay(self, kind: str, arn: str, *change: Any) -> None:
        tables, place = self._dynamodb._tables, _place(arn)
        present = tables.get_scoped(*place)
        match kind, *change:
            case "table", str(text):
                table = self._services.loaded(text)
                same = present if present is not None and present["TableId"] == table["TableId"] else None
                table["items"] = same["items"] if same else defaultdict[str, Any](dict)
                tables.set_scoped(*place, table)
            case ("drop",):
                with suppress(KeyError):
                    del tables._data[place]
            case "set", str(id_), key, sort, item if present is not None and present["TableId"] == id_:
                self._set(present, key, sort, item)
            case "remove", str(id_), key, sort if present is not None and present["TableId"] == id_:
                self._remove(present, key, sort)
            case "set" | "remove", *_:  # of a table that was made again
                pass
            case _:  # of another version; without it, an integer could be minted again
                raise ValueError(f"there is no change {kind}")

    def _lose_counters(self) -> None:
        data = self._dynamodb._tables._data
        lost = [place for place in data if place[2].endswith(COUNTERS)]
        for place in lost:
            del data[place]
        tables = ", ".join(f"{name} in {region}" for _, region, name in lost)
        print(f"{MAY_LACK}; these tables count as lost: {tables}", file=sys.stderr)

    # Writing

    def set_item(self, table: Mapping[str, Any], key: Any, sort: Any, item: Any) -> Any:
        """Set an item, as ministack does, and note it."""
        self._changes.append(["set", table["TableArn"], table["TableId"], key, sort, item])
        return self._set(table, key, sort, item)

    def remove_item(self, table: Mapping[str, Any], key: Any, sort: Any) -> Any:
        """Remove an item, as ministack does, and note it."""
        self._changes.append(["remove", table["TableArn"], table["TableId"], key, sort])
        return self._remove(table, key, sort)

    def answered(self, action: str, data: Mapping[str, Any], handle: Callable[[], Response]) -> Response:
        """Return the response to a request of DynamoDB, once what it has changed is written."""
        try:
            if self._incomplete:  # nobody may see what a kill would forget
                self.save()
            response = handle()
            if action.startswith((*READS, *BESIDE)):
                return response
            if action in TABLES:
                self._note_table(str(data.get("TableName", "")))
            if action in ITEMS or action in TABLES:
                self._write()
            else:
                self.save()
        except OSError as error:
            self._incomplete = True
            return self._refused(error)
        return response

    def changed(self) -> None:
        """Write the states of the services that a request may have changed, where they have.

        Where that isn't possible, the next write of DynamoDB needs a snapshot first.
        """
        try:
            if self._incomplete:  # the journal may end with half a line
                self.save()
                return
            for name, state in self._services.states(without=ELSEWHERE).items():
                text = self._services.dumped(state)
                if text != self._written.get(name):
                    self._written[name] = text
                    self._changes.append(["service", name, text])
            self._write()
        except OSError:  # nor could it be logged
            self._incomplete = True

    def _note_table(self, name: str) -> None:
        region, account = self._dynamodb.get_region(), self._dynamodb.get_account_id()
        name = name.rpartition("/")[2]
        arn = f"arn:aws:dynamodb:{region}:{account}:table/{name}"
        table = self._dynamodb._tables.get_scoped(account, region, name)
        if table is None:
            self._changes.append(["drop", arn])
            return
        described = {key: value for key, value in table.items() if key not in ("items", self._dynamodb._INDEX_MEMBERS)}
        self._changes.append(["table", arn, self._services.dumped(described)])

    def _write(self) -> None:
        if not self._changes:
            return
        if not self._folder.is_dir():
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(self._folder))
        changes, self._changes = self._changes, []
        self._length += _write_line(self._file, changes)
        if any(kind in SYNCED and not arn.endswith(LOST_BY_POWER) for kind, arn, *_ in changes):
            os.fsync(self._file)
        if self._length > LONGEST:
            self.save()

    def _refused(self, error: OSError) -> Response:
        message = f"{self._folder}: {error.strerror}"
        return self._dynamodb.error_response_json("InternalServerError", message, 500)

    def save(self, *, lines: bool = False) -> None:
        """Write a snapshot, and begin a new journal. An `OSError` leaves the last ones as they are.

        Requests wait for it, so it has the log lines only at the end: `lines`.
        """
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        states = dict(self._services.states() if lines else self._services.states(without=(LOGS,)))
        if not lines:
            states[LOGS] = self._services.log_groups()
        dumped = {name: self._services.dumped(state) for name, state in states.items()}
        text = ", ".join(f"{json.dumps(name)}: {state}" for name, state in dumped.items())
        path, journal = self._snapshot(self._number + 1), self._journal(self._number + 1)
        fresh = path.with_suffix(".new")
        begun: int | None = None
        try:
            begun = os.open(journal, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600)
            _write_line(begun, [[BOOT, boot_id()]])
            os.fsync(begun)
            with fresh.open("w") as file:
                file.write(f"{{{text}}}")
                file.flush()
                os.fsync(file.fileno())
            fresh.replace(path)
            _sync_folder(self._folder)
        except OSError:
            for unfinished in (path, fresh, journal):  # they take space, and no snapshot is left without its journal
                with suppress(OSError):
                    unfinished.unlink()
            if begun is not None:
                os.close(begun)
            raise
        self._changes, self._incomplete, self._number = [], False, self._number + 1
        self._written = {name: state for name, state in dumped.items() if name not in ELSEWHERE}
        if self._file >= 0:
            os.close(self._file)
        self._file, self._length = begun, 0
        for old in [*self._folder.glob("snapshot-*"), *self._folder.glob("journal-*")]:
            if _number(old) < self._number:
                old.unlink(missing_ok=True)
        self._services.clean()

    def change_soon(self) -> None:
        """Write a snapshot when nothing has changed for `QUIET` seconds."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(QUIET, self._save_if_possible)

    def _save_if_possible(self) -> None:
        self._timer = None
        with suppress(OSError):  # the journal has all
            self.save()

    def _end(self) -> None:
        """Save all, and note that nothing is missing. Where that isn't possible, it counts as a kill."""
        with suppress(OSError):
            self.save(lines=True)
            _write_line(self._file, [[END]])
            os.fsync(self._file)

    def around(self, app: App) -> App:
        """Return an ASGI application that at startup restores what was saved, and saves at shutdown."""

        async def called(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] != "lifespan":
                if scope["type"] != "http" or not _may_change(scope):
                    await app(scope, receive, send)
                    return

                async def sent(message: Scope) -> None:
                    if message["type"] == "http.response.start":
                        self.changed()
                    await send(message)

                await app(scope, receive, sent)
                self.change_soon()
                return

            async def received() -> Scope:
                message = await receive()
                if message["type"] == "lifespan.startup":
                    try:
                        self.restore()
                    except (Damaged, OSError) as problem:
                        print(problem, file=sys.stderr, flush=True)
                        os._exit(1)  # nobody may begin without what was there
                elif message["type"] == "lifespan.shutdown":
                    self._end()
                return message

            await app(scope, received, send)

        return called

    def _snapshot(self, number: int) -> Path:
        return self._folder / f"snapshot-{number}.json"

    def _journal(self, number: int) -> Path:
        return self._folder / f"journal-{number}"


def _may_change(scope: Scope) -> bool:
    """Return whether a request may have changed anything but tables and items."""
    path: str = scope["path"]
    if scope["method"] in ("GET", "HEAD", "OPTIONS") or path.startswith("/_") or path.endswith("/invocations"):
        return False
    target = next((value for name, value in scope["headers"] if name == b"x-amz-target"), b"")
    action = target.rpartition(b".")[2].decode()
    if target.startswith(TARGET) and (action in ITEMS or action in TABLES):
        return False
    return not action.startswith((*READS, "Filter"))


@contextmanager
def _damage_named(path: Path, line: int | None = None) -> Generator[None]:
    """Turn a read error into `Damaged`, which names the file and line. Somebody may have written anything there."""
    try:
        yield
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        where = f" in line {line}" if line else ""
        raise Damaged(path, f"is damaged{where}: {error!r}") from error


def _write_line(file: int, changes: Sequence[Change]) -> int:
    """Write a line of a journal, and return its length in bytes."""
    line = json.dumps(changes, separators=(",", ":")).encode() + b"\n"
    if os.write(file, line) != len(line):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    return len(line)


def _number(path: Path) -> int:
    digits = path.stem.rpartition("-")[2]
    return int(digits) if digits.isdecimal() else 0


def _place(arn: str) -> tuple[str, str, str]:
    """Return account, region and name of a table."""
    _, _, _, region, account, table = arn.split(":", 5)
    return account, region, table.removeprefix("table/")


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def boot_id() -> str:
    """Return an id that changes with each boot, "" where that can't be known."""
    if sys.platform == "darwin":
        done = subprocess.run(["/usr/sbin/sysctl", "-n", "kern.bootsessionuuid"], capture_output=True, check=False)
        return done.stdout.decode().strip()
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


class Ministack:
    """The services of ministack in this process."""

    def __init__(self, app: Any, persistence: Any, functions: Any, more: dict[str, Any]) -> None:
        self._app = app
        self._persistence = persistence
        self._more = more
        """What the patches of this folder keep, by name."""
        self._archives: set[str] = set()
        """The files with functions' code that the last states need."""
        self._prune: Callable[[set[str]], None] = functions._prune_orphan_code_blobs
        functions._prune_orphan_code_blobs = self._archives.update
        self._write: Callable[[bytes], str] = functions._write_code_blob
        functions._write_code_blob = self._write_archive
        self._archive_folder = Path(functions.CODE_BLOB_DIR)
        self._synced: set[str] = set()

    def states(self, without: Collection[str] = ()) -> Mapping[str, Any]:
        """Return the state of every service but these, by name."""
        self._archives.clear()
        states = self._app._build_persistence_save_dict()
        found = {name: state() for name, state in states.items() if name not in without}
        patches = {name: [[list(key), value] for key, value in own.items()] for name, own in self._more.items()}
        return {**found, "patches": patches}

    def log_groups(self) -> Any:
        """Return the state of the logs without their lines, of which there may be very many."""
        groups = self._app._get_module(self._app._state_map[LOGS])._log_groups
        without_lines = type(groups)()
        without_lines._data = {place: {**group, "streams": {}} for place, group in list(groups._data.items())}
        return {"log_groups": without_lines}

    def _write_archive(self, code: bytes) -> str:
        """Write a file with a function's code, and wait for the disk."""
        name = self._write(code)
        if name not in self._synced:
            with (self._archive_folder / f"{name}.zip").open("rb") as file:
                os.fsync(file.fileno())
            self._synced.add(name)
        return name

    def restore(self, states: Mapping[str, Any]) -> None:
        """Put the states of all services back."""
        for name in set(re.findall('"code_blob_ref": "([0-9a-f]{64})"', self.dumped(states.get("lambda", {})))):
            path = self._archive_folder / f"{name}.zip"
            if not path.is_file() or sha256(path.read_bytes()).hexdigest() != name:
                raise Damaged(path, "is missing or damaged")
        for name, module in self._app._state_map.items():
            if states.get(name):
                self._app._get_module(module).load_persisted_state(states[name])
        for name, entries in states.get("patches", {}).items():
            self._more[name] |= {tuple(key): value for key, value in entries}

    def clean(self) -> None:
        """Remove files that only the states before the last ones needed."""
        self._prune(self._archives)

    def dumped(self, document: Any) -> str:
        """Return a state, or a part of one, as JSON."""
        return json.dumps(document, default=self._persistence._json_default)

    def loaded(self, text: str) -> Any:
        """Return what was dumped."""
        return json.loads(text, object_hook=self._persistence._json_object_hook)


def apply(folder: Path, app: Any, persistence: Any, functions: Any, dynamodb: Any, more: dict[str, Any]) -> Journal:
    """Let ministack in this process restore what is in the folder, and keep it up to date."""
    journal = Journal(folder, Ministack(app, persistence, functions, more), dynamodb)
    dynamodb._set_item, dynamodb._remove_item = journal.set_item, journal.remove_item
    handle = dynamodb.handle_request

    @wraps(handle)
    async def handled(method: str, path: str, headers: Mapping[str, str], body: bytes, query: Any) -> Response:
        action = headers.get("x-amz-target", "").rpartition(".")[2]
        try:
            data: Any = json.loads(body) if body else {}
        except ValueError:
            data = {}
        named: Mapping[str, Any] = cast("Mapping[str, Any]", data) if isinstance(data, dict) else {}

        def answer() -> Response:
            steps = handle(method, path, headers, body, query)
            try:
                steps.send(None)
            except StopIteration as ended:
                return ended.value
            raise RuntimeError("this version of ministack waits while it handles a request of DynamoDB")

        return journal.answered(action, named, answer)

    dynamodb.handle_request = handled
    return journal
