import no_such_module_at_all


def run():
    return True
