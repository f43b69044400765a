"""Configuration: flags and files to settings, settings to a frozen plan, and back to YAML without secrets."""

from wholecurve.config.dump import FILES_VARIABLE, dump_settings
from wholecurve.config.files import ConfigFile, parse_config, read_config
from wholecurve.config.flags import (
    COMMAND_FLAGS,
    FLAG_OF,
    FLAGS,
    RunFlags,
    SharedFlags,
    SweepFlags,
    origins_of,
    settings_from,
)
from wholecurve.config.interpolate import interpolate
from wholecurve.config.place import CurvePlace, rules_of, rules_plan
from wholecurve.config.redact import secret_name, url_shown
from wholecurve.config.resolve import Resolved, resolve
from wholecurve.config.salt import salt_of
from wholecurve.config.schema import Settings, SyntheticSettings
from wholecurve.config.workers import default_workers
from wholecurve.config.yaml_source import read_yaml

__all__ = [
    "COMMAND_FLAGS",
    "FILES_VARIABLE",
    "FLAGS",
    "FLAG_OF",
    "ConfigFile",
    "CurvePlace",
    "Resolved",
    "RunFlags",
    "Settings",
    "SharedFlags",
    "SweepFlags",
    "SyntheticSettings",
    "default_workers",
    "dump_settings",
    "interpolate",
    "origins_of",
    "parse_config",
    "read_config",
    "read_yaml",
    "resolve",
    "rules_of",
    "rules_plan",
    "salt_of",
    "secret_name",
    "settings_from",
    "url_shown",
]
