def __virtual__(): raise ValueError('in it')


def run():
    return 1
