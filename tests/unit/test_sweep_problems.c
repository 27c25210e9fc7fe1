/* config: every complaint about a sweep file, with its position. */
#include "config/failure.h"
#include "sweep_fixture.h"
#include "util/buffer.h"

PROBLEMS(keys__unknown__hint,
         {"[model_spec]\nx = 1\n", "1:2: unknown key \"model_spec\" in the file; did you mean \"model\"?"},
         {"[zzz]\nx = 1\n",
          "1:2: unknown key \"zzz\" in the file; its tables are cluster_spec, model, training_spec, parallel_spec, "
          "sweep, job, metrics, fixture, derive, synonym, inert, was, rule, failure, retry, device, model_type, "
          "deepspeed, "
          "model_space, model_info, "
          "predict, import, search, slurm, executor, ssh, local"},
         {"[modle]\n", "1:2: unknown key \"modle\" in the file; did you mean \"model\"?"},
         {"\n  zzz = 1\n", "2:3: unknown key \"zzz\" in the file"},
         {"timeout = 1\n", "1:1: unknown key \"timeout\" in the file; it belongs in [job]"},
         {"[sweep]\nprofile = \"torch\"\n",
          "2:1: unknown key \"profile\" in [sweep]; it belongs in the top of the file, before the first [table]"},
         {"[job]\ncomand = \"x\"\n", "2:1: unknown key \"comand\" in [job]; did you mean \"command\"?"},
         {"[job.metrics.m]\nregexp = \"(x)\"\n",
          "2:1: unknown key \"regexp\" in [job.metrics]; did you mean \"regex\"?"},
         {"[[rule]]\nname = \"a\"\nrequire = \"b\"\nwen = \"c\"\n",
          "4:1: unknown key \"wen\" in [[rule]]; did you mean \"when\"?"},
         {"[[failure]]\nclass = \"oom\"\npattern = \"b\"\nwarmup = \"c\"\n",
          "4:1: unknown key \"warmup\" in [[failure]]; it belongs in [job.metrics]"},
         {"[job.metrics.m]\ndirection = \"max\"\n",
          "2:1: unknown key \"direction\" in [job.metrics]; did you mean \"better\"?"},
         {"[metrics.m]\nexpression = \"1\"\npattern = \"b\"\n",
          "3:1: unknown key \"pattern\" in [metrics]; it belongs in [job.metrics] or [[failure]]"},
         {"[sweep]\nmetric = \"loss\"\n", "2:1: unknown key \"metric\" in [sweep]; did you mean \"objective\"?"},
         {"[[fixture]]\nname = \"s\"\nstart = \"x\"\nready = { port = true, timeout = \"9s\" }\n",
          "4:24: unknown key \"timeout\" in [fixture.ready]; did you mean \"timeout\" in [[fixture]]?"},
         {"[retry]\noom_host = 2\n", "2:1: unknown key \"oom_host\" in [retry]; did you mean \"oom-host\"?"},
         {"[retry]\nLost = 2\n", "2:1: unknown key \"Lost\" in [retry]; did you mean \"lost\"?"},
         {"[search]\nmethod = \"grid\"\n", "2:1: unknown key \"method\" in [search]; did you mean \"strategy\"?"},
         {"[slurm]\ntime = \"1h\"\n", "2:1: unknown key \"time\" in [slurm]; did you mean \"timeout\" in [job]?"})

PROBLEMS(types__wrong__said_what_is_wanted,
         {"model = 3\n", "1:9: model must be a table or a list of tables, not an integer"},
         {"model = [{}, 1]\n", "1:14: model must be a table or a list of tables, but the list has an integer"},
         {"[job]\ncommand = 1\n", "2:11: command must be a string or a list of strings, not an integer"},
         {"[job]\ncommand = [\"a\", 1]\n",
          "2:17: command must be a string or a list of strings, but the list has an integer"},
         {"[sweep]\nseed = 1.0\n", "2:8: seed must be an integer, not a float"},
         {"[sweep]\nname = {}\n", "2:8: name must be a string, not a table"},
         {"[job]\njob_dir = \"yes\"\n", "2:11: job_dir must be true or false, not a string"},
         {"[job]\ntimeout = true\n", "2:11: timeout must be a string or an integer or a float, not a boolean"},
         {"[job]\nmetrics.m = 1\n", "2:13: m must be a table, not an integer"},
         {"[job]\nenv = { A = [] }\n",
          "2:13: A must be a string or an integer or a float or true or false, not a list"},
         {"[rule]\nname = \"x\"\n", "1:1: rule must be a list of tables, not a table"},
         {"[derive]\na.b = \"x\"\n", "2:1: a must be a string or an integer or a float or true or false, not a table"},
         {"[retry]\nlost = \"3\"\n", "2:8: lost must be an integer, not a string"},
         {"search = 1\n", "1:10: search must be a table, not an integer"},
         {"profile = 1\n", "1:11: profile must be a string or a list of strings, not an integer"})

