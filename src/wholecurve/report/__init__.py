"""Reports of one phase and of a whole curve: plain text, a terminal, one offline HTML page, a picture."""

from wholecurve.report.campaign_html import campaign_html
from wholecurve.report.campaign_terminal import show_campaign
from wholecurve.report.campaign_text import campaign_text
from wholecurve.report.campaign_view import CampaignFiles, CampaignView, campaign_view, view_of
from wholecurve.report.html import report_html
from wholecurve.report.plot import plot_text
from wholecurve.report.png import curve_png, curve_svg
from wholecurve.report.terminal import show
from wholecurve.report.text import report_text

__all__ = [
    "CampaignFiles",
    "CampaignView",
    "campaign_html",
    "campaign_text",
    "campaign_view",
    "curve_png",
    "curve_svg",
    "plot_text",
    "report_html",
    "report_text",
    "show",
    "show_campaign",
    "view_of",
]
