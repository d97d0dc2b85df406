def __virtual__():
    return False


def run():
    return True
