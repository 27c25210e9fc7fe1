#!/usr/bin/env python3
"""Stand-ins for the commands of batch systems that are not at hand: what their manuals say they take and print.

engine_stand_ins.py ENGINE COMMAND [ARGUMENT...] is COMMAND of that system, whose jobs are kept in ./engine (or of
ENGINE_DIR) and run at once, on this machine. An option, or a directive in a script, that the manual does not have is
refused, as the real one would.

  engine/hold       tasks that are submitted wait while it is there
  engine/refuse     the submission says what it holds, and fails
  engine/most       so many jobs are taken at a time; more are refused with what it says behind the number
  engine/lose       the submission is taken, and it says what this holds and fails
  engine/filter     what is printed of a log goes through this command of the shell
  engine/calls      each command, one a line
"""
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time

DIRECTORY = os.environ.get("ENGINE_DIR", "engine")
OWN_VOLUME = "@own-volume@"


def path(name):
    return os.path.join(DIRECTORY, name)


def text_of(name, otherwise=None):
    try:
        with open(path(name), encoding="utf-8") as file:
            return file.read().strip()
    except FileNotFoundError:
        return otherwise


def put(name, text):
    with open(path(name + ".new"), "w", encoding="utf-8") as file:
        file.write(text)
    os.rename(path(name + ".new"), path(name))


class Refusal(Exception):
    """What a command says when it fails, and its exit status."""


def refuse(words, code=1):
    raise Refusal(words, code)


# --- jobs ---

class Task:
    """A task of a job, or the job itself where it is no array (index None)."""

    def __init__(self, job, index):
        self.job, self.index = job, index
        self.file = f"{job['id']}.{index}"

    @property
    def cancelled(self):
        return os.path.exists(path("cancelled." + self.file))

    @property
    def code(self):
        """None until it has ended; -15 when it was ended by that signal."""
        code = text_of("code." + self.file)
        return int(code) if code else None

    @property
    def state(self):
        """waiting, running, done, failed or cancelled."""
        if self.code is not None:
            return "cancelled" if self.cancelled else "done" if self.code == 0 else "failed"
        if os.path.exists(path("pid." + self.file)):
            return "running"
        return "cancelled" if self.cancelled else "waiting"

    def cancel(self):
        put("cancelled." + self.file, "")
        pid = text_of("pid." + self.file)
        if pid and self.code is None:
            try:
                os.killpg(int(pid), signal.SIGTERM)
            except ProcessLookupError:
                pass


