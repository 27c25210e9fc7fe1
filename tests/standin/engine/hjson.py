"""The part of hjson that DeepSpeed uses, where a ds_config is plain JSON. Debian has no package of it."""

from json import dumps, load, loads  # noqa: F401
