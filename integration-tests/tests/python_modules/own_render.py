"""
A renderer of users.
"""
from io import StringIO


def render(data, saltenv="base", sls="", argline="", **kws):
    text = data.read()
    if "fail" in text:
        raise ValueError("it fails")
    return StringIO(text.replace("@@", "-".join([saltenv, sls, argline, str("tmplpath" in kws)])))