def run_tasks(job):
    """Runs what waits, in a process of its own that outlives the command."""
    if os.fork():
        return
    os.setsid()
    null = os.open("/dev/null", os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    while os.path.exists(path("hold")):
        time.sleep(0.05)
    running = {}
    for index in job["tasks"]:
        task = Task(job, index)
        if task.cancelled:
            continue
        environment = dict(os.environ, **{key: str(value).replace("{task}", str(index)) for key, value in
                                          job["environment"].items()})
        # A volume of the task's own, which a manual's emptyDir is.
        volume = os.path.abspath(path("volume." + task.file))
        os.makedirs(volume)
        with open(path("log." + task.file), "wb") as log:
            process = subprocess.Popen([word.replace(OWN_VOLUME, volume) for word in job["argv"]], env=environment,
                                       cwd="/", start_new_session=True, stdout=log, stderr=log)
        put("pid." + task.file, str(process.pid))
        running[process] = task
        # It was cancelled when nobody could know its process yet.
        if task.cancelled:
            task.cancel()
    while running:
        for process, task in list(running.items()):
            if process.poll() is None:
                continue
            put("code." + task.file, str(process.returncode))
            del running[process]
            if process.returncode and text_of("kind." + job["id"]) == "JobSet":
                for other in running:
                    os.killpg(other.pid, signal.SIGTERM)
        time.sleep(0.02)
    os._exit(0)


def jobs():
    numbers = sorted(int(name[4:]) for name in os.listdir(DIRECTORY) if re.fullmatch(r"job\.\d+", name))
    return [json.loads(text_of(f"job.{n}")) for n in numbers]


def submit(name, token, argv, tasks, environment, make_id=str, kind=""):
    """Takes a job: its id, which the caller prints. `{id}` and `{task}` in the environment become its own."""
    if text_of("refuse"):
        refuse(text_of("refuse"))
    most = text_of("most")
    if most:
        number, words = most.split(" ", 1)
        if sum(Task(job, i).code is None for job in jobs() for i in job["tasks"]) + len(tasks) > int(number):
            refuse(words)
    number = int(text_of("next", "1"))
    put("next", str(number + 1))
    job = {"id": make_id(number), "number": number, "name": name, "token": token, "argv": argv, "tasks": tasks,
           "environment": {key: value.replace("{id}", make_id(number)) for key, value in environment.items()}}
    put(f"job.{number}", json.dumps(job))
    put("kind." + job["id"], kind)
    run_tasks(job)
    if text_of("lose"):
        refuse(text_of("lose"))
    return job["id"]


def find(job_id):
    return next((job for job in jobs() if job["id"] == job_id), None)


def all_tasks():
    return [Task(job, index) for job in jobs() for index in job["tasks"]]


def cancel(job_id, index=None):
    job = find(job_id)
    if not job:
        return False
    for i in job["tasks"]:
        if index is None or i == index:
            Task(job, i).cancel()
    return True


# --- what a script says of itself ---

def directives(text, prefix, known):
    """The options on lines that begin with the prefix, each of them one of the manual's: {option: [values]}."""
    found = {}
    for line in text.splitlines():
        if not line.startswith(prefix):
            continue
        words = shlex.split(line[len(prefix):])
        while words:
            option, has_value, value = words.pop(0).partition("=")
            if option not in known:
                refuse(f"unknown option: {option}", 2)
            pattern = known[option]
            if pattern is not None and not has_value:
                value = words.pop(0) if words else ""
            if pattern is not None and not re.fullmatch(pattern, value):
                refuse(f"illegal value of {option}: {value}", 2)
            found.setdefault(option, []).append(value)
    return found


def script_text(argv):
    if not argv or not os.path.isfile(argv[-1]):
        refuse("script file: No such file or directory")
    with open(argv[-1], encoding="utf-8") as file:
        return file.read()


def indices(text):
    first, last = re.match(r"(\d+)-(\d+)", text).groups()
    return list(range(int(first), int(last) + 1))


# --- PBS ---

PBS_OPTIONS = {"-N": r"[A-Za-z][\w.+-]{0,235}", "-S": "/.*", "-j": "oe|eo|n", "-o": ".+", "-J": r"\d+-\d+(:\d+)?",
               "-v": ".+", "-q": r"[\w.@-]+", "-A": ".+", "-P": ".+", "-r": "y|n",
               "-l": r"walltime=\d+:\d\d:\d\d|place=\w+(:\w+)?|select=\d+(:\w+=\w+)*"}


def pbs_qsub(argv):
    text = script_text(argv)
    found = directives(text, "#PBS ", PBS_OPTIONS)
    array = found.get("-J")
    if array and len(indices(array[0])) < 2:
        refuse("qsub: illegal -J value")
    if array and found.get("-r") == ["n"]:
        refuse("qsub: Job arrays must be rerunnable")
    token = dict(v.split("=") for v in found.get("-v", [""])[0].split(","))
    job_id = submit(found["-N"][0], token, ["/bin/sh", argv[-1]], indices(array[0]) if array else [None],
                    {"PBS_JOBID": "{id}[{task}].server" if array else "{id}.server", "PBS_NODEFILE": path("nodes"),
                     **({"PBS_ARRAY_INDEX": "{task}"} if array else {})})
    print(f"{job_id}[].server" if array else f"{job_id}.server")


def pbs_record(task, is_over):
    words = {"waiting": "Q", "running": "R"}
    record = {"Job_Name": task.job["name"], "Job_Owner": "me@here", "queue": "workq",
              "job_state": words.get(task.state, "F" if is_over or task.index is None else "X"),
              "Variable_List": dict(task.job["token"], PBS_O_HOME="/root")}
    if task.state != "waiting":
        record["exec_host"] = "node1/0"
    if task.index is not None:
        record.update(array_id=f"{task.job['id']}[].server", array_index=task.index)
    if task.code is not None:
        record["Exit_status"] = 271 if task.cancelled else task.code if task.code >= 0 else 256 - task.code
    return record


def pbs_qstat(argv):
    history, wanted = "-x" in argv, [a for a in argv if a[0] not in "-" and a != "json"]
    if [a for a in argv if a.startswith("-") and a not in ("-t", "-f", "-F", "-x")] or "-f" not in argv:
        refuse("usage: qstat [-f] [-F format] ...", 2)
    listed = {}
    for job in jobs():
        tasks = [Task(job, i) for i in job["tasks"]]
        over = all(t.state in ("done", "failed", "cancelled") for t in tasks)
        if over and not history:
            continue
        is_array = job["tasks"] != [None]
        if is_array:
            listed[f"{job['id']}[].server"] = {"Job_Name": job["name"], "array": "True", "job_state": "BF"[over],
                                               "Variable_List": dict(job["token"], PBS_O_HOME="/root")}
        if "-t" in argv or wanted or not is_array:
            for task in tasks:
                index = f"[{task.index}]" if is_array else ""
                listed[f"{job['id']}{index}.server"] = pbs_record(task, over)
    if wanted:
        listed = {key: listed[key] for key in listed if key.split(".")[0] in wanted or key in wanted}
        if not listed:
            refuse(f"qstat: Unknown Job Id {wanted[0]}", 153)
    print(json.dumps({"timestamp": 1, "pbs_version": "22.05.11", "pbs_server": "server", "Jobs": listed}, indent=4))


def pbs_qdel(argv):
    for word in argv:
        number, _, index = re.fullmatch(r"(\d+)(\[(\d*)\])?(?:\.server)?", word).groups()
        if not cancel(number, int(index) if index else None):
            refuse(f"qdel: Unknown Job Id {word}", 153)


# --- LSF ---

LSF_OPTIONS = {"-J": r"[\w.-]+(\[\d+-\d+\])?", "-Jd": ".{1,4094}", "-cwd": "/.*", "-o": ".+", "-rn": None, "-q": r"\w+",
               "-P": ".+", "-U": ".+", "-W": r"\d+(:\d+)?", "-n": r"\d+", "-M": r"\d+[KMGT]B?",
               "-R": r"span\[(ptile|hosts)=\d+\]|rusage\[mem=\d+(MB|GB)?\]|select\[.*\]", "-gpu": r"num=\d+.*"}


def lsf_bsub(argv):
    if argv:
        refuse("bsub: the script is read from standard input", 255)
    text = sys.stdin.read()
    found = directives(text, "#BSUB ", LSF_OPTIONS)
    name, bounds = re.fullmatch(r"([\w.-]+)(?:\[(\d+-\d+)\])?", found["-J"][0]).groups()
    number = text_of("next", "1")
    put("script." + number, text)
    script = os.path.abspath(path("script." + number))
    job_id = submit(name, found.get("-Jd", [""])[0], ["/bin/sh", script], indices(bounds) if bounds else [None],
                    {"LSB_JOBID": "{id}", "LSB_JOBINDEX": "{task}" if bounds else "0",
                     "LSB_HOSTS": "host1 host1 host2"})
    print(f"Job <{job_id}> is submitted to default queue <normal>.")


def lsf_bjobs(argv):
    if argv[:3] != ["-a", "-json", "-o"] or len(argv) != 4:
        refuse("bjobs: illegal option", 255)
    words = {"waiting": "PEND", "running": "RUN", "done": "DONE", "failed": "EXIT", "cancelled": "EXIT"}
    records = []
    for task in all_tasks():
        code = "" if not task.code else str(task.code if task.code > 0 else 128 - task.code)
        everything = {"JOBID": task.job["id"], "JOBINDEX": str(task.index or 0), "STAT": words[task.state],
                      "EXIT_CODE": code, "EXIT_REASON": "TERM_OWNER: job killed by owner" if task.cancelled else "",
                      "EXEC_HOST": "host1:host2" if task.state != "waiting" else "",
                      "PEND_REASON": "New job is waiting;", "JOB_DESCRIPTION": task.job["token"]}
        records.append({field.upper(): everything[field.upper()] for field in argv[3].split()})
    if not records:
        refuse("No job found", 0)
    print(json.dumps({"COMMAND": "bjobs", "JOBS": len(records), "RECORDS": records}))


def lsf_bkill(argv):
    for word in argv:
        number, _, index = re.fullmatch(r"(\d+)(\[(\d+)\])?", word).groups()
        if not cancel(number, int(index) if index else None):
            refuse(f"Job <{word}>: No matching job found", 255)
        print(f"Job <{word}> is being terminated")


# --- Flux ---

FLUX_OPTIONS = {"--job-name": ".+", "--output": ".+", "--cwd": "/.*", "--queue": r"\w+", "--bank": ".+",
                "--requires": ".+", "--time-limit": r"\d+(\.\d+)?[smhd]?", "--nodes": r"\d+", "--nslots": r"\d+",
                "--cores-per-slot": r"\d+", "--gpus-per-slot": r"\d+"}


def flux(argv):
    {"batch": flux_batch, "jobs": flux_jobs, "cancel": flux_cancel}[argv[0]](argv[1:])


def flux_batch(argv):
    found = directives(script_text(argv), "#FLUX: ", FLUX_OPTIONS)
    print(submit(found["--job-name"][0], "", ["/bin/sh", argv[-1]], [None], {"FLUX_ENCLOSING_ID": "{id}"},
                 lambda number: f"f2oL8G{number}"))


class Fields:
    """What `{id.f58plain}` and the like of a format name."""

    def __init__(self, **fields):
        self.__dict__.update(fields)

    def __str__(self):
        return str(self.__dict__.get("text", ""))


def flux_jobs(argv):
    if argv[:3] != ["-a", "--count=0", "--no-header"] or not argv[3].startswith("--format="):
        refuse("flux-jobs: ERROR: unrecognized arguments", 2)
    words = {"waiting": "SCHED", "running": "RUN", "done": "COMPLETED", "failed": "FAILED", "cancelled": "CANCELED"}
    for task in all_tasks():
        code = "" if task.code is None else task.code if task.code >= 0 else 128 - task.code
        print(argv[3][9:].format(id=Fields(f58plain=task.job["id"]), status=words[task.state], returncode=code,
                                 nodelist="corona1" if task.state != "waiting" else "", name=task.job["name"],
                                 exception=Fields(type="cancel" if task.cancelled else "")))


def flux_cancel(argv):
    for word in argv:
        if not cancel(word):
            refuse(f"flux-cancel: ERROR: {word}: unknown job id")


# --- HTCondor ---

CONDOR_COMMANDS = {"universe", "executable", "transfer_executable", "arguments", "initialdir", "should_transfer_files",
                   "environment", "getenv", "batch_name", "request_cpus", "request_gpus", "request_memory",
                   "allowed_execute_duration", "accounting_group", "requirements", "+meshsweeptoken"}


def condor_submit(argv):
    if argv[0] != "-terse" or argv[2] != "-queue" or len(argv) != 4:
        refuse("condor_submit: unknown argument")
    said = {}
    for line in script_text(argv[1:2]).splitlines():
        key, _, value = line.partition("=")
        if line.strip() and key.strip().lower() not in CONDOR_COMMANDS:
            refuse(f"ERROR: on Line 1 of submit file: unknown command {key.strip()}")
        said[key.strip().lower()] = value.strip()
    arguments = shlex.split(said["arguments"][1:-1])
    environment = dict(word.split("=") for word in said["environment"][1:-1].split())
    count = int(argv[3])
    job_id = submit(said["batch_name"], said["+meshsweeptoken"].strip('"'), [said["executable"], *arguments],
                    list(range(count)),
                    {key: value.replace("$(Process)", "{task}").replace("$(Cluster)", "{id}")
                     for key, value in environment.items()})
    print(f"{job_id}.0 - {job_id}.{count - 1}")


def condor_print(records, wanted):
    if records:
        shown = [json.dumps({key: r[key] for key in wanted.split(",") if key in r}) for r in records]
        print("[\n" + ",\n".join(shown) + "\n]")


def condor_record(task):
    record = {"ClusterId": int(task.job["id"]), "ProcId": task.index, "MeshsweepToken": task.job["token"],
              "JobStatus": {"waiting": 1, "running": 2, "done": 4, "failed": 4, "cancelled": 3}[task.state]}
    if task.state != "waiting":
        record["RemoteHost" if task.state == "running" else "LastRemoteHost"] = "slot1_1@host1"
    if task.code is not None and not task.cancelled:
        by_signal = task.code < 0
        record.update({"ExitBySignal": by_signal, "ExitSignal" if by_signal else "ExitCode": abs(task.code)})
    if task.cancelled:
        record["RemoveReason"] = "via condor_rm (by user me)"
    return record


def condor_q(argv):
    tasks = [t for t in all_tasks() if t.state in ("waiting", "running")]
    condor_print([condor_record(t) for t in tasks], argv[argv.index("-attributes") + 1])


def condor_history(argv):
    tasks = [t for t in all_tasks() if t.state not in ("waiting", "running") and t.job["id"] == argv[0]]
    condor_print([condor_record(t) for t in tasks], argv[argv.index("-attributes") + 1])


def condor_rm(argv):
    for word in argv:
        number, _, index = re.fullmatch(r"(\d+)(\.(\d+))?", word).groups()
        if not cancel(number, int(index) if index else None):
            refuse(f"Couldn't find/remove all jobs matching {word}")
        print(f"Job {word} marked for removal")


# --- OAR ---

OAR_OPTIONS = {"-n": ".+", "-d": "/.*", "-O": ".+", "-E": ".+", "-q": r"\w+", "--project": ".+", "-p": ".+",
               "-l": r"(/\w+=\d+)+(,walltime=\d+:\d+:\d+)?"}


def oarsub(argv):
    if argv[0] != "-S" or not os.access(argv[-1], os.X_OK):
        refuse(f"[ERROR] {argv[-1]} is not executable", 6)
    found = directives(script_text(argv), "#OAR ", OAR_OPTIONS)
    print("[ADMISSION RULE] Modify resource description with type constraints")
    job_id = submit(found["-n"][0], "", [argv[-1]], [None], {"OAR_JOB_ID": "{id}", "OAR_NODEFILE": path("nodes")})
    print(f"OAR_JOB_ID={job_id}")


def oar_record(task, full):
    words = {"waiting": "Waiting", "running": "Running", "cancelled": "Error"}
    record = {"id": int(task.job["id"]), "name": task.job["name"], "owner": "me", "state": words.get(task.state, "Terminated"),
              "assigned_network_address": [] if task.state == "waiting" else ["node-1"], "message": "R=1,W=0:10:0"}
    if full and task.code is not None:
        status = task.code << 8 if task.code >= 0 else -task.code
        record["exit_code"] = f"{status} ({status >> 8},{status & 127},0)"
        record["events"] = [{"type": "FRAG_JOB_REQUEST"}] if task.cancelled else []
    elif full:
        record["events"] = [{"type": "FRAG_JOB_REQUEST"}] if task.cancelled else []
    return record


def oarstat(argv):
    if argv[0] != "-J":
        refuse("Unknown option")
    if "-j" in argv:
        tasks = [t for t in all_tasks() if t.job["id"] == argv[argv.index("-j") + 1]]
    else:
        tasks = [t for t in all_tasks() if t.state in ("waiting", "running")]
    if tasks:
        print(json.dumps({t.job["id"]: oar_record(t, "-f" in argv) for t in tasks}))


def oardel(argv):
    for word in argv:
        cancel(word)
        print(f"Deleting the job = {word} ...REGISTERED.")


# --- Kubernetes ---

# The fields of a Job, as far as they are used: {field: form}; a form None is any value.
K8S_JOB = {
    "apiVersion": str, "kind": str,
    "metadata": {"generateName": str, "namespace": str, "labels": {"*": str}, "annotations": {"*": str}},
    "spec": {"completionMode": str, "completions": int, "parallelism": int, "backoffLimitPerIndex": int,
             "maxFailedIndexes": int, "template": {
                 "metadata": {"labels": {"*": str}, "annotations": {"*": str}},
                 "spec": {"restartPolicy": str, "activeDeadlineSeconds": int, "serviceAccountName": str,
                          "priorityClassName": str, "runtimeClassName": str, "nodeSelector": {"*": str},
                          "volumes": [{"name": str, "persistentVolumeClaim": {"claimName": str}, "emptyDir": {}}],
                          "containers": [{"name": str, "image": str, "command": [str],
                                          "volumeMounts": [{"name": str, "mountPath": str}],
                                          "env": [{"name": str, "value": str,
                                                   "valueFrom": {"fieldRef": {"fieldPath": str}}}],
                                          "resources": {"limits": {"*": None}}}]}}}}


# A JobSet (JobSet API reference, jobset.x-k8s.io/v1alpha2), as far as it is used.
K8S_JOBSET = {
    "apiVersion": str, "kind": str, "metadata": K8S_JOB["metadata"],
    "spec": {"failurePolicy": {"maxRestarts": int}, "replicatedJobs": [{
        "name": str, "replicas": int, "template": {"spec": dict(K8S_JOB["spec"], backoffLimit=int)}}]}}


def k8s_check(value, form, where):
    if isinstance(form, dict):
        for key, inner in (value or {}).items():
            if key not in form and "*" not in form:
                refuse(f"error: error validating data: ValidationError({where}): unknown field \"{key}\"")
            k8s_check(inner, form.get(key, form.get("*")), f"{where}.{key}")
    elif isinstance(form, list):
        for item in value:
            k8s_check(item, form[0], where)
    elif form and not isinstance(value, form):
        refuse(f"error: error validating data: ValidationError({where}): invalid type")


def k8s_take(manifest):
    """The created Job; a refusal is a sentence."""
    is_set = manifest["kind"] == "JobSet"
    k8s_check(manifest, K8S_JOBSET if is_set else K8S_JOB, manifest["kind"])
    spec = manifest["spec"]["replicatedJobs"][0]["template"]["spec"] if is_set else manifest["spec"]
    container = spec["template"]["spec"]["containers"][0]
    for key in ("image", "command"):
        if key not in container:
            refuse(f"The Job \"x\" is invalid: spec.template.spec.containers[0].{key}: Required value")
    fields = {"metadata.labels['batch.kubernetes.io/job-name']": "{id}", "spec.nodeName": "node-a",
              "metadata.labels['jobset.sigs.k8s.io/jobset-name']": "{id}"}
    environment = {e["name"]: e.get("value") or fields[e["valueFrom"]["fieldRef"]["fieldPath"]]
                   for e in container["env"]}
    pod = spec["template"]["spec"]
    sources = {volume["name"]: volume for volume in pod.get("volumes") or []}
    command = container["command"]
    if any(len(word.encode()) >= 128 * 1024 for word in command):
        refuse("exec /bin/sh: argument list too long")
    for mount in container.get("volumeMounts") or []:
        if mount["name"] not in sources:
            refuse(f"The Job \"x\" is invalid: volumeMounts[0].name: Not found: \"{mount['name']}\"")
        if "emptyDir" in sources[mount["name"]]:
            command = [word.replace(mount["mountPath"], OWN_VOLUME) for word in command]
    job_id = submit("", manifest["metadata"]["annotations"], command, list(range(spec["completions"])),
                    dict(environment, JOB_COMPLETION_INDEX="{task}"),
                    lambda number: manifest["metadata"]["generateName"] + f"x7k2{number}", manifest["kind"])
    return dict(manifest, metadata=dict(manifest["metadata"], name=job_id, namespace="default", uid=job_id))


def k8s_pod(task):
    phase = {"running": "Running", "done": "Succeeded"}.get(task.state, "Failed")
    status = {"phase": phase}
    if task.code is not None:
        status["containerStatuses"] = [{"name": "job", "state": {"terminated": {
            "exitCode": task.code if task.code >= 0 else 128 - task.code,
            "reason": "Error" if task.code else "Completed"}}}]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {
        "name": f"{task.job['id']}-{task.index}-abcde", "namespace": "default",
        "labels": {"batch.kubernetes.io/job-name": task.job["id"], "app.kubernetes.io/managed-by": "meshsweep",
                   "jobset.sigs.k8s.io/jobset-name": task.job["id"],
                   "batch.kubernetes.io/job-completion-index": str(task.index)},
        "annotations": dict(task.job["token"], **{"batch.kubernetes.io/job-completion-index": str(task.index)})},
        "spec": {"nodeName": "node-a", "containers": [{"name": "job", "image": "x"}]}, "status": status}


