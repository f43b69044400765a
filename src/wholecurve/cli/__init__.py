"""The commands: words, screens and exit codes. Everything they do is done by the packages below."""