PROBLEMS(sweep_table__bad_values__refused, {"[sweep]\nname = \" \"\n", "2:8: name is empty"},
         {"[sweep]\nobjective = \"tput\"\n",
          "2:13: objective: the direction of \"tput\" is missing; write \"max:tput\" or \"min:tput\""},
         {"[sweep]\nobjective = [\"min:a\", \"latencies\"]\n[job.metrics.latency]\n",
          "2:23: objective: there is no metric \"latencies\"; did you mean \"latency\"?"},
         {"[sweep]\nobjective = \"best:x\"\n", "2:13: objective: \"best:x\" must begin with \"max:\" or \"min:\""},
         {"[sweep]\nobjective = \"max:\"\n",
          "2:13: \"\" cannot be the name of a metric: use letters, digits, \"_\", \"-\", inner dots and slashes"},
         {"[sweep]\nobjective = [\"max:a\", \"min:a\"]\n", "2:23: objective: \"a\" is listed twice"},
         {"[sweep]\nnote = [\"a b\"]\n", "2:9: \"a b\" cannot be a key"},
         {"[sweep]\nnote = [\"ownr\"]\n[model]\nowner = 1\n",
          "2:9: no section has a key \"ownr\"; did you mean \"owner\"?"},
         {"[sweep]\nlist_values = [\"tokns\"]\n[model]\ntokens = [1]\n",
          "2:16: no section has a key \"tokns\"; did you mean \"tokens\"?"},
         {"[sweep]\ndisable_rules = [\"\"]\n",
          "2:18: \"\" cannot be the name of a rule: use letters, digits, \"_\", \"-\", inner dots and slashes"})

PROBLEMS(
    job__bad_values__refused, {"[job]\ncommand = []\n", "2:11: command is empty; give the program and its arguments"},
    {"[job]\ncommand = [\"\"]\n", "2:12: command is empty"}, {"[job]\ncommand = \" \"\n", "2:11: command is empty"},
    {"[job]\ncommand = [\"a\", \"{model.}\"]\n", "2:17: {model.} is not a placeholder: half of its name is missing"},
    {"[job]\ncwd = \"/x/{.tp}\"\n", "2:7: {.tp} is not a placeholder: half of its name is missing"},
    {"[job.env]\nX = \"{model.}\"\n", "2:5: {model.} is not a placeholder: half of its name is missing"},
    {"[job.env]\n\"A B\" = 1\n", "2:1: \"A B\" cannot be the name of an environment variable"},
    {"[job]\nsecrets = [\"A\", \"1\"]\n", "2:17: \"1\" cannot be the name of an environment variable"},
    {"[job]\ntimeout = \"10x\"\n", "2:11: timeout: \"10x\" is neither a duration (such as \"90s\" or \"1h30m\", at "
                                   "most 10 years) nor an expression"},
    {"[job]\nidle_timeout = \"5 minutes\"\n", "2:16: idle_timeout: \"5 minutes\" is neither a duration (such as "
                                              "\"90s\" or \"1h30m\", at most 10 years) nor an expression"},
    {"[job]\ntimeout = \"ten minutes\"\n", "2:11: timeout: \"ten minutes\" is neither a duration (such as \"90s\" "
                                           "or \"1h30m\", at most 10 years) nor an expression"},
    {"[job]\nstartup_timeout = -1\n", "2:19: startup_timeout: \"-1\" is neither a duration (such as \"90s\" or "
                                      "\"1h30m\", at most 10 years) nor an expression"},
    {"[job]\ntimeout = nan\n", "2:11: timeout must be finite"},
    {"[job]\nstartup_timeout = -inf\n", "2:19: startup_timeout must be finite"},
    {"[job]\ngrace = inf\n", "2:9: grace must be finite"}, {"[job.env]\nLR = nan\n", "2:6: LR must be finite"},
    {"[job]\ntimeout = \"\"\n", "2:11: timeout: \"\" is neither a duration (such as \"90s\" or \"1h30m\", at most "
                                "10 years) nor an expression"},
    {"[job]\ngrace = \"layers\"\n",
     "2:9: grace: \"layers\" is not a duration, such as \"5s\" or \"500ms\" (at most 10 years)"},
    {"[job]\nrepeat = 0\n", "2:10: repeat must be from 1 to 1000000, not 0"})

