"""The protocol: feed a stream to a learner, evaluate when due, and keep every row."""

from recollect.protocol.loop import Place, iter_protocol, spread
from recollect.protocol.saved import describe, iter_run, run_protocol

__all__ = ["Place", "describe", "iter_protocol", "iter_run", "run_protocol", "spread"]
