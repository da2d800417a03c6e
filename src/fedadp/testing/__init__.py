"""The exams that every strategy and every engine takes, for yours as well."""

from fedadp.testing.engines import ENGINE_EXAM, check_engine
from fedadp.testing.strategies import STRATEGY_EXAM, check_strategy

__all__ = ["ENGINE_EXAM", "STRATEGY_EXAM", "check_engine", "check_strategy"]