PROBLEMS(metrics__bad_values__refused,
         {"[job.metrics.m]\nregex = '[0-9]+'\n",
          "2:9: invalid regular expression: it needs a (group) that matches the number"},
         {"[job.metrics.m]\nregex = '(a'\n", "2:9: invalid regular expression: a (group) is not closed"},
         {"[job.metrics.m]\nregex = ''\n", "2:9: invalid regular expression: it is empty"},
         {"[job.metrics.m]\nregex = '(((a{999}){999}){999})'\n",
          "2:9: invalid regular expression: it is too long or repeats too often"},
         {"[job.metrics.m]\nregex = '(x)'\njson = \"a\"\n",
          "3:1: a metric can have only one reader, and regex is given already"},
         {"[job.metrics.m]\njson = \"a..b\"\n", "2:8: json must be a dotted path, such as \"results.0.value\""},
         {"[job.metrics.m]\njsonl = \"\"\n", "2:9: jsonl must be a dotted path, such as \"results.0.value\""},
         {"[job.metrics.m]\nfile = \"x\"\n", "2:1: file needs one of regex, key, json, jsonl and csv"},
         {"[job.metrics.m]\njson = \"a\"\nfile = \"../x\"\n", "3:8: file must be a path inside the job directory"},
         {"[job.metrics.m]\njson = \"a\"\nfile = \"a/..\"\n", "3:8: file must be a path inside the job directory"},
         {"[job.metrics.m]\njson = \"a\"\nfile = \"/x\"\n", "3:8: file must be a path inside the job directory"},
         {"[job.metrics.m]\nbetter = \"mx\"\n", "2:10: better must be \"max\" or \"min\"; did you mean \"max\"?"},
         {"[job.metrics.m]\nwarmup = -1\n", "2:10: warmup must be from 0 to 1000000000, not -1"},
         {"[job.metrics.m]\ntake = \"avg\"\n",
          "2:8: take must be \"median\", \"mean\", \"last\", \"max\", \"min\" or \"p90\""},
         {"[job.metrics]\n\"a b\" = {}\n",
          "2:1: \"a b\" cannot be the name of a metric: use letters, digits, \"_\", \"-\", inner dots and slashes"},
         {"[job.metrics.m]\nregex = \"(x)\"\nscale = 0\n", "3:9: scale must be a number above 0"},
         {"[job.metrics.m]\nscale = 2\n", "2:1: it needs one of regex, key, json, jsonl and csv"},
         {"[job.metrics.m]\nregex = \"(x)\"\nfallback = {}\n",
          "3:12: a fallback needs one of regex, key, json, jsonl and csv"})

PROBLEMS(search__bad_values__refused,
         {"[search]\norder = \"sideways\"\n", "2:9: order must be \"declared\", \"predicted\" or \"shuffled\""},
         {"[search]\nzero_stages = []\n", "2:15: zero_stages: the list is empty; give stages from 0 to 3"},
         {"[search]\nzero_stages = [1, 4]\n", "2:19: zero_stages: a ZeRO stage must be 0, 1, 2 or 3"},
         {"[search]\nequal_batch = 1\n", "2:15: equal_batch must be true or false, not an integer"},
         {"[search]\nmetric = \" \"\n", "2:10: [search] metric is empty"},
         {"[search]\nmetric = \"speed\"\n",
          "2:10: objective: the direction of \"speed\" is missing; write \"max:speed\" or \"min:speed\""},
         {"[search]\nrun_full_experiment = \"yes\"\n", "2:23: run_full_experiment must be true or false, not a string"},
         {"[search]\ndeadline = \"soon\"\n",
          "2:12: deadline: \"soon\" is not a duration, such as \"2h\", \"90m\" or seconds as a number"},
         {"[search]\nmax_trials = \"many\"\n", "2:14: max_trials must be an integer or a float, not a string"})

