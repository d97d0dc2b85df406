"""
A serializer of users.
"""


def serialize(obj, **options):
    return "%r %r\n" % (sorted(obj), options)


def deserialize(text, **options):
    return {"text": text, "options": options}
