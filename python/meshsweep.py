"""Results of meshsweep in Python: one file, standard library only, read-only, also while the sweep runs.

    import meshsweep
    import pandas

    with meshsweep.open("results.db") as db:
        frame = pandas.DataFrame(db.results())
        winner = db.best()
        curve = db.metrics(winner["job"], "loss")

Rows are dictionaries with the columns of the view `results` (docs/database.md). Keys have the values and types of the
sweep file: true is True, a list is a list; a key that a job does not have is None. Sizes are in bytes, durations in
milliseconds.
"""

import datetime
import json
import shlex
import sqlite3
import urllib.parse
import warnings
from pathlib import Path
from types import TracebackType
from typing import Any, Dict, List, NamedTuple, Optional, Tuple, Type, Union

__all__ = ["open", "Database", "Sample", "Sweep", "SchemaError", "SchemaWarning"]

#: The schema version that this file supports.
SCHEMA = 22

#: SQLite's "application_id" of a meshsweep database.
APPLICATION = 1836279927

Row = Dict[str, Any]

SECTIONS = ("cluster_spec", "model", "training_spec", "parallel_spec")


class SchemaError(Exception):
    """The file is not a meshsweep database, or has an older schema."""


class SchemaWarning(UserWarning):
    """The database has a newer schema; what this file does not know is left out."""


class Sample(NamedTuple):
    """A value that a job reported: step is None if not given, value is None if not finite."""

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

    def results(self, every_sweep: bool = False) -> List[Row]:
        """One row per job, ordered by number: of the sweep that was run last, or of every sweep."""
        condition = "" if every_sweep else " WHERE in_sweep"
        return self._rows(f"SELECT * FROM results{condition} ORDER BY job")

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

    def metrics(self, number: int, name: str) -> List[Sample]:
        """The curve of a metric, as reported by the attempt that represents the job. Of very many samples, only evenly
        spaced ones are kept."""
        return [Sample(*row) for row in self._connection.execute(
            "SELECT m.step, m.value FROM metric AS m JOIN job AS j ON j.attempt_id = m.attempt_id"
            " WHERE j.id = ? AND m.name = ? ORDER BY m.sequence", (number, name))]

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

    def _has_results(self) -> bool:
        """The view exists from the first sweep on."""
        return bool(self._connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'results'").fetchone())

    def _rows(self, sql: str, *parameters: Any) -> List[Row]:
        connection = self._connection
        connection.execute("BEGIN")
        try:
            if not self._has_results():
                return []
            cursor = connection.execute(sql, parameters)
            titles = [column[0] for column in cursor.description]
            rows = [dict(zip(titles, row)) for row in cursor]
            self._give_types(titles, rows)
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
    return connection


def _key_columns(titles: List[str]) -> List[str]:
    return titles[titles.index("in_sweep") + 1:titles.index("state")]


def _time(text: Optional[str]) -> Optional[datetime.datetime]:
    if text is None:
        return None
    return datetime.datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=datetime.timezone.utc)