PROBLEMS(keys_about_keys__bad_values__refused, {"[inert]\na = \" \"\n[model]\na = 1\n", "2:5: a is empty"},
         {"[inert]\na.b = \"c = 1\"\n\"a.b\" = \"c = 2\"\n", "3:9: \"a.b\" is given twice (first on line 2)"},
         {"[synonym]\na.b = \"c\"\n\"a.b\" = \"d\"\n", "3:9: \"a.b\" is given twice (first on line 2)"},
         {"[predict.order]\nx = \"up\"\n", "2:5: x must be \"rises\", \"falls\", \"equal\" or \"any\""},
         {"[predict.order]\nx = [\"a\"]\n",
          "2:5: an order needs at least two values, from the one that needs least memory to the one that needs most"},
         {"[predict.order]\nx = [\"a\", [\"b\"]]\n",
          "2:11: a value of an order must be a string, a number or a boolean"},
         {"[predict.order]\nx = [\"a\", nan]\n", "2:11: a value of an order must be a string, a number or a boolean"},
         {"[predict.order]\nx = 1\n", "2:5: x must be a string or a table or a list, not an integer"},
         {"[predict.order]\nx = { when = \"y = 1\" }\n", "2:5: [predict.order] lacks \"order\""},
         {"[predict.order]\nx = { order = \"rises\", when = \" \" }\n", "2:31: when is empty"},
         {"[deepspeed]\nsections = [\" \"]\n", "2:13: sections is empty"})

PROBLEMS(executors__bad_values__refused,
         {"[slurm]\npartition = \"a\\nb\"\n", "2:13: partition must not contain a line break"},
         {"[slurm]\noptions = [\"--x\", \"a\\nb\"]\n", "2:19: options must not contain a line break"},
         {"[slurm]\nlauncher = [\" \"]\n", "2:13: launcher is empty"},
         {"[slurm]\ntimeout_factor = 0.5\n", "2:18: timeout_factor must be between 1 and 100"},
         {"[slurm]\npoll = \"1ms\"\n", "2:8: poll must be at least 100 ms"},
         {"[local]\ndevices = [0, \"GPU-1\", 0]\n", "2:24: devices: a device is listed twice"},
         {"[local]\ndevices = [\"GPU-1\", \"GPU-1\"]\n", "2:21: devices: a device is listed twice"},
         {"[local]\ndevices = [-1]\n", "2:12: devices: a device must be a number from 0, or a name such as \"GPU-…\""},
         {"[local]\ndevices = [\"0,1\"]\n",
          "2:12: devices: a device must be a number from 0, or a name such as \"GPU-…\""},
         {"[local]\ndevices = [0, true]\n", "2:15: devices: a device must be a number or a name such as \"GPU-…\""},
         {"[local]\ndevices = 2000\n", "2:11: devices must be from 0 to 1024, not 2000"},
         {"[local]\ndirty_memory = \"lots\"\n", "2:16: dirty_memory: \"lots\" is not a size, such as \"1GiB\""},
         {"[local]\nsample = \"often\"\n",
          "2:10: sample: \"often\" is not a duration, such as \"5s\" or \"500ms\" (at most 10 years)"})

