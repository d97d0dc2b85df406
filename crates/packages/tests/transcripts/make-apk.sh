#!/bin/sh
# Makes the packages and repositories of the transcripts in $PACKAGES.
set -e
W=$PACKAGES; rm -rf $W; mkdir -p $W/one/x86_64 $W/two/x86_64; cd $W
openssl genrsa -out k.rsa 2048 2>/dev/null; openssl rsa -in k.rsa -pubout -out halite.rsa.pub 2>/dev/null
sign() { # file: data gz -> signed
openssl dgst -sha1 -sign k.rsa -out .SIGN.RSA.halite.rsa.pub $1; tar --format=ustar --owner=0 --group=0 --numeric-owner -cf - .SIGN.RSA.halite.rsa.pub | python3 -c 'import sys;d=sys.stdin.buffer.read().rstrip(b"\0");n=-len(d)%512;sys.stdout.buffer.write(d+b"\0"*n)' | gzip -n > sig.gz; cat sig.gz $1 > $2; rm .SIGN* sig.gz; }
mk() { # name version depend dir
rm -rf b; mkdir -p b/opt/$1 b/etc; echo $2 > b/opt/$1/version; echo a=1 > b/etc/$1.conf
(cd b; tar --format=pax --owner=0 --group=0 --numeric-owner -cf - opt etc | python3 $(dirname "$0")/apk-checksums.py | gzip -n > ../data.gz)
H=$(sha256sum data.gz | cut -d' ' -f1)
cat > .PKGINFO <<S
pkgname = $1
pkgver = $2
pkgdesc = A small package named $1
url = https://example.org/$1
builddate = 1700000000
packager = Someone <some@example.org>
size = 1024
arch = noarch
origin = $1
license = MIT
${3:+depend = $3}
datahash = $H
S
sed -i '/^$/d' .PKGINFO
tar --format=ustar --owner=0 --group=0 --numeric-owner -cf - .PKGINFO | python3 -c 'import sys;d=sys.stdin.buffer.read().rstrip(b"\0");n=-len(d)%512;sys.stdout.buffer.write(d+b"\0"*n)' | gzip -n > control.gz
sign control.gz sc.gz; cat sc.gz data.gz > $4/$1-$2.apk; }
mk pear 1.0-r0 "" one/x86_64; mk plum 1.0-r0 pear one/x86_64; mk fig 1.2-r3 "" one/x86_64; mk nut 1.0-r0 "" one/x86_64; mk hazel 1.0-r0 "" .
mk pear 2.0-r0 "" two/x86_64; mk fig 1.3-r1 "" two/x86_64
for d in one two; do (cd $d/x86_64; apk index --allow-untrusted --rewrite-arch x86_64 -o ../../i.tgz *.apk); sign i.tgz $d/x86_64/APKINDEX.tar.gz; done; ls -R one two
