#!/bin/sh
# Makes the packages and repositories of the transcripts in $PACKAGES.
set -e
W=$PACKAGES; rm -rf $W; mkdir -p $W/one $W/two; cd $W
mk() { # name version depend dir group
rm -rf b; mkdir -p b/opt/$1 b/etc; echo $2 > b/opt/$1/version; echo a=1 > b/etc/$1.conf
cat > b/.PKGINFO <<S
pkgname = $1
pkgbase = $1
pkgver = $2
pkgdesc = A small package named $1
url = https://example.org/$1
builddate = 1700000000
packager = Someone <some@example.org>
size = 1024
arch = any
license = MIT
${3:+depend = $3}
${5:+group = $5}
backup = etc/$1.conf
S
sed -i '/^$/d' b/.PKGINFO
(cd b; LC_ALL=C bsdtar -czf .MTREE --format=mtree --options='!all,use-set,type,uid,gid,mode,time,size,md5,sha256,link' .PKGINFO opt etc; bsdtar -cf - .PKGINFO .MTREE opt etc | zstd -q > ../$4/$1-$2-any.pkg.tar.zst)
}
mk pear 1.0-1 "" one fruit; mk plum 1.0-1 pear one fruit; mk fig 2:1.2-3 "" one; mk nut 1.0-1 "" one; mk hazel 1.0-1 "" .
mk pear 2.0-1 "" two; mk fig 2:1.3-1 "" two
repo-add -q one/one.db.tar.gz one/*.zst; repo-add -q two/two.db.tar.gz two/*.zst; ls one two
