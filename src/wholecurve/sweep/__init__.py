"""The sweep: which levels are measured, in which order, for how long; the campaign that survives a crash.

It never imports what measures: the caller passes a `Bench`. A sweep goes: `open_journal`, `begin` (or `resume`),
`run_search` unless C_max is given, `choose_levels` or `take_levels`, `estimate`, `measuring_order`, a `CampaignPlan`,
`save_plan`, `run_campaign`.
"""

from wholecurve.sweep.bench import RESULT_FILE, Bench, Facts, Live, PointOrder, PointOutcome, SweepView
from wholecurve.sweep.campaign import (
    CAMPAIGN_SCHEMA,
    PLAN_FILE,
    CampaignPlan,
    begin,
    load_plan,
    plan_from_text,
    plan_text,
    resume,
    save_plan,
    seal_plan,
)
from wholecurve.sweep.differences import Conditions, differences, endpoint_changes, fact_changes
from wholecurve.sweep.estimate import Estimate, Span, Work, estimate, rates_at
from wholecurve.sweep.find import SearchBench, run_search, trials_of
from wholecurve.sweep.journal import JOURNAL_FILE, Journal, JournalText, open_journal, read_journal
from wholecurve.sweep.knee import Known, knee_of
from wholecurve.sweep.levels import (
    OFFLINE_LABEL,
    Level,
    Levels,
    OfflineChoice,
    choose_levels,
    fewest_levels,
    take_levels,
)
from wholecurve.sweep.order import Slot, measuring_order, slot_of
from wholecurve.sweep.points import parse_points
from wholecurve.sweep.runner import CampaignOutcome, run_campaign
from wholecurve.sweep.search import (
    GROWTH,
    Found,
    Trial,
    TrialStop,
    check_found,
    known_of,
    next_trial,
    trial_faults,
    trial_stop,
)
from wholecurve.sweep.state import SlotState, Standing, stand, todo
from wholecurve.sweep.watch import CampaignState, Stopped, Surroundings, stopped_by_user

__all__ = [
    "CAMPAIGN_SCHEMA",
    "GROWTH",
    "JOURNAL_FILE",
    "OFFLINE_LABEL",
    "PLAN_FILE",
    "RESULT_FILE",
    "Bench",
    "CampaignOutcome",
    "CampaignPlan",
    "CampaignState",
    "Conditions",
    "Estimate",
    "Facts",
    "Found",
    "Journal",
    "JournalText",
    "Known",
    "Level",
    "Levels",
    "Live",
    "OfflineChoice",
    "PointOrder",
    "PointOutcome",
    "SearchBench",
    "Slot",
    "SlotState",
    "Span",
    "Standing",
    "Stopped",
    "Surroundings",
    "SweepView",
    "Trial",
    "TrialStop",
    "Work",
    "begin",
    "check_found",
    "choose_levels",
    "differences",
    "endpoint_changes",
    "estimate",
    "fact_changes",
    "fewest_levels",
    "knee_of",
    "known_of",
    "load_plan",
    "measuring_order",
    "next_trial",
    "open_journal",
    "parse_points",
    "plan_from_text",
    "plan_text",
    "rates_at",
    "read_journal",
    "resume",
    "run_campaign",
    "run_search",
    "save_plan",
    "seal_plan",
    "slot_of",
    "stand",
    "stopped_by_user",
    "take_levels",
    "todo",
    "trial_faults",
    "trial_stop",
    "trials_of",
]
