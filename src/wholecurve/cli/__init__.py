"""The commands: words, screens and exit codes. Everything they do is done by the packages below."""

from wholecurve.cli.main import COMMANDS, EXIT_CODES, entry

__all__ = ["COMMANDS", "EXIT_CODES", "entry"]
