"""Says of each line of standard input, a ds_config, whether DeepSpeed's own classes take it: "yes" or "no"."""

import json
import logging
import sys

from deepspeed.runtime.config import DeepSpeedConfig

logging.disable(logging.CRITICAL)
for line in sys.stdin:
    try:
        DeepSpeedConfig(json.loads(line))
        print("yes")
    except Exception as error:
        print("no")
        print(type(error).__name__, str(error).replace("\n", " ")[:160], file=sys.stderr)
