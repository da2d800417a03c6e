"""One file per runtime; each turns parameters, instructions and nodes into a cohort."""

from fedadp.engines.batched import Batched
from fedadp.engines.sequential import Sequential
from fedadp.engines.threads import Threads

__all__ = ["Batched", "Sequential", "Threads"]
