def __virtual__():
    return False, "The refused module wants a machine of another kind"


def run():
    return True
