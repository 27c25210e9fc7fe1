#!/usr/bin/env bash
# scripts/export_mlflow.py against a stand-in of the documented server, scripts/export_tensorboard.py by what other
# libraries read in its files.
. "${0%/*}/lib.sh"
. "${0%/*}/fixture.sh"

python=/usr/bin/python3
[ -x "$python" ] || { echo "1..0 # SKIP there is no $python"; exit 77; }
export PYTHONDONTWRITEBYTECODE=1

swept()
{
    toml sweep: name='de/mo ü' objective=min:loss job: 'command = ["/bin/sh", "-c",' \
        '"for i in $(seq 1500); do echo loss: $i.{micro_batch}; done; [ {micro_batch} != 4 ]"]' \
        job.metrics.loss: regex='loss: ([0-9.]+)' take=last metrics.double: expression='2 * loss' \
        model:: lr=0.1 flag=true '"odd.key" = "a\n|"' parallel_spec:: micro_batch=1,4 >sweep.toml
    run_ended 3
}

expect_exported() # KIND STATUS TEXT TRACKER ARGS
{
    expect_said_by "${@:1:3}" run_command "$python" "$source_dir/scripts/export_$4.py" "${@:5}"
}

start_server()
{
    mkdir server
    "$source_dir/tests/standin/mlflow" server &
    server=$!
    wait_until '[ -e server/port ]' 20
    url=http://127.0.0.1:$(cat server/port)
}

mlflow__sweep__is_sent_once()
{
    swept
    start_server
    expect_exported only_stdout 0 "experiment 1: 2 runs sent, 0 were there" mlflow results.db "$url"
    expect_exported only_stdout 0 "experiment 1: 0 runs sent, 2 were there" mlflow results.db "$url"
    cat >check.py <<'END'
import json
store = json.load(open("server/store.json"))
assert store["experiments"] == {"1": "de/mo ü"}
for run in store["runs"].values():
    batch = run["params"]["micro_batch"]
    assert run["params"]["lr"] == "0.1" and run["params"]["flag"] == "true" and run["params"]["odd.key"] == "a\n|"
    loss = [m for m in run["metrics"] if m["key"] == "loss"]
    assert [m["step"] for m in loss] == list(range(1500))
    assert [m["value"] for m in loss] == [float(f"{i}.{batch}") for i in range(1, 1501)]
    print(batch, run["info"]["status"], run["tags"].get("meshsweep.failure"), run["tags"]["meshsweep.job"],
          [m["value"] for m in run["metrics"] if m["key"] == "double"])
END
    run_command "$python" check.py
    expect_only_stdout_contains 0 "1 FINISHED None 1 [1501.2]" "4 FAILED exit 2 [1501.8]"
    kill "$server"
}

mlflow__running_job__is_brought_to_its_end()
{
    fixture_database
    start_server
    expect_exported only_stdout 0 "experiment 1: 7 runs sent, 0 were there" mlflow results.db "$url" --experiment other
    sql "UPDATE attempt SET state = 'ok', ended = started + 1000 WHERE state = 'running';
         UPDATE job SET state = 'ok', attempt_id = 8 WHERE state = 'running'"
    echo -n secret >server/token
    expect_exported only_stderr 1 "export_mlflow.py: experiments/get-by-name?experiment_name=other: who are you?" \
        mlflow results.db "$url" --experiment other
    export MLFLOW_TRACKING_TOKEN=secret
    expect_exported only_stdout 0 "experiment 1: 1 runs sent, 6 were there" mlflow results.db "$url" --experiment other
    kill "$server"
    expect_exported only_stderr_matches 1 '^export_mlflow.py: http://127.0.0.1:[0-9]*: ' mlflow results.db "$url"
}

