"""What the big tree takes as given: packages and a repository of them, wheels,
archives, a git repository, files. Made anew for each run, the same each time,
once for both sides.

    python fixtures.py DIRECTORY
"""

import hashlib
import io
import os
import subprocess
import sys
import tarfile
import zipfile

import yaml

# Everything is as old as this.
THEN = 1_600_000_000

PACKAGES = [
    # name, version, depends
    ("big-tree-base", "1.0", ""),
    ("big-tree-tool", "1.0-1", ""),
    ("big-tree-tool", "1.2-1", ""),
    ("big-tree-tool", "2.0-1", ""),
    ("big-tree-app", "3.1", "big-tree-base (>= 1.0)"),
    ("big-tree-held", "1.0", ""),
    ("big-tree-held", "1.1", ""),
    ("big-tree-old", "0.9", ""),
    ("big-tree-gone", "0.9", ""),
    ("big-tree-purged", "0.9", ""),
    ("big-tree-file", "5.0", ""),
    ("big-tree-lib", "1:2.4-3", ""),
    ("big-tree-one", "1.0", ""),
    ("big-tree-two", "1.0", ""),
    ("big-tree-three", "1.0", ""),
    ("big-tree-four", "1.0", ""),
    ("big-tree-four", "1.4", ""),
    ("big-tree-four", "2.0", ""),
    ("big-tree-five", "1.0", ""),
    ("big-tree-five", "1.3", ""),
    ("big-tree-five", "2.2", ""),
    ("big-tree-newer", "1.2", ""),
    ("big-tree-again", "1.0", ""),
    ("big-tree-held-before", "1.0", ""),
    ("big-tree-held-before", "1.1", ""),
    ("big-tree-held-before2", "1.0", ""),
    ("big-tree-held-before2", "1.1", ""),
    ("big-tree-absent", "1.0", ""),
    ("big-tree-upgraded", "1.0", ""),
    ("big-tree-upgraded", "1.5", ""),
    ("big-tree-file2", "5.0", ""),
    ("big-tree-versioned", "1.0", ""),
    ("big-tree-removed", "1.0", ""),
    ("big-tree-purged2", "1.0", ""),
]


def write(path, content, mode=0o644):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as out:
        out.write(content if isinstance(content, bytes) else content.encode())
    os.chmod(path, mode)
    os.utime(path, (THEN, THEN))


def run(*command, **more):
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, **more)


def packages(home):
    """Packages with a program and a file of settings each, and a repository."""
    repo = f"{home}/repo"
    listing = ""
    for name, version, depends in PACKAGES:
        build = f"{home}/build"
        write(f"{build}/usr/bin/{name}", f"#!/bin/sh\necho {name} {version}\n", 0o755)
        write(f"{build}/etc/{name}.conf", f"version = {version}\n")
        control = (
            f"Package: {name}\nVersion: {version}\nArchitecture: all\n"
            "Maintainer: Big Tree <tree@example.com>\nSection: misc\nPriority: optional\n"
            + (f"Depends: {depends}\n" if depends else "")
            + f"Description: {name} of the big tree\n"
        )
        write(f"{build}/DEBIAN/control", control)
        write(f"{build}/DEBIAN/conffiles", f"/etc/{name}.conf\n")
        if name == "big-tree-app":
            question = "Template: big-tree-app/port\nType: string\nDefault: 80\nDescription: Port?\n"
            write(f"{build}/DEBIAN/templates", question)
        file = f"{name}_{version.replace(':', '%3a')}_all.deb"
        os.makedirs(repo, exist_ok=True)
        run("dpkg-deb", "--root-owner-group", "-Znone", "-b", build, f"{repo}/{file}")
        run("rm", "-r", build)
        with open(f"{repo}/{file}", "rb") as read:
            content = read.read()
        listing += control + (
            f"Filename: ./{file}\nSize: {len(content)}\n"
            f"SHA256: {hashlib.sha256(content).hexdigest()}\n\n"
        )
    release(repo, listing)
    release(f"{home}/old-repo", "")


def release(repo, listing):
    """The files that make a directory a repository."""
    write(f"{repo}/Packages", listing)
    digest = hashlib.sha256(listing.encode()).hexdigest()
    text = (
        "Origin: Big Tree\nLabel: Big Tree\nSuite: stable\nCodename: tree\n"
        "Date: Sun, 13 Sep 2020 12:26:40 UTC\nArchitectures: all amd64 arm64\n"
        f"SHA256:\n {digest} {len(listing)} Packages\n"
    )
    write(f"{repo}/Release", text)


