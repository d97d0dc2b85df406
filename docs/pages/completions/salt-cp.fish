complete -c salt-cp -l saltfile -d 'A file with options for the programs; else `Saltfile` in the current directory or in `~/.salt`' -r -F
complete -c salt-cp -s c -l config-dir -d 'The directory of the configuration; `/etc/salt` unless `SALT_CONFIG_DIR` names another' -r -F
complete -c salt-cp -s t -l timeout -d 'Seconds to wait for minions' -r
complete -c salt-cp -l delimiter -d 'What stands between the parts of a grain\'s name' -r
complete -c salt-cp -l out -l output -d 'The format to show results in (also --output)' -r
complete -c salt-cp -l out-indent -l output-indent -d 'Spaces to indent by; a negative number means one line and none (also --output-indent)' -r
complete -c salt-cp -l out-file -l output-file -d 'Write the results to this file instead (also --output-file)' -r -F
complete -c salt-cp -l state-output -d 'How the results of states are shown: full, terse, mixed, changes or filter, and each with `_id` behind it' -r
complete -c salt-cp -l state-verbose -d 'Whether states that needed nothing are shown: true or false' -r
complete -c salt-cp -s l -l log-level -d 'How much is logged to the console' -r -f -a "all\t''
garbage\t''
trace\t''
debug\t''
profile\t''
info\t''
warning\t''
error\t''
critical\t''
quiet\t''"
complete -c salt-cp -l log-file -d 'The file to log to' -r -F
complete -c salt-cp -l log-file-level -d 'How much is logged to the file' -r -f -a "all\t''
garbage\t''
trace\t''
debug\t''
profile\t''
info\t''
warning\t''
error\t''
critical\t''
quiet\t''"
complete -c salt-cp -l version -d 'Show the program\'s version and exit'
complete -c salt-cp -s V -l versions-report -d 'Show the versions of what the program is made of and exit'
complete -c salt-cp -s C -l chunked -d 'Send files in pieces: large ones, binary ones, whole directories, with their modes'
complete -c salt-cp -s n -l no-compression -d 'Do not compress the pieces'
complete -c salt-cp -s E -l pcre -d 'The target is a regular expression'
complete -c salt-cp -s L -l list -d 'The target is a list of ids, with commas or blanks between them'
complete -c salt-cp -s G -l grain -d 'The target is a grain and a glob: `os:Arch*`'
complete -c salt-cp -s P -l grain-pcre -d 'The target is a grain and a regular expression'
complete -c salt-cp -s N -l nodegroup -d 'The target is a group of the master\'s configuration'
complete -c salt-cp -s R -l range -d 'The target is an expression for the range server: `%web`'
complete -c salt-cp -s H -l hosts -d 'Not supported: the hosts of the rosters of salt-ssh'
complete -c salt-cp -l hard-crash -d 'Accepted for Salt\'s sake: errors show their causes here always'
complete -c salt-cp -l out-file-append -l output-file-append -d 'Keep what the file of `--out-file` has (also --output-file-append)'
complete -c salt-cp -l no-color -l no-colour -d 'Use no colours (also --no-colour)'
complete -c salt-cp -l force-color -l force-colour -d 'Use colours, terminal or not (also --force-colour)'
complete -c salt-cp -s h -l help -d 'Print help'
