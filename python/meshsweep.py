"""Results of meshsweep in Python: one file, standard library only. Databases are opened read-only, also while the sweep
runs; ask() and tell() run the program `meshsweep`, which writes.

    import meshsweep
    import pandas

    with meshsweep.open("results.db") as db:
        frame = pandas.DataFrame(db.results())
        winner = db.best()
        curve = db.metrics(winner["job"], "loss")

    for trial in meshsweep.ask(number=4)["asked"]:
        meshsweep.tell([{"trial": trial["trial"], "metrics": measure(trial["keys"])}])

Rows are dictionaries with the columns of the view `results` (docs/database.md). Keys have the values and types of the
sweep file: true is True, a list is a list; a key that a job does not have is None. Sizes are in bytes, durations in
milliseconds. A column or metric that does not exist raises KeyError, which names the nearest one.
"""

import datetime
import difflib
import json
import os
import re
import shlex
import sqlite3
import subprocess
import urllib.parse
import warnings
import zlib
from pathlib import Path
from types import TracebackType
from typing import Any, Dict, Iterable, List, Mapping, NamedTuple, Optional, Tuple, Type, Union

__all__ = ["open", "ask", "tell", "Database", "Row", "Sample", "Sweep", "SchemaError", "SchemaWarning"]

#: The schema version that this file supports.
SCHEMA = 25

#: SQLite's "application_id" of a meshsweep database.
APPLICATION = 1836279927

SECTIONS = ("cluster_spec", "model", "training_spec", "parallel_spec")


class Row(Dict[str, Any]):
    """Values by column."""

    def __missing__(self, name: str) -> Any:
        raise _unknown("column", name, self)


class SchemaError(Exception):
    """The file is not a meshsweep database, or has an older schema."""


class SchemaWarning(UserWarning):
    """The database has a newer schema; what this file does not know is left out."""


class Sample(NamedTuple):
    """A value that a job reported: step is counted from 0 where the job states none, value is None if not
    finite."""

    step: Optional[int]
    value: Optional[float]


class Sweep(NamedTuple):
    """A sweep file, as it was run."""

    name: str
    path: str
    text: str
    objective: Optional[str]
    maximise: bool


def open(path: Union[str, "Path"] = "results.db") -> "Database":
    """Opens a database for reading. Raises FileNotFoundError or SchemaError."""
    return Database(path)


def ask(proposals: Optional[Iterable[Mapping[str, Any]]] = None, number: int = 1, by: Optional[str] = None,
        why: Optional[str] = None, **files: Union[str, "Path"]) -> Dict[str, Any]:
    """What `meshsweep ask` answers: under "asked" the next jobs to run elsewhere, or those that are proposed
    ({"micro_batch": 8}). `files`: db and config, as the options. Raises RuntimeError with what the program said."""
    options = {"by": by, "why": why, "number": number if proposals is None else None}
    return _run("ask", options, files, None if proposals is None else list(proposals))


def tell(results: Iterable[Mapping[str, Any]], **files: Union[str, "Path"]) -> Dict[str, Any]:
    """Records what came of jobs that were asked for ({"job": 7, "metrics": {"loss": 2.5}}): all or, with RuntimeError,
    nothing."""
    return _run("tell", {}, files, list(results))


