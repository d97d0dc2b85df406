def run():
    return "".join("line %d of %s\n" % (n, grains["id"]) for n in range(context["count"]))