PROBLEMS(rules__bad_values__refused, {"[[rule]]\nname = \"a\"\n", "1:1: [[rule]] lacks \"require\""},
         {"\n[[rule]]\nrequire = \"a\"\n", "2:1: [[rule]] lacks \"name\""},
         {"[[rule]]\nname = \"a\"\nrequire = \"\"\n", "3:11: require is empty"},
         {"[[rule]]\nname = \"a\"\nrequire = \"b\"\nwhen = \" \"\n", "4:8: when is empty"},
         {"[[rule]]\nname = \"a\"\nrequire = \"b\"\nlevel = \"wran\"\n",
          "4:9: level must be \"exclude\" or \"warn\"; did you mean \"warn\"?"},
         {"[[rule]]\nname = \"a\"\nrequire = \"b\"\n[[rule]]\nname = \"a\"\nrequire = \"c\"\n",
          "5:8: \"a\" is given twice (first on line 1)"},
         {"[derive]\na = \"1\"\nA = \"2\"\n", "3:5: \"A\" is given twice (first on line 2)"},
         {"[derive]\na = \"\"\n", "2:5: a is empty"},
         {"[derive]\n\"a b\" = \"1\"\n",
          "2:1: \"a b\" cannot be a key: use letters, digits, \"_\", \"-\" and inner dots, beginning with a letter"},
         {"[derive]\njob_dir = \"1\"\n",
          "2:1: \"job_dir\" cannot be a key: the placeholder {job_dir} has another meaning"},
         {"[derive]\nLayers = \"1\"\n[model]\nlayers = 1\n",
          "2:1: \"Layers\" is a derived key, but also a key of model (line 4); rename one"},
         {"[[failure]]\nclass = \"oom\"\npattern = \"[a\"\n",
          "3:11: invalid regular expression: a [bracket expression] is not closed"},
         {"[[failure]]\npattern = \"x\"\n", "1:1: [[failure]] lacks \"class\""},
         {"[retry]\nlost = 0\n", "2:8: lost must be from 1 to 1000, not 0"})

PROBLEMS(axes__bad_values__refused,
         {"[model]\na = []\n",
          "2:5: a: the list is empty, but an axis needs a value (for a list as a value, use list_values)"},
         {"[model]\na = [1, nan]\n", "2:9: a: NaN and infinity cannot be values of an axis"},
         {"[model]\na = -inf\n", "2:5: a: NaN and infinity cannot be values of an axis"},
         {"[model]\na = { b = [1, inf] }\n", "2:15: a: NaN and infinity cannot be values of an axis"},
         {"[model]\na = [2, 1, 2]\n", "2:12: a: 2 is listed twice"},
         {"[model]\na = [\"x\", \"x\"]\n", "2:11: a: \"x\" is listed twice"},
         {"[model]\na = [0.0, -0.0]\n", "2:11: a: 0.0 is listed twice"},
         {"[model]\na = [{x = 1, y = 2}, {y = 2, x = 1}]\n", "2:22: a: {\"x\":1,\"y\":2} is listed twice"},
         {"[cluster_spec]\ndevice_memory = [\"1GiB\", \"1024MiB\"]\n",
          "2:26: device_memory: 1073741824 is listed twice"},
         {"[cluster_spec]\ndevice_memory = \"80 Gigs\"\n",
          "2:17: device_memory: \"80 Gigs\" is not a size, such as \"80GiB\", \"24 MiB\" or bytes as a number"},
         {"[cluster_spec]\nx_bytes = false\n",
          "2:11: x_bytes must be a string or an integer or a float, not a boolean"},
         {"[model]\n\"a b\" = 1\n",
          "2:1: \"a b\" cannot be a key: use letters, digits, \"_\", \"-\" and inner dots, beginning with a letter"},
         {"[model]\n8bit = 1\n",
          "2:1: \"8bit\" cannot be a key: use letters, digits, \"_\", \"-\" and inner dots, beginning with a letter"},
         {"[model]\nattempt = 1\n", "2:1: \"attempt\" cannot be a key: the placeholder {attempt} has another meaning"},
         {"[model]\na.b = 1\n\"a.b\" = 2\n", "3:1: \"a.b\" is given twice in one block (first on line 2)"},
         {"[[model]]\nA = 1\n[[model]]\na = 1\n", "4:1: \"a\" differs from \"A\" (line 2) only in case"},
         {"[[model]]\nname = \"x\"\n[[model]]\nname = \"y\"\n[[model]]\nname = \"x\"\n",
          "6:1: the name \"x\" is given twice (first at s.toml:2)"})

