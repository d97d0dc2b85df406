complete -c salt -l saltfile -d 'A file with options for the programs; else `Saltfile` in the current directory or in `~/.salt`' -r -F
complete -c salt -s c -l config-dir -d 'The directory of the configuration; `/etc/salt` unless `SALT_CONFIG_DIR` names another' -r -F
complete -c salt -s t -l timeout -d 'Seconds to wait for minions; the configuration\'s `timeout` unless it is above 0' -r
complete -c salt -l subset -d 'Run on this many of the targeted minions, at random' -r
complete -c salt -s b -l batch -l batch-size -d 'Run on this many minions at a time, or on this part of them (10%) (also --batch-size)' -r
complete -c salt -l batch-wait -d 'Seconds to wait behind each job of a batch' -r
complete -c salt -l batch-safe-limit -d 'Run as a batch from this many minions on' -r
complete -c salt -l batch-safe-size -d 'The batch\'s size then' -r
complete -c salt -l return -d 'Returners that the minions send the results to, too' -r
complete -c salt -l return_config -d 'Which of its configurations a returner takes' -r
complete -c salt -l return_kwargs -d 'Options for the returners' -r
complete -c salt -l args-separator -d 'The word between the arguments of several functions' -r
complete -c salt -l metadata -d 'Data that is kept with the job' -r
complete -c salt -l module-executors -d 'The executors to use instead of those in the minions\' configuration' -r
complete -c salt -l executor-opts -d 'Options for the executors' -r
complete -c salt -l no-parse -d 'Names of arguments whose values stay text, with commas between them; `SALT_NO_PARSE` otherwise' -r
complete -c salt -l delimiter -d 'What stands between the parts of a grain\'s or pillar\'s name' -r
complete -c salt -l out -l output -d 'The format to show results in (also --output)' -r
complete -c salt -l out-indent -l output-indent -d 'Spaces to indent by; a negative number means one line and none (also --output-indent)' -r
complete -c salt -l out-file -l output-file -d 'Write the results to this file instead (also --output-file)' -r -F
complete -c salt -l state-output -d 'How the results of states are shown: full, terse, mixed, changes or filter, and each with `_id` behind it' -r
complete -c salt -l state-verbose -d 'Whether states that needed nothing are shown: true or false' -r
complete -c salt -s l -l log-level -d 'How much is logged to the console' -r -f -a "all\t''
garbage\t''
trace\t''
debug\t''
profile\t''
info\t''
warning\t''
error\t''
critical\t''
quiet\t''"
complete -c salt -l log-file -d 'The file to log to' -r -F
complete -c salt -l log-file-level -d 'How much is logged to the file' -r -f -a "all\t''
garbage\t''
trace\t''
debug\t''
profile\t''
info\t''
warning\t''
error\t''
critical\t''
quiet\t''"
complete -c salt -s a -l auth -l eauth -l external-auth -d 'The way to log in (also --eauth, --external-auth)' -r
complete -c salt -l username -d 'The name to log in with' -r
complete -c salt -l password -d 'The password to log in with' -r
complete -c salt -l version -d 'Show the program\'s version and exit'
complete -c salt -s V -l versions-report -d 'Show the versions of what the program is made of and exit'
complete -c salt -s s -l static -d 'Show the results of all minions at once, when all have returned'
complete -c salt -s p -l progress -d 'Show on the terminal how far the job is'
complete -c salt -l failhard -d 'Stop a batch at the first failure'
complete -c salt -l async -d 'Start the job and do not wait for results'
complete -c salt -s v -l verbose -d 'Say more: the job\'s id, and who failed'
complete -c salt -l hide-timeout -d 'Accepted for Salt\'s sake, where it hides nothing either'
complete -c salt -l show-jid -d 'Show the job\'s id'
complete -c salt -s d -l doc -l documentation -d 'Show the documentation of a module, a function or all of them (also --documentation)'
complete -c salt -l summary -d 'Show how many minions returned, and how'
complete -c salt -l start-event -d 'Ask minions for an event when they begin'
complete -c salt -l output-diff -d 'Show only states with changes'
complete -c salt -l config-dump -d 'Show the master\'s configuration'
complete -c salt -l preview-target -d 'Show whom the target means, and do nothing'
complete -c salt -l args-stdin -d 'Read more options and words from standard input, one a line'
complete -c salt -l hard-crash -d 'Accepted for Salt\'s sake: errors show their causes here always'
complete -c salt -s E -l pcre -d 'The target is a regular expression'
complete -c salt -s L -l list -d 'The target is a list of ids, with commas or blanks between them'
complete -c salt -s G -l grain -d 'The target is a grain and a glob: `os:Arch*`'
complete -c salt -s P -l grain-pcre -d 'The target is a grain and a regular expression'
complete -c salt -s N -l nodegroup -d 'The target is a group of the master\'s configuration'
complete -c salt -s R -l range -d 'The target is an expression for the range server: `%web`'
complete -c salt -s C -l compound -d 'The target is a compound expression: `G@os:Debian and not web*`'
complete -c salt -s I -l pillar -d 'The target is a pillar value and a glob: `role:web*`'
complete -c salt -s J -l pillar-pcre -d 'The target is a pillar value and a regular expression'
complete -c salt -s S -l ipcidr -d 'The target is an address or a network'
complete -c salt -s H -l hosts -d 'Not supported: the hosts of the rosters of salt-ssh'
complete -c salt -l out-file-append -l output-file-append -d 'Keep what the file of `--out-file` has (also --output-file-append)'
complete -c salt -l no-color -l no-colour -d 'Use no colours (also --no-colour)'
complete -c salt -l force-color -l force-colour -d 'Use colours, terminal or not (also --force-colour)'
complete -c salt -s T -l make-token -d 'Make a token for later commands'
complete -c salt -s h -l help -d 'Print help'