class Database:
    """An open database. Each call sees its current state."""

    def __init__(self, path: Union[str, "Path"]) -> None:
        self.path = Path(path)
        if not self.path.exists():
            raise FileNotFoundError(f"{self.path} does not exist")
        self._connection = _connect(self.path)
        try:
            self._check()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> "Database":
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.close()

    def close(self) -> None:
        """Closes the database; no calls are allowed afterwards."""
        self._connection.close()

    def sweep(self) -> Optional[Sweep]:
        """The sweep that was run last; None if the database has none."""
        for row in self._connection.execute("SELECT name, path, text, objective, maximise FROM current_sweep"):
            return Sweep(row[0], row[1], row[2], row[3], bool(row[4]))
        return None

    def results(self, every_sweep: bool = False, where: str = "true") -> List[Row]:
        """One row per job, ordered by number: of the sweep that was run last, or of every sweep. `where` is a
        condition in SQL over the columns: "tp = 2 AND state = 'ok'"."""
        return self._rows(f"SELECT * FROM results WHERE (in_sweep OR ?) AND ({where}\n) ORDER BY job", every_sweep)

    def job(self, number: int) -> Optional[Row]:
        """The row of one job; None if no job has that number."""
        rows = self._rows("SELECT * FROM results WHERE job = ?", number)
        return rows[0] if rows else None

    def key_names(self) -> List[str]:
        """The columns that are keys of the sweep file, including derived keys."""
        if not self._has_results():
            return []
        return _key_columns([row[1] for row in self._connection.execute("PRAGMA table_info(results)")])

    def command(self, number: int) -> Optional[List[str]]:
        """The last command of the job; None if it was not started or was measured elsewhere. Secrets are left out."""
        for row in self._connection.execute(
                "SELECT command FROM attempt WHERE job_id = ? AND command IS NOT NULL AND kind = 'trial'"
                " ORDER BY number DESC LIMIT 1",
                (number,)):
            words: List[str] = json.loads(row[0])
            return words
        return None

    def attempts(self, number: int) -> List[Row]:
        """One row per attempt of the job. `metrics` has its values by name, `counts` says whether they are part of the
        job's results."""
        return [_attempt(Row(row)) for row in self._plain(
            "SELECT number AS attempt, kind, state, failure, message, exit_code, signal, host, devices, directory,"
            " started, ended, duration_ms AS duration, EXISTS (SELECT 1 FROM counted_attempt AS c WHERE c.id = a.id)"
            " AS counts, (SELECT json_group_object(name, value) FROM summary WHERE attempt_id = a.id) AS metrics"
            " FROM attempt AS a WHERE job_id = ? ORDER BY id", number)]

    def configurations(self) -> List[Row]:
        """What is ranked if [sweep] has replicate or group_by: one row per configuration, with its group
        (`comparison_group`), rank, `job` (of its replicates the one in the middle), mean value, and how many replicates
        there are, their spread and the 95 % interval of the mean. Else empty."""
        return self._plain("SELECT * FROM configurations") if self._has_view("configurations") else []

    def metrics(self, number: int, name: str) -> List[Sample]:
        """The curve of a metric, as reported by the attempt that represents the job. Of very many samples, only evenly
        spaced ones are kept."""
        samples = [Sample(*row) for row in self._connection.execute(
            "SELECT m.step, m.value FROM sample AS m JOIN job AS j ON j.attempt_id = m.attempt_id"
            " WHERE j.id = ? AND m.name = ? ORDER BY m.sequence", (number, name))]
        if not samples and name not in self.metric_names():
            raise _unknown("metric", name, self.metric_names())
        return samples

    def metric_names(self) -> List[str]:
        """The names of all metrics that a job reported or that were computed."""
        return [row[0] for row in self._connection.execute("SELECT DISTINCT name FROM summary ORDER BY name")]

    def units(self) -> Dict[str, str]:
        """Units of metrics, by name; "" for none."""
        return dict(self._connection.execute("SELECT name, unit FROM metric_definition"))

    def ranking(self, limit: Optional[int] = None) -> List[Row]:
        """Rows of the jobs that succeeded, best first, with `rank`. Empty if the sweep has no objective."""
        return self._rows("SELECT * FROM ranking LIMIT ?", -1 if limit is None else limit)

    def best(self) -> Optional[Row]:
        """The first row of the ranking; None if there is none."""
        rows = self.ranking(1)
        return rows[0] if rows else None

    # --- within ---

    def _check(self) -> None:
        try:
            application = self._connection.execute("PRAGMA application_id").fetchone()[0]
            schema = self._connection.execute("PRAGMA user_version").fetchone()[0]
        except sqlite3.DatabaseError as error:
            raise SchemaError(f"{self.path} cannot be read: {error}") from error
        if application != APPLICATION:
            raise SchemaError(f"{self.path} is not a meshsweep database")
        if schema < SCHEMA:
            raise SchemaError(f"{self.path} has schema {schema}, and this is for {SCHEMA}: meshsweep"
                              f" upgrade {shlex.quote(str(self.path))} brings it up to date")
        if schema > SCHEMA:
            warnings.warn(f"{self.path} has schema {schema}, and this is for {SCHEMA}: take the meshsweep.py that came"
                          " with the meshsweep that wrote it", SchemaWarning, stacklevel=4)

    def _has_view(self, name: str) -> bool:
        return bool(self._connection.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (name,)).fetchone())

    def _has_results(self) -> bool:
        """The view exists from the first sweep on."""
        return self._has_view("results")

    def _plain(self, sql: str, *parameters: Any) -> List[Row]:
        """The rows as SQLite has them."""
        try:
            cursor = self._connection.execute(sql, parameters)
        except sqlite3.OperationalError as error:
            absent = re.match('no such column: "?([^" ]+)', str(error))
            if not absent:
                raise
            known = [row[1] for row in self._connection.execute("PRAGMA table_info(results)")]
            raise _unknown("column", absent[1], known) from None
        titles = [column[0] for column in cursor.description]
        return [Row(zip(titles, row)) for row in cursor]

    def _rows(self, sql: str, *parameters: Any) -> List[Row]:
        connection = self._connection
        connection.execute("BEGIN")
        try:
            if not self._has_results():
                return []
            rows = self._plain(sql, *parameters)
            if rows:
                self._give_types(list(rows[0]), rows)
            return rows
        finally:
            connection.execute("COMMIT")

    def _give_types(self, titles: List[str], rows: List[Row]) -> None:
        """Restores types: in the view, SQLite has turned true into 1 and a list into text."""
        specs = {spec: json.loads(text) for spec, text in self._connection.execute("SELECT id, json FROM spec")}
        keys = self._keys()
        named = [(title, keys[title]) for title in _key_columns(titles) if title in keys]
        for row in rows:
            found = self._connection.execute("SELECT cluster_id, model_id, training_id, parallel_id, derived FROM job"
                                             " WHERE id = ?", (row["job"],)).fetchone()
            of_job: Dict[str, Dict[str, Any]] = {kind: specs.get(spec, {}) for kind, spec in zip(SECTIONS, found)}
            of_job["derived"] = json.loads(found[4] or "{}")
            for title, (section, key) in named:
                row[title] = of_job[section].get(key)
            for title in ("in_sweep", "partial"):
                row[title] = None if row[title] is None else bool(row[title])
            for title in ("started", "ended"):
                row[title] = _time(row[title])

    def _keys(self) -> Dict[str, Tuple[str, str]]:
        """The section and key for each possible column title."""
        pairs: List[Tuple[str, str]] = self._connection.execute(
            "SELECT DISTINCT s.kind, k.key FROM spec AS s, json_each(s.json) AS k UNION"
            " SELECT DISTINCT 'derived', k.key FROM job AS j, json_each(j.derived) AS k").fetchall()
        titles = {key: (section, key) for section, key in pairs}
        titles.update({f"{section}.{key}": (section, key) for section, key in pairs})
        return titles


