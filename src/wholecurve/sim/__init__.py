"""A simulated endpoint: continuous batching over real HTTP, with faults on demand and a log of the true times."""

from wholecurve.sim.faults import FAULT_FIELD, FAULT_HEADER, FAULTS, Fault, FaultKind, FaultShare, parse_fault
from wholecurve.sim.http1 import BadRequest, HttpRequest, RequestParser
from wholecurve.sim.known import read_answers
from wholecurve.sim.model import Engine, Job, Step
from wholecurve.sim.options import REASONING_FIELDS, SimOptions, profile_named
from wholecurve.sim.pace import Pace
from wholecurve.sim.process import RunningSim, serve, start
from wholecurve.sim.profiles import PROFILES, EngineProfile
from wholecurve.sim.stamps import ANCILLARY_BYTES, Waiter, arrival_ns, enable_stamps
from wholecurve.sim.truthlog import TRUTH_SCHEMA, TruthLine, TruthWriter, read_truth
from wholecurve.sim.words import WORDS

__all__ = [
    "ANCILLARY_BYTES",
    "FAULTS",
    "FAULT_FIELD",
    "FAULT_HEADER",
    "PROFILES",
    "REASONING_FIELDS",
    "TRUTH_SCHEMA",
    "WORDS",
    "BadRequest",
    "Engine",
    "EngineProfile",
    "Fault",
    "FaultKind",
    "FaultShare",
    "HttpRequest",
    "Job",
    "Pace",
    "RequestParser",
    "RunningSim",
    "SimOptions",
    "Step",
    "TruthLine",
    "TruthWriter",
    "Waiter",
    "arrival_ns",
    "enable_stamps",
    "parse_fault",
    "profile_named",
    "read_answers",
    "read_truth",
    "serve",
    "start",
]
