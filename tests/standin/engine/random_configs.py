"""Random ds_configs, one a line: values by the types of configs/knowledge/words.toml, one in eight of another type."""
import json
import random
import sys
import tomllib

RELEASE = tuple(int(part) for part in sys.argv[2].split("."))
WRONG = [True, False, None, 0, 1, 1.0, 2.5, -1, 3.0, "", "perhaps", "false", "5e8", "7", "auto", {}]
# Their meaning depends on others: tests/unit/test_deepspeed_rules.c has the rules.
APART = ("elasticity", "compression_training", "sparse_attention", "data_efficiency", "curriculum_learning",
         "weight_quantization", "progressive_layer_drop", "amp", "bfloat16", "autotuning", "quantize_training",
         "legacy_stage1", "ratio", "mics_", "hpz", "fp16_master", "max_grad_norm", "train_batch_size", "use_gds")


def is_there(row):
    return tuple(int(part) for part in row.get("since", "0.0").split(".")) <= RELEASE


def of_type(row, rng):
    if "words" in row:
        return rng.choice(row["words"])
    return {
        "int": lambda: row.get("from", 0) + rng.randint(1, 3) if "from" in row else rng.randint(1, 3),
        "float": lambda: rng.choice([0, 0.5, 1]),
        "bool": lambda: rng.random() < 0.5,
        "str": lambda: "name",
        "list": lambda: [],
        "table": dict,
        "any": dict,
    }[row["is"]]()


def put(config, key, value):
    *way, last = key.split(".")
    for name in way:
        config = config.setdefault(name, {})
        if not isinstance(config, dict):
            return
    config.setdefault(last, value)


def main():
    rng = random.Random(20260801)
    with open(sys.argv[1], "rb") as words:
        rows = tomllib.load(words)["ds_config"]["keys"]
    rows = {k: r for k, r in rows.items() if is_there(r) and r["is"] != "any" and not any(a in k for a in APART)}
    for _ in range(int(sys.argv[3])):
        config = {}
        for key in rng.sample(sorted(rows), rng.randint(1, 10)):
            value = rng.choice(WRONG) if rng.random() < 0.125 else of_type(rows[key], rng)
            if value != "auto" or "fails" not in rows[key]: # the script's to fill in
                put(config, key, value)
        config.setdefault("train_micro_batch_size_per_gpu", 1)
        # Both are never on by chance alone.
        if isinstance(config.get("bf16"), dict) and "fp16" in config:
            config["bf16"].pop("enabled", None)
        print(json.dumps(config))


main()