def jobs_there():
    return [job for job in jobs() if not Task(job, job["tasks"][0]).cancelled]


def k8s_jobset(job):
    """A pod that fails ends the others (backoffLimit 0, maxRestarts 0)."""
    tasks = [Task(job, index) for index in job["tasks"]]
    codes = [task.code for task in tasks]
    state = "Completed" if codes.count(0) == len(codes) else "Failed" if any(codes) else ""
    return {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": {
        "name": job["id"], "annotations": job["token"]}, "status": {"terminalState": state} if state else {}}


def k8s_items(kind):
    """Of the Jobs that were not deleted, or their pods: a Job that is deleted takes them with it."""
    there = jobs_there()
    if kind == "pods":
        return [k8s_pod(task) for task in all_tasks() if task.job in there and task.state != "waiting"]
    if kind == "jobsets":
        return [k8s_jobset(job) for job in there]
    return [{"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": job["id"], "annotations": job["token"]},
             "spec": {"completions": len(job["tasks"])}, "status": {}} for job in there]


class Api:
    """The part of the API that kubectl needs for this: discovery, and Jobs and pods of one namespace."""

    RESOURCES = {"/version": {"major": "1", "minor": "30", "gitVersion": "v1.30.0"},
                 "/api": {"kind": "APIVersions", "versions": ["v1"]},
                 "/apis": {"kind": "APIGroupList", "apiVersion": "v1", "groups": [
                     {"name": "batch", "versions": [{"groupVersion": "batch/v1", "version": "v1"}],
                      "preferredVersion": {"groupVersion": "batch/v1", "version": "v1"}}]}}

    def say(self, code, value):
        text = json.dumps(value).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def fail(self, code, reason, message):
        self.say(code, {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason,
                        "message": message})

    def do_GET(self):
        from urllib.parse import parse_qs
        where, _, query = self.path.partition("?")
        kind = where.rpartition("/")[2]
        query = parse_qs(query)
        wanted = dict(pair.split("=") for pair in query.get("labelSelector", [""])[0].split(",") if pair)
        if where in self.RESOURCES:
            self.say(200, self.RESOURCES[where])
        elif where in ("/api/v1", "/apis/batch/v1"):
            name, word = ("pods", "Pod") if where == "/api/v1" else ("jobs", "Job")
            self.say(200, {"kind": "APIResourceList", "groupVersion": where.partition("v1")[0].split("/")[-2] + "/v1"
                           if word == "Job" else "v1", "resources": [
                               {"name": name, "singularName": "", "namespaced": True, "kind": word,
                                "verbs": ["create", "get", "list", "delete"]}]})
        elif kind in ("jobs", "pods"):
            self.say(200, {"kind": "PodList" if kind == "pods" else "JobList",
                           "apiVersion": "v1" if kind == "pods" else "batch/v1", "metadata": {"resourceVersion": "1"},
                           "items": [item for item in k8s_items(kind) if kind == "jobs" or
                                     wanted.items() <= item["metadata"]["labels"].items()]})
        elif kind == "log":
            name = where.split("/")[-2]
            log = next(path("log." + task.file) for task in all_tasks() if k8s_pod(task)["metadata"]["name"] == name)
            self.send_response(200)
            self.send_header("Content-Type", "text/plain")
            self.end_headers()
            with open(log, "rb") as file:
                lines = file.read().splitlines(keepends=True)
            tail = query.get("tailLines")
            self.wfile.write(b"".join(lines[-int(tail[0]):] if tail else lines))
        else:
            self.fail(404, "NotFound", "the server could not find the requested resource")

    def do_POST(self):
        try:
            self.say(201, k8s_take(json.loads(self.rfile.read(int(self.headers["Content-Length"])))))
        except Refusal as refusal:
            self.fail(403, "Forbidden", refusal.args[0])

    def do_DELETE(self):
        name = self.path.partition("?")[0].rpartition("/")[2]
        if cancel(name):
            self.say(200, {"kind": "Status", "apiVersion": "v1", "status": "Success", "details": {"name": name}})
        else:
            self.fail(404, "NotFound", f'jobs.batch "{name}" not found')

    def log_message(self, *_):
        pass


