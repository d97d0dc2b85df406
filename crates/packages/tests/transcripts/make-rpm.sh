#!/bin/sh
# Makes the packages and repositories of the transcripts in $PACKAGES.
set -e
# makes two repositories: one (first versions) and two (also newer ones)
W=$PACKAGES; rm -rf $W; mkdir -p $W/one $W/two; cd $W
spec() { # name version release requires arch extra
cat > $1.spec <<S
Name: $1
Version: $2
Release: $3
Summary: A small package named $1
License: MIT
URL: https://example.org/$1
Group: System/Base
BuildArch: noarch
${4:+Requires: $4}
$5
%description
Text about $1,
in two lines.
%install
mkdir -p %{buildroot}/opt/$1 %{buildroot}/etc
echo $2 > %{buildroot}/opt/$1/version
echo a=1 > %{buildroot}/etc/$1.conf
%files
/opt/$1
%config(noreplace) /etc/$1.conf
S
rpmbuild -bb --quiet --define "_topdir $W/top" --define "_rpmdir $W/out" $1.spec
}
spec pear 1.0 1
spec plum 1.0 1 pear
spec fig 1.2 3 "" "Epoch: 2"
spec nut 1.0 1
spec hazel 1.0 1; spec python3-dnf-plugin-versionlock 1.0 1
cp out/noarch/*.rpm one/
spec pear 2.0 1
spec pear 1.5 1
spec fig 1.3 1 "" "Epoch: 2"
cp out/noarch/*.rpm two/
rm two/nut* two/hazel* one/hazel* one/python3* two/python3*; cp out/noarch/hazel* out/noarch/python3* $W/; rm -f one/python3* two/python3*
cat > comps.xml <<C
<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE comps PUBLIC "-//Red Hat, Inc.//DTD Comps info//EN" "comps.dtd">
<comps><group><id>fruit</id><name>Fruit Things</name><description>Fruit to eat</description><default>true</default><uservisible>true</uservisible>
<packagelist><packagereq type="mandatory">pear</packagereq><packagereq type="default">plum</packagereq><packagereq type="optional">fig</packagereq></packagelist></group></comps>
C
cp comps.xml one; (cd one; createrepo_c -q -g comps.xml .); createrepo_c -q two
ls one two
