"""wholecurve measures a served LLM endpoint under load and tells how far its own figures can be trusted."""

__version__ = "0.1.0"
