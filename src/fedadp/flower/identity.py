"""Flower's node ids have 64 bits without a sign; a cohort's have one."""

from __future__ import annotations


def house_id(node_id: int) -> int:
    """A node's name in a cohort.

    >>> house_id(7), house_id(2**64 - 1)
    (7, -1)
    """
    return node_id - 2**64 if node_id >= 2**63 else node_id


def flower_id(node: int) -> int:
    """And back.

    >>> flower_id(house_id(2**63 + 5)) == 2**63 + 5
    True
    """
    return node % 2**64
