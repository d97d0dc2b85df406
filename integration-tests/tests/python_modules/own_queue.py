"""
A backend of queues of users.
"""


def insert(queue, items):
    return [queue, items]


def pop(queue, quantity=1, is_runner=False):
    return [queue, quantity, is_runner]


def list_queues():
    return ["a", "b"]


def list_length(queue):
    return 7
