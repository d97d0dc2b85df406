import sys; sys.exit(3)


def run():
    return 1
