# What the cases of `states/arguments` find. Read by `prepare.sh`, in its shell.
cp -r $here/given $dir/arguments
cd $dir/arguments
mkdir -p file.rename/rd/sub file.directory/linked
for n in 1 2 3 4 5 6 7 8; do echo r$n > file.rename/r$n; done
ln -s /etc file.rename/rl
git config --global --add b.one 1
for n in 1 2 3; do git config --global --add b.many $n; git config --global --add b.several $n; done
url=file://$here/fixtures/project.git
mkdir -p git.latest git.cloned git.detached git.present git.config_set
cd git.latest
mkdir there there2 daemon; touch there/x there2/x file; chown daemon daemon
for n in changed changed2 changed3 changed4 changed5 behind behind2 ahead ahead2 other-url other-url2; do
    git -c safe.directory='*' clone -q $url $n
done
for n in changed changed2 changed3 changed4 changed5; do echo changed >> $n/README; touch $n/NEXT; done
for n in behind behind2; do git -C $n reset -q --hard v1.0; done
for n in ahead ahead2; do
    echo more > $n/more; git -C $n add .
    GIT_AUTHOR_DATE='1600000000 +0000' GIT_COMMITTER_DATE='1600000000 +0000' git -C $n commit -qm more
done
for n in other-url other-url2; do git -C $n remote set-url origin file:///no/where.git; done
cd ../git.cloned; mkdir daemon; chown daemon daemon; touch file
git -c safe.directory='*' clone -q $url other; git -C other remote set-url origin file:///no/where.git
for place in git.detached git.present; do cd ../$place; mkdir there there2; touch there/x there2/x; done
cd ../git.config_set; git init -q repo
cd /