def k8s_logs(argv):
    """As kubectl(1) has it: of a selector's pods the last ten lines, unless --tail says otherwise."""
    options = dict(word.partition("=")[::2] for word in argv)
    wanted = dict(pair.split("=") for pair in options.pop("--selector").split(","))
    tail = int(options.pop("--tail", "10"))
    if options:
        refuse(f"error: unknown flag: {next(iter(options))}")
    pods = [task for task in all_tasks() if task.job in jobs_there() and task.state != "waiting" and
            all(k8s_pod(task)["metadata"]["labels"].get(key) == value for key, value in wanted.items())]
    if not pods:
        print("No resources found in default namespace.", file=sys.stderr)
    for task in pods:
        with open(path("log." + task.file), "rb") as log:
            lines = log.read().splitlines(keepends=True)
        text = b"".join(lines if tail < 0 else lines[-tail:])
        if text_of("filter"):
            text = subprocess.run(["sh", "-c", text_of("filter")], input=text, stdout=subprocess.PIPE, check=False).stdout
        sys.stdout.buffer.write(text)


def kubectl(argv):
    argv = [a for a in argv if "--namespace=" not in a]
    if argv == ["serve"]:
        # Thousands of other starts do without these modules.
        import http.server
        handler = type("Handler", (Api, http.server.BaseHTTPRequestHandler), {})
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        put("port", str(server.server_port))
        server.serve_forever()
    elif argv[0] == "create":
        import yaml
        with open(argv[1].partition("=")[2], encoding="utf-8") as file:
            taken = k8s_take(yaml.safe_load(file))
            print(f"{taken['kind'].lower()}.x/{taken['metadata']['name']}")
    elif argv[0] == "get" and argv[1] in ("jobs,pods", "jobsets,pods") and "--output=json" in argv:
        print(json.dumps({"apiVersion": "v1", "kind": "List",
                          "items": k8s_items(argv[1].partition(",")[0]) + k8s_items("pods")}))
    elif argv[0] == "logs":
        k8s_logs(argv[1:])
    elif argv[:3] == ["delete", "--wait=false", "pods"]:
        wanted = dict(pair.split("=") for pair in argv[3].partition("=")[2].split(","))
        for task in all_tasks():
            labels = k8s_pod(task)["metadata"]["labels"] if task.state == "running" else {}
            if wanted.items() <= labels.items():
                os.killpg(int(text_of("pid." + task.file)), signal.SIGTERM)
    elif argv[0] == "delete":
        name = argv[-1].partition("/")[2]
        if not cancel(name):
            refuse(f'Error from server (NotFound): jobs.batch "{name}" not found')
        print(f'job.batch "{name}" deleted')


COMMANDS = {"pbs": {"qsub": pbs_qsub, "qstat": pbs_qstat, "qdel": pbs_qdel},
            "lsf": {"bsub": lsf_bsub, "bjobs": lsf_bjobs, "bkill": lsf_bkill},
            "flux": {"flux": flux},
            "htcondor": {"condor_submit": condor_submit, "condor_q": condor_q, "condor_history": condor_history,
                         "condor_rm": condor_rm},
            "oar": {"oarsub": oarsub, "oarstat": oarstat, "oardel": oardel},
            "jobset": {"kubectl": kubectl}, "kubernetes": {"kubectl": kubectl}}


def main():
    engine = sys.argv[1]
    if len(sys.argv) == 2:
        print(" ".join(COMMANDS[engine]))
        return
    with open(path("calls"), "a", encoding="utf-8") as file:
        file.write(" ".join(sys.argv[2:]) + "\n")
    try:
        COMMANDS[engine][sys.argv[2]](sys.argv[3:])
    except Refusal as refusal:
        print(refusal.args[0], file=sys.stderr)
        sys.exit(refusal.args[1])


main()
