"""Whether DeepSpeed's own configuration classes take a ds_config, for as many as there are lines, and what they say."""
import json
import logging
import sys

from deepspeed.runtime.config import DeepSpeedConfig

logging.disable(logging.CRITICAL)


def verdict(config):
    try:
        DeepSpeedConfig(config)
    except Exception as refusal:  # pylint: disable=broad-except
        return f"refuses {type(refusal).__name__}: {str(refusal)[:200]!r}"
    return "takes"


with open(sys.argv[1], encoding="utf-8") as configs, open(sys.argv[2], "w", encoding="utf-8") as verdicts:
    for line in configs:
        print(verdict(json.loads(line)), file=verdicts)
