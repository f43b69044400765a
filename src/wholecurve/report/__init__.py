"""Reports of one phase, from its summary and records: plain text, a terminal, one offline HTML page."""

from wholecurve.report.html import report_html
from wholecurve.report.terminal import show
from wholecurve.report.text import report_text

__all__ = ["report_html", "report_text", "show"]