PROBLEMS(ranges__bad__refused_and_no_constants, {"[model]\na = { from = 1 }\n", "2:5: a range lacks \"to\""},
         {"[model]\na = { to = 1 }\n", "2:5: a range lacks \"from\""},
         {"[model]\na = { from = 1, to = 2, stepp = 1 }\n",
          "2:25: unknown key \"stepp\" in a range; did you mean \"step\"?"},
         {"[model]\na = { from = \"1\", to = 2 }\n", "2:14: from must be an integer, not a string"},
         {"[model]\na = { from = 1.5, to = \"2\", step = 1 }\n",
          "2:24: to must be an integer or a float, not a string"},
         {"[model]\na = { from = 4, to = 1 }\n", "2:5: a: the range from 4 to 1 is empty"},
         {"[model]\na = { from = 4.5, to = 1, step = 1 }\n", "2:5: a: the range from 4.5 to 1 is empty"},
         {"[model]\na = { from = 1, to = 4, step = 0 }\n", "2:32: step must be at least 1, not 0"},
         {"[model]\na = { from = 1, to = 4, factor = 1 }\n", "2:34: factor must be at least 2, not 1"},
         {"[model]\na = { from = 1, to = 4, step = 1, factor = 2 }\n",
          "2:35: a range can have a step or a factor, but not both"},
         {"[model]\na = { from = 0, to = 4, factor = 2 }\n",
          "2:14: a range with a factor must begin at 1 or above, not at 0"},
         {"[model]\na = { from = 0.5, to = 4 }\n", "2:5: a: a range of reals needs a step or a factor"},
         {"[model]\na = { from = 0.5, to = 4, step = -0.5 }\n", "2:34: step must be above 0, not -0.5"},
         {"[model]\na = { from = 0.5, to = 4, factor = 0.5 }\n", "2:36: factor must be above 1, not 0.5"},
         {"[model]\na = { from = 0.0, to = 4, factor = 2 }\n",
          "2:14: a range of reals with a factor must begin above 0, not at 0"},
         {"[model]\na = { from = 0.5, to = inf, step = 1 }\n", "2:24: a: NaN and infinity cannot be values of an axis"},
         {"[model]\na = { from = 1, to = 2000000 }\n", "2:5: a: the range has more than a million values"},
         {"[model]\na = { from = 0.0, to = 1, step = 1e-9 }\n", "2:5: a: the range has more than a million values"},
         {"[model]\na = { from = 1.0, to = 1.00000000000001, step = 1e-16 }\n",
          "2:5: a: the step is too small: neighbouring values are equal in 15 digits"},
         {"[model]\na = [1, { from = 2, to = 4 }]\n",
          "2:9: a: a range cannot be an element of a list (for keys whose tables are values, see list_values)"},
         {"[model]\n\"(a, b)\" = [[1, { from = 2, to = 4 }]]\n",
          "2:17: b: a range cannot be an element of a list (for keys whose tables are values, see list_values)"},
         {"[model]\n\"(a, b)\" = { from = 2, to = 4 }\n", "2:12: (a, b) must be a list of lists of 2 values each"},
         {"[cluster_spec]\nnum_hosts = { from = 0, to = 4 }\n", "2:13: num_hosts must be an integer of at least 1"})

PROBLEMS(groups__bad_values__refused,
         {"[model]\n\"(a, b)\" = 3\n", "2:12: (a, b) must be a list of lists of 2 values each"},
         {"[model]\n\"(a, b)\" = []\n", "2:12: (a, b) must be a list of lists of 2 values each"},
         {"[model]\n\"(a, b)\" = [1, 2, 3]\n",
          "2:12: (a, b) ties 2 keys, so it needs a list of lists of 2 values each"},
         {"[model]\n\"(a, b)\" = [[1, 2], [3]]\n", "2:21: (a, b) ties 2 keys, but this has 1 values"},
         {"[model]\n\"(a, b)\" = [[1, 2], [1, 2]]\n", "2:21: (a, b): [1, 2] is listed twice"},
         {"[model]\n\"(a, a)\" = [[1, 2]]\n", "2:1: \"a\" is given twice in one block (first on line 2)"},
         {"[model]\n\"(a, b)\" = [[1, 2]]\nb = 1\n", "3:1: \"b\" is given twice in one block (first on line 2)"},
         {"[model]\n\"(a)\" = [1]\n", "2:1: (a): a tied group needs at least two keys"},
         {"[model]\n\"(a, b\" = [1]\n", "2:1: \"(a, b\" is not a tied group; write one as \"(a, b)\""},
         {"[model]\n\"(a,)\" = [1, 2]\n",
          "2:1: \"\" cannot be a key: use letters, digits, \"_\", \"-\" and inner dots, beginning with a letter"})