tensorboard__files__are_what_other_libraries_read()
{
    need_module google.protobuf
    need_module crcmod.predefined
    swept
    for _ in 1 2; do
        expect_exported only_stdout 0 "runs: 2 runs" tensorboard results.db runs
    done
    expect '[ "$(find runs -type f | wc -l)" = 2 ]'
    # TensorBoard's messages as far as they are used, and the checksum, by others' code.
    cat >check.py <<'END'
import glob, struct, crcmod.predefined
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, struct_pb2
F = descriptor_pb2.FieldDescriptorProto
KINDS = {"double": F.TYPE_DOUBLE, "int64": F.TYPE_INT64, "int32": F.TYPE_INT32, "string": F.TYPE_STRING,
         "bytes": F.TYPE_BYTES, "float": F.TYPE_FLOAT}
file = descriptor_pb2.FileDescriptorProto(name="tb.proto", package="tb", syntax="proto3",
                                          dependency=["google/protobuf/struct.proto"])
def message(name, *fields):
    m = file.message_type.add(name=name)
    for number, kind, title in fields:
        many, kind = kind.endswith("*"), kind.rstrip("*")
        f = m.field.add(name=title, number=number, label=F.LABEL_REPEATED if many else F.LABEL_OPTIONAL)
        if kind in KINDS:
            f.type = KINDS[kind]
        else:
            f.type, f.type_name = F.TYPE_MESSAGE, kind if kind.startswith(".") else ".tb." + kind
message("PluginData", (1, "string", "plugin_name"), (2, "bytes", "content"))
message("Metadata", (1, "PluginData", "plugin_data"), (4, "int32", "data_class"))
message("Dim", (1, "int64", "size"))
message("Shape", (2, "Dim*", "dim"))
message("Tensor", (1, "int32", "dtype"), (2, "Shape", "tensor_shape"), (5, "float*", "float_val"))
message("Value", (1, "string", "tag"), (2, "float", "simple_value"), (8, "Tensor", "tensor"),
        (9, "Metadata", "metadata"))
message("Summary", (1, "Value*", "value"))
message("Event", (1, "double", "wall_time"), (2, "int64", "step"), (3, "string", "file_version"),
        (5, "Summary", "summary"))
message("Pair", (1, "string", "key"), (2, ".google.protobuf.Value", "value"))
message("Start", (1, "Pair*", "hparams"), (5, "double", "start_time_secs"))
message("End", (1, "int32", "status"), (2, "double", "end_time_secs"))
message("Plugin", (1, "int32", "version"), (3, "Start", "start"), (4, "End", "end"))
pool = descriptor_pool.Default()
pool.Add(file)
kind = lambda name: message_factory.MessageFactory(pool).GetPrototype(pool.FindMessageTypeByName("tb." + name))
crc = crcmod.predefined.mkCrcFun("crc-32c")
masked = lambda data: ((crc(data) >> 15 | crc(data) << 17) + 0xA282EAD8) & 0xFFFFFFFF
for path in sorted(glob.glob("runs/*/*/*")):
    data, events = open(path, "rb").read(), []
    while data:
        assert struct.unpack("<I", data[8:12])[0] == masked(data[:8])
        size = struct.unpack("<Q", data[:8])[0]
        body = data[12:12 + size]
        assert struct.unpack("<I", data[12 + size:16 + size])[0] == masked(body)
        events.append(kind("Event").FromString(body))
        assert len(events[-1].UnknownFields()) == 0
        data = data[16 + size:]
    assert events[0].file_version == "brain.Event:2"
    values = [(e.step, v) for e in events for v in e.summary.value]
    loss = [(step, v.simple_value) for step, v in values if v.tag == "loss"]
    plugin = {v.tag: kind("Plugin").FromString(v.metadata.plugin_data.content) for _, v in values
              if v.metadata.plugin_data.plugin_name == "hparams"}
    keys = {p.key: p.value.WhichOneof("kind") + ":" + str(getattr(p.value, p.value.WhichOneof("kind")))
            for p in plugin["_hparams_/session_start_info"].start.hparams}
    assert len(loss) == 1500 and [s for s, _ in loss] == list(range(1500)), len(loss)
    print(path.split("/")[1:3], round(loss[-1][1], 3), keys["micro_batch"], keys["flag"], repr(keys["odd.key"]),
          plugin["_hparams_/session_end_info"].end.status,
          [round(v.simple_value, 1) for _, v in values if v.tag == "double"])
END
    expect_command only_stdout 0 "$python" check.py
    expect_stdout "['de_mo_ü', 'job-0001'] 1500.1 number_value:1.0 bool_value:True 'string_value:a\\n|' 1 [1501.2]
['de_mo_ü', 'job-0002'] 1500.4 number_value:4.0 bool_value:True 'string_value:a\\n|' 2 [1501.8]"
}

trackers__nothing_was_started__say_so()
{
    fixture_database "DELETE FROM job WHERE state <> 'pending'"
    expect_exported only_stdout 4 "runs: 0 runs" tensorboard results.db runs
    expect_exported only_stderr 1 "export_mlflow.py: no job was started yet" mlflow results.db http://127.0.0.1:9
    expect_exported only_stderr 1 "export_tensorboard.py: absent.db does not exist" tensorboard absent.db runs
}

run_cases "$@"
