import sys, io, tarfile, hashlib
src = tarfile.open(fileobj=io.BytesIO(sys.stdin.buffer.read()))
out = io.BytesIO(); dst = tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT)
for m in src:
    data = src.extractfile(m).read() if m.isfile() else None
    m.pax_headers = {"APK-TOOLS.checksum.SHA1": hashlib.sha1(data).hexdigest()} if data is not None else {}
    m.mtime = 1700000000
    dst.addfile(m, io.BytesIO(data) if data is not None else None)
dst.close(); sys.stdout.buffer.write(out.getvalue())
