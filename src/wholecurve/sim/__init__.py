"""A simulated endpoint: continuous batching over real HTTP, with faults on demand and a log of the true times."""

from wholecurve.sim.http1 import BadRequest, HttpRequest, RequestParser

__all__ = ["BadRequest", "HttpRequest", "RequestParser"]