TEST(problems__many__all_at_once_in_order_of_the_text)
{
    assert_problems("[[rule]]\n"
                    "name = \"r\"\n"
                    "[job]\n"
                    "repeat = 0\n"
                    "timout = 1\n"
                    "[model]\n"
                    "b = [1, 1]\n"
                    "a = []\n"
                    "[sweep]\n"
                    "seed = \"x\"\n",
                    "s.toml:1:1: [[rule]] lacks \"require\"\n"
                    "s.toml:4:10: repeat must be from 1 to 1000000, not 0\n"
                    "s.toml:5:1: unknown key \"timout\" in [job]; did you mean \"timeout\"?\n"
                    "s.toml:7:9: b: 1 is listed twice\n"
                    "s.toml:8:5: a: the list is empty, but an axis needs a value (for a list as a value, use "
                    "list_values)\n"
                    "s.toml:10:8: seed must be an integer, not a string");
}

TEST(problems__thousands__first_ones_and_a_count)
{
    OWNED_BUFFER text = BUFFER_INIT;
    for (int i = 0; i < 3000; i++)
        buffer_printf(&text, "k%d = 1\n", i);
    struct error e = ERROR_INIT;
    struct sweep *s = NULL;
    assert_int_equal(sweep_parse("s.toml", buffer_text(&text), text.length, &s, &e), -1);
    static const char last[] = "s.toml:50:1: unknown key \"k49\" in the file\n… and 2950 more";
    assert_true(strlen(e.text) > sizeof last);
    assert_string_equal(e.text + strlen(e.text) - (sizeof last - 1), last);
}

TEST(problems__control_characters_and_long_keys__tidied)
{
    assert_problems("\"a\\u001b[31m\\n\" = 1\n", "s.toml:1:1: unknown key \"a?[31m?\" in the file");
    OWNED_BUFFER text = BUFFER_INIT;
    for (int i = 0; i < 1000; i++)
        buffer_add_text(&text, "k");
    buffer_add_text(&text, " = 1\n");
    struct error e = ERROR_INIT;
    struct sweep *s = NULL;
    assert_int_equal(sweep_parse("s.toml", buffer_text(&text), text.length, &s, &e), -1);
    assert_true(strlen(e.text) < 500);
    assert_string_equal(e.text + strlen(e.text) - strlen("kk…"), "kk…");
}

TEST(entries__too_many__refused_not_searched)
{
    OWNED_BUFFER text = BUFFER_INIT;
    buffer_add_text(&text, "[derive]\n");
    for (int i = 0; i <= 10000; i++)
        buffer_printf(&text, "k%d = 1\n", i);
    assert_problems(buffer_text(&text), "s.toml:1:2: more than 10000 derived keys");
}

TEST(failure_classes__unknown__all_of_them_said)
{
    OWNED_BUFFER keys = BUFFER_INIT, choices = BUFFER_INIT;
    for (int i = 1; i <= FAILURE_DECLARABLE_COUNT; i++) {
        buffer_printf(&keys, "%s, ", failure_names[i]);
        buffer_printf(&choices, "%s\"%s\"",
                      i == 1                          ? ""
                      : i == FAILURE_DECLARABLE_COUNT ? " or "
                                                      : ", ",
                      failure_names[i]);
    }
    char *unknown = xasprintf("s.toml:2:1: unknown key \"cancelled\" in [retry]; its keys are %sbackoff, backoff_max, "
                              "changed, place",
                              keys.data);
    char *near = xasprintf("s.toml:2:9: class must be %s; did you mean \"oom\"?", choices.data);
    assert_problems("[retry]\ncancelled = 2\n", unknown);
    assert_problems("[[failure]]\nclass = \"oomm\"\npattern = \"x\"\n", near);
    free_all(unknown, near);
}
