"""The system behind an endpoint: captured on its hosts, merged with what the submitter says, held to the rules.

captures = [capture(), read_capture(data, name), ...]
description = merge(captures, read_submitted(yaml, name, rules), rules); missing(description, rules)
"""

from wholecurve.describe.capture import CAPTURE_SCHEMA, Capture, capture, capture_document
from wholecurve.describe.capture_file import read_capture
from wholecurve.describe.endpoint import served_fields
from wholecurve.describe.merging import merge, reasons_of
from wholecurve.describe.submitted import read_submitted
from wholecurve.describe.tree import run_tool
from wholecurve.describe.wanting import LATER, Missing, missing, template

__all__ = [
    "CAPTURE_SCHEMA",
    "LATER",
    "Capture",
    "Missing",
    "capture",
    "capture_document",
    "merge",
    "missing",
    "read_capture",
    "read_submitted",
    "reasons_of",
    "run_tool",
    "served_fields",
    "template",
]