def wheel(home, name, version, code):
    """A wheel of one module."""
    info = f"{name}-{version}.dist-info"
    files = {
        f"{name}.py": code,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    files[f"{info}/RECORD"] = "".join(f"{path},,\n" for path in [*files, f"{info}/RECORD"])
    os.makedirs(f"{home}/wheels", exist_ok=True)
    with zipfile.ZipFile(f"{home}/wheels/{name}-{version}-py3-none-any.whl", "w") as archive:
        for path, text in files.items():
            archive.writestr(zipfile.ZipInfo(path, (2020, 9, 13, 12, 26, 40)), text)


def entries():
    """What is in the archives: name, kind, mode, content."""
    yield "app-1.0", tarfile.DIRTYPE, 0o755, b""
    yield "app-1.0/README", tarfile.REGTYPE, 0o644, b"read me\n"
    yield "app-1.0/bin", tarfile.DIRTYPE, 0o755, b""
    yield "app-1.0/bin/app", tarfile.REGTYPE, 0o755, b"#!/bin/sh\necho app\n"
    yield "app-1.0/private", tarfile.REGTYPE, 0o600, b"secret\n"
    yield "app-1.0/etc", tarfile.DIRTYPE, 0o750, b""
    yield "app-1.0/etc/app.conf", tarfile.REGTYPE, 0o640, b"a = 1\n"
    yield "app-1.0/current", tarfile.SYMTYPE, 0o777, b"bin/app"


def archives(home):
    """One tree in archives of each type, and one without a directory of its own."""
    made = {}
    for kind in ("", "gz", "bz2", "xz"):
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode=f"w:{kind}") as archive:
            for name, type_, mode, content in entries():
                info = tarfile.TarInfo(name)
                info.type, info.mode, info.mtime = type_, mode, THEN
                if type_ == tarfile.SYMTYPE:
                    info.linkname = content.decode()
                else:
                    info.size = len(content)
                archive.addfile(info, io.BytesIO(content))
        made[f"app.tar.{kind}".rstrip(".")] = out.getvalue()
    for file, loose in (("app.zip", False), ("loose.zip", True)):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, type_, mode, content in entries():
                if type_ == tarfile.SYMTYPE or (loose and type_ == tarfile.DIRTYPE):
                    continue
                name = name.removeprefix("app-1.0/") if loose else name
                name = name + "/" * (type_ == tarfile.DIRTYPE)
                info = zipfile.ZipInfo(name, (2020, 9, 13, 12, 26, 40))
                info.external_attr = (mode | (0o40000 if name.endswith("/") else 0o100000)) << 16
                archive.writestr(info, content)
        made[file] = out.getvalue()
    sums = ""
    for file, content in sorted(made.items()):
        write(f"{home}/archives/{file}", content)
        sums += f"{hashlib.sha256(content).hexdigest()}  {file}\n"
    write(f"{home}/archives/SHA256SUMS", sums)


def repository(home):
    """A bare git repository: two branches, a tag, three commits."""
    work = f"{home}/git-work"
    env = {
        **os.environ,
        "GIT_CONFIG_NOSYSTEM": "1",
        "HOME": home,
        "GIT_AUTHOR_DATE": f"{THEN} +0000",
        "GIT_COMMITTER_DATE": f"{THEN} +0000",
    }
    for who in ("AUTHOR", "COMMITTER"):
        env[f"GIT_{who}_NAME"], env[f"GIT_{who}_EMAIL"] = "Big Tree", "tree@example.com"

    def git(*args):
        run("git", "-C", work, *args, env=env)

    os.makedirs(work)
    git("init", "-q", "-b", "main")
    write(f"{work}/README", "one\n")
    git("add", ".")
    git("commit", "-qm", "one")
    git("tag", "-a", "-m", "v1", "v1.0")
    write(f"{work}/README", "two\n")
    write(f"{work}/bin/tool", "#!/bin/sh\n", 0o755)
    git("add", ".")
    git("commit", "-qm", "two")
    git("checkout", "-qb", "next")
    write(f"{work}/NEXT", "next\n")
    git("add", ".")
    git("commit", "-qm", "three")
    git("checkout", "-q", "main")
    run("git", "clone", "-q", "--bare", work, f"{home}/project.git", env=env)
    run("rm", "-r", work)


def files(home):
    """Files that are copied whole."""
    write(f"{home}/blob.bin", bytes(range(256)) * 300)
    write(f"{home}/changes.patch", "--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n")
    for number in range(12):
        mode = 0o755 if number % 3 == 0 else 0o640
        write(f"{home}/many/{number % 4}/file-{number}", f"number {number}\n", mode)
    os.makedirs(f"{home}/many/empty")
    os.symlink("../1/file-1", f"{home}/many/2/link")
    write(f"{home}/many/.hidden", "hidden\n")
    write(f"{home}/many/3/skip.bak", "skipped\n")


def bad(home):
    """What is too large for a disk that is nearly full."""
    large = "a line of the large file\n" * 20000
    write(f"{home}/bad/large", large)
    write(f"{home}/bad/folder/large", large)
    run("tar", "-cf", f"{home}/bad/large.tar", "-C", f"{home}/bad/folder", "large")


def given(path, has):
    """What a case of the arguments finds: a text, a link, or a directory."""
    if isinstance(has, dict):
        os.makedirs(path)
        for name, inner in has.items():
            given(f"{path}/{name}", inner)
    elif has.startswith("-> "):
        os.symlink(has.removeprefix("-> "), path)
    else:
        write(path, has)


def arguments(home):
    """What the cases of `states/arguments` find. Not below the files of the
    master: there are links in it that lead round in circles."""
    tree = os.path.dirname(home)
    for name in sorted(os.listdir(f"{tree}/states/arguments")):
        if not name.endswith(".yaml"):
            continue
        with open(f"{tree}/states/arguments/{name}", encoding="utf-8") as read:
            functions = yaml.safe_load(read)
        for function, cases in functions.items():
            here = f"{tree}/given/{function}"
            os.makedirs(here, exist_ok=True)
            for case, asked in cases.items():
                if "has" in asked:
                    given(f"{here}/{case}", asked["has"])


def main(home):
    os.umask(0o022)
    packages(home)
    wheel(home, "big_tree_wheel", "1.0", "VALUE = 1\n")
    wheel(home, "big_tree_wheel", "1.1", "VALUE = 2\n")
    wheel(home, "big_tree_other", "0.3", "VALUE = 3\n")
    archives(home)
    repository(home)
    files(home)
    bad(home)
    arguments(home)


main(os.path.abspath(sys.argv[1]))
