def __init__(opts): raise ValueError('x')


def run():
    return 1
