#!/usr/bin/env python3
"""Sends a sweep to an MLflow tracking server: a run for each job, with its keys, curves, command and state.

    scripts/export_mlflow.py results.db http://localhost:5000

Standard library only, by MLflow's REST API 2.0. The experiment bears the sweep's name, or --experiment's. A job whose run
is there already is left out, so that exporting again sends what is new; a run that was sent while its job still ran is
brought to its end. MLFLOW_TRACKING_TOKEN, or MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD, say who you are.

Samples bear no times: all of a run have that of its start. What is no finite number is left out.
"""
import argparse
import base64
import json
import math
import os
import pathlib
import re
import sys
import urllib.error
import urllib.parse
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "python"))
import meshsweep  # noqa: E402

STATUS = {"ok": "FINISHED", "failed": "FAILED", "running": "RUNNING"}

# The limits of a request, and of a value: every server takes so much.
METRICS_MOST = 1000
PARAMS_MOST = 100
PARAM_MOST = 500
TAG_MOST = 5000


class ServerError(Exception):
    """The server refused, or there is none."""

    def __init__(self, message, code=None):
        super().__init__(message)
        self.code = code


class Server:
    def __init__(self, url):
        self.url = url.rstrip("/")
        self.headers = {"Content-Type": "application/json"}
        token, user = os.environ.get("MLFLOW_TRACKING_TOKEN"), os.environ.get("MLFLOW_TRACKING_USERNAME")
        if token:
            self.headers["Authorization"] = f"Bearer {token}"
        elif user:
            pair = f"{user}:{os.environ.get('MLFLOW_TRACKING_PASSWORD', '')}"
            self.headers["Authorization"] = "Basic " + base64.b64encode(pair.encode()).decode()

    def ask(self, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.url}/api/2.0/mlflow/{path}", data, self.headers)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            text = error.read().decode(errors="replace")
            try:
                said = json.loads(text)
                raise ServerError(f"{path}: {said.get('message', text)}", said.get("error_code")) from error
            except json.JSONDecodeError:
                raise ServerError(f"{path}: HTTP {error.code} {text[:200]}") from error
        except urllib.error.URLError as error:
            raise ServerError(f"{self.url}: {error.reason}") from error


def experiment_of(server, name):
    try:
        answer = server.ask("experiments/get-by-name?" + urllib.parse.urlencode({"experiment_name": name}))
        return answer["experiment"]["experiment_id"]
    except ServerError as error:
        if error.code != "RESOURCE_DOES_NOT_EXIST":
            raise
    return server.ask("experiments/create", {"name": name})["experiment_id"]


def runs_of(server, experiment):
    """{key: run} of those that were sent before."""
    found, token = {}, None
    while True:
        body = {"experiment_ids": [experiment], "max_results": 1000}
        if token:
            body["page_token"] = token
        answer = server.ask("runs/search", body)
        for run in answer.get("runs", []):
            tags = {tag["key"]: tag["value"] for tag in run["data"].get("tags", [])}
            if "meshsweep.key" in tags:
                found[tags["meshsweep.key"]] = run["info"]
        token = answer.get("next_page_token")
        if not token:
            return found


def milliseconds(time):
    return int(time.timestamp() * 1000) if time else 0


def name_of(name):
    """With the characters that MLflow has in names."""
    return re.sub(r"[^\w./: -]", "_", name, flags=re.ASCII)


def tags_of(db, row):
    command = db.command(row["job"])
    tags = {"meshsweep.job": row["job"], "meshsweep.key": row["key"], "meshsweep.failure": row["failure"],
            "meshsweep.error": row["error"], "meshsweep.command": command and json.dumps(command)}
    return [{"key": key, "value": str(value)[:TAG_MOST]} for key, value in tags.items() if value is not None]


def params_of(row, keys):
    return [{"key": name_of(key), "value": (row[key] if isinstance(row[key], str) else json.dumps(row[key]))[:PARAM_MOST]}
            for key in keys if row[key] is not None]


def metrics_of(db, row):
    start = milliseconds(row["started"])
    for name in db.metric_names():
        samples = db.metrics(row["job"], name)
        curve = [(index if s.step is None else s.step, s.value) for index, s in enumerate(samples)]
        for step, value in curve or [(0, row.get(f"metric.{name}", row.get(name)))]:
            if isinstance(value, (int, float)) and math.isfinite(value):
                yield {"key": name_of(name), "value": value, "timestamp": start, "step": step}


def pieces(items, most):
    return (items[at:at + most] for at in range(0, len(items), most))


def send(server, db, row, keys, experiment, known):
    """Params and tags may be sent twice, metrics may not: those of a run are sent when its job has ended."""
    run = known or server.ask("runs/create", {
        "experiment_id": experiment, "run_name": f"job {row['job']}", "start_time": milliseconds(row["started"]),
        "tags": tags_of(db, row)})["run"]["info"]
    for params in pieces(params_of(row, keys), PARAMS_MOST):
        server.ask("runs/log-batch", {"run_id": run["run_id"], "params": params})
    if row["state"] == "running":
        return
    for metrics in pieces(list(metrics_of(db, row)), METRICS_MOST):
        server.ask("runs/log-batch", {"run_id": run["run_id"], "metrics": metrics})
    server.ask("runs/log-batch", {"run_id": run["run_id"], "tags": tags_of(db, row)})
    server.ask("runs/update", {"run_id": run["run_id"], "status": STATUS[row["state"]],
                               "end_time": milliseconds(row["ended"])})


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("database")
    parser.add_argument("server", help="http://HOST:PORT")
    parser.add_argument("--experiment", help="its name; default: the sweep's")
    options = parser.parse_args()
    server, sent, there = Server(options.server), 0, 0
    with meshsweep.open(options.database) as db:
        rows = [row for row in db.results() if row["attempts"] and row["state"] in STATUS]
        if not rows:
            sys.exit("export_mlflow.py: no job was started yet")
        experiment = experiment_of(server, options.experiment or rows[0]["sweep"])
        runs, keys = runs_of(server, experiment), db.key_names()
        for row in rows:
            known = runs.get(row["key"])
            if known and (known["status"] != "RUNNING" or row["state"] == "running"):
                there += 1
                continue
            send(server, db, row, keys, experiment, known)
            sent += 1
    print(f"experiment {experiment}: {sent} runs sent, {there} were there")


if __name__ == "__main__":
    try:
        main()
    except (OSError, meshsweep.SchemaError, ServerError) as error:
        sys.exit(f"export_mlflow.py: {error}")