def _connect(path: Path) -> sqlite3.Connection:
    """Falls back to immutable mode: in a read-only directory SQLite cannot create the file that coordinates readers and
    writers, and no writer can create it either."""
    name = "file:" + urllib.parse.quote(str(path.absolute()))
    connection = sqlite3.connect(name + "?mode=ro", uri=True, isolation_level=None, timeout=10)
    try:
        connection.execute("SELECT 1 FROM sqlite_master")
    except sqlite3.OperationalError:
        connection.close()
        if Path(f"{path}-wal").exists():
            raise
        connection = sqlite3.connect(name + "?immutable=1", uri=True, isolation_level=None)
    except sqlite3.DatabaseError:
        pass  # not a database: _check reports it
    connection.create_function("sqlar_uncompress", 2, lambda packed, _: zlib.decompress(packed))
    return connection


def _unknown(what: str, name: str, known: Iterable[str]) -> KeyError:
    near = difflib.get_close_matches(str(name), list(known), 1)
    return KeyError(f"no {what} {name}" + (f"; did you mean {near[0]}?" if near else ""))


def _run(command: str, options: Mapping[str, Any], files: Mapping[str, Any], given: Any) -> Dict[str, Any]:
    """Runs $MESHSWEEP, else `meshsweep`."""
    words = [f"--{name}={value}" for name, value in {**options, **files}.items() if value is not None]
    words += [] if given is None else ["-"]
    done = subprocess.run([os.environ.get("MESHSWEEP", "meshsweep"), command, *words], input=json.dumps(given),
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
    if done.returncode not in (0, 3):
        raise RuntimeError(done.stderr.strip())
    answer: Dict[str, Any] = json.loads(done.stdout)
    return answer


def _attempt(row: Row) -> Row:
    for title in ("started", "ended"):
        if row[title] is not None:
            row[title] = datetime.datetime.fromtimestamp(row[title] / 1000, datetime.timezone.utc)
    row.update(counts=bool(row["counts"]), metrics=Row(json.loads(row["metrics"])))
    return row


def _key_columns(titles: List[str]) -> List[str]:
    return titles[titles.index("in_sweep") + 1:titles.index("state")]


def _time(text: Optional[str]) -> Optional[datetime.datetime]:
    if text is None:
        return None
    return datetime.datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=datetime.timezone.utc)
