#!/usr/bin/env python3
"""Writes a sweep as TensorBoard's event files: a run for each job, with its curves and its keys as hyperparameters.

    scripts/export_tensorboard.py results.db runs
    tensorboard --logdir runs

Standard library only. Each job that was started gets DIRECTORY/SWEEP/job-NUMBER/; exporting again replaces what was
written for it. Samples bear no times, so that TensorBoard's axis is to be the step. A metric without samples of its own
(one that is worked out) has its value at step 0. What is no finite number is left out.
"""
import argparse
import math
import os
import pathlib
import re
import struct
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "python"))
import meshsweep  # noqa: E402

# --- CRC-32C (Castagnoli) as TFRecord files have it ---

CRC_TABLE = []
for byte in range(256):
    for _ in range(8):
        byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
    CRC_TABLE.append(byte)


def masked_crc(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = CRC_TABLE[(crc ^ byte) & 0xFF] ^ crc >> 8
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def record(data):
    length = struct.pack("<Q", len(data))
    return length + struct.pack("<I", masked_crc(length)) + data + struct.pack("<I", masked_crc(data))


# --- protocol buffers: fields by their numbers in TensorBoard's .proto files ---

def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def integer(number, value):
    return varint(number << 3) + varint(value)


def double(number, value):
    return varint(number << 3 | 1) + struct.pack("<d", value)


def single(number, value):
    return varint(number << 3 | 5) + struct.pack("<f", value)


def chunk(number, value):
    data = value.encode(errors="replace") if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def event(time, content, step=0):
    return record(double(1, time) + (integer(2, step) if step else b"") + content)


def scalar(tag, value):
    """In single precision, which is what TensorBoard keeps."""
    largest = struct.unpack("<f", b"\xff\xff\x7f\x7f")[0]
    return chunk(5, chunk(1, chunk(1, tag) + single(2, max(-largest, min(largest, value)))))


def hparams(tag, data):
    """A summary of the plugin hparams, whose tensor says nothing."""
    shape = chunk(2, chunk(2, integer(1, 1)))
    nothing = integer(1, 1) + shape + chunk(5, struct.pack("<f", 0))
    metadata = chunk(1, chunk(1, "hparams") + chunk(2, data)) + integer(4, 2)
    return chunk(5, chunk(1, chunk(1, tag) + chunk(9, metadata) + chunk(8, nothing)))


def value_of(value):
    """google.protobuf.Value: numbers, texts, truth; lists as text."""
    if isinstance(value, bool):
        return integer(4, value)
    if isinstance(value, (int, float)):
        return double(2, value)
    return chunk(3, value if isinstance(value, str) else str(value))


STATUS = {"ok": 1, "failed": 2, "running": 3}


def session_start(keys, time):
    pairs = b"".join(chunk(1, chunk(1, name) + chunk(2, value_of(value))) for name, value in keys.items())
    return chunk(3, pairs + double(5, time))


def session_end(state, time):
    return chunk(4, integer(1, STATUS[state]) + double(2, time))


# --- a job ---

def events_of(db, row, keys, metrics):
    start = row["started"].timestamp() if row["started"] else 0.0
    end = row["ended"].timestamp() if row["ended"] else start
    yield event(start, chunk(3, "brain.Event:2"))
    yield event(start, hparams("_hparams_/session_start_info",
                               session_start({k: row[k] for k in keys if row[k] is not None}, start)))
    for name, column in metrics.items():
        samples = db.metrics(row["job"], name)
        curve = [(index if s.step is None else s.step, s.value) for index, s in enumerate(samples)]
        for step, value in curve or [(0, row[column])]:
            if value is not None and math.isfinite(value):
                yield event(start, scalar(name, value), step)
    if row["state"] in STATUS:
        yield event(end, hparams("_hparams_/session_end_info", session_end(row["state"], end)))


def write_job(db, row, keys, metrics, directory):
    place = directory / (re.sub(r"[^\w.+-]+", "_", row["sweep"]).lstrip(".") or "sweep") / f"job-{row['job']:04d}"
    place.mkdir(parents=True, exist_ok=True)
    start = int(row["started"].timestamp()) if row["started"] else 0
    target = place / f"events.out.tfevents.{start}.meshsweep"
    descriptor, name = tempfile.mkstemp(dir=place)
    with os.fdopen(descriptor, "wb") as file:
        file.writelines(events_of(db, row, keys, metrics))
    for old in place.glob("events.out.tfevents.*.meshsweep"):
        old.unlink()
    os.chmod(name, 0o644)
    os.rename(name, target)


def metric_columns(db, row):
    """Column of each metric in a row: its name where no key has it."""
    return {name: column for name in db.metric_names() for column in (f"metric.{name}", name) if column in row}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("database")
    parser.add_argument("directory", type=pathlib.Path)
    options = parser.parse_args()
    count = 0
    with meshsweep.open(options.database) as db:
        keys = db.key_names()
        for row in db.results(every_sweep=True):
            if row["attempts"] and row["state"] in STATUS:
                write_job(db, row, keys, metric_columns(db, row), options.directory)
                count += 1
    print(f"{options.directory}: {count} runs")
    return 0 if count else 4


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (OSError, meshsweep.SchemaError) as error:
        sys.exit(f"export_tensorboard.py: {error}")
