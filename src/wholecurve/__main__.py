"""`python -m wholecurve` is the console command `wholecurve`."""

from wholecurve.cli import entry

entry()
