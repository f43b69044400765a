"""From files to curves: run folders, campaigns and curve.json as points and curves of the model, and back to files."""

from wholecurve.results.campaign import (
    CAMPAIGN_SCHEMA,
    Campaign,
    is_begun,
    is_campaign,
    load_begun,
    load_campaign,
    run_folders,
    write_curve,
)
from wholecurve.results.document import CURVE_SCHEMA, curve_document, curve_from_document
from wholecurve.results.find import FoundCurves, description_beside, distinct, find_curves, load_curves, moved, renamed
from wholecurve.results.point import LOCAL, point_of_run
from wholecurve.results.repeats import with_repeats

__all__ = [
    "CAMPAIGN_SCHEMA",
    "CURVE_SCHEMA",
    "LOCAL",
    "Campaign",
    "FoundCurves",
    "curve_document",
    "curve_from_document",
    "description_beside",
    "distinct",
    "find_curves",
    "is_begun",
    "is_campaign",
    "load_begun",
    "load_campaign",
    "load_curves",
    "moved",
    "point_of_run",
    "renamed",
    "run_folders",
    "with_repeats",
    "write_curve",
]
