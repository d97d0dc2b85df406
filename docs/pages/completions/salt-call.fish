complete -c salt-call -l saltfile -d 'A file with options for the programs; else `Saltfile` in the current directory or in `~/.salt`' -r -F
complete -c salt-call -s c -l config-dir -d 'The directory of the configuration; `/etc/salt` unless `SALT_CONFIG_DIR` names another' -r -F
complete -c salt-call -s m -l module-dirs -d 'A directory with Python modules: `modules` or `_modules` in it, or itself' -r -F
complete -c salt-call -l master -d 'The master to use instead of those in the configuration' -r
complete -c salt-call -l return -d 'Returners that the result is sent to, too' -r
complete -c salt-call -l file-root -d 'The directory of files of the base environment' -r -F
complete -c salt-call -l pillar-root -d 'The directory of pillars of the base environment' -r -F
complete -c salt-call -l states-dir -d 'A directory with more state modules in Python' -r -F
complete -c salt-call -l cachedir -d 'The directory for what the minion keeps' -r -F
complete -c salt-call -l set-metadata -d 'Data that is kept with the job' -r
complete -c salt-call -l id -d 'The minion\'s id instead of the one in the configuration' -r
complete -c salt-call -s t -l timeout -d 'Seconds to wait for signing in' -r
complete -c salt-call -l priv -d 'The user to run as' -r
complete -c salt-call -l proxyid -d 'The id of a proxy' -r
complete -c salt-call -l tgt -d 'The target among the resources' -r
complete -c salt-call -l tgt-type -d 'The kind of that target' -r
complete -c salt-call -l profiling-path -d 'Where profiles are put' -r -F
complete -c salt-call -l module-executors -d 'The executors to use instead of those in the minions\' configuration' -r
complete -c salt-call -l executor-opts -d 'Options for the executors' -r
complete -c salt-call -l no-parse -d 'Names of arguments whose values stay text, with commas between them; `SALT_NO_PARSE` otherwise' -r
complete -c salt-call -l out -l output -d 'The format to show results in (also --output)' -r
complete -c salt-call -l out-indent -l output-indent -d 'Spaces to indent by; a negative number means one line and none (also --output-indent)' -r
complete -c salt-call -l out-file -l output-file -d 'Write the results to this file instead (also --output-file)' -r -F
complete -c salt-call -l state-output -d 'How the results of states are shown: full, terse, mixed, changes or filter, and each with `_id` behind it' -r
complete -c salt-call -l state-verbose -d 'Whether states that needed nothing are shown: true or false' -r
complete -c salt-call -s l -l log-level -d 'How much is logged to the console' -r -f -a "all\t''
garbage\t''
trace\t''
debug\t''
profile\t''
info\t''
warning\t''
error\t''
critical\t''
quiet\t''"
complete -c salt-call -l log-file -d 'The file to log to' -r -F
complete -c salt-call -l log-file-level -d 'How much is logged to the file' -r -f -a "all\t''
garbage\t''
trace\t''
debug\t''
profile\t''
info\t''
warning\t''
error\t''
critical\t''
quiet\t''"
complete -c salt-call -l version -d 'Show the program\'s version and exit'
complete -c salt-call -s V -l versions-report -d 'Show the versions of what the program is made of and exit'
complete -c salt-call -s g -l grains -d 'Show the minion\'s grains'
complete -c salt-call -s d -l doc -l documentation -d 'Show the documentation of a module, a function or all of them (also --documentation)'
complete -c salt-call -l local -d 'Run as if there was no master'
complete -c salt-call -l retcode-passthrough -d 'Exit with the function\'s return code'
complete -c salt-call -l metadata -d 'Show the job\'s data with the result'
complete -c salt-call -l skip-grains -d 'Do not collect grains'
complete -c salt-call -l refresh-grains-cache -d 'Collect grains anew'
complete -c salt-call -l no-return-event -d 'Do not send the result to the master'
complete -c salt-call -l output-diff -d 'Show only states with changes'
complete -c salt-call -s r -l resources -d 'Run on the resources of this minion'
complete -c salt-call -l enable-profiling -d 'Measure where time is spent'
complete -c salt-call -l args-stdin -d 'Read more options and words from standard input, one a line'
complete -c salt-call -l hard-crash -d 'Accepted for Salt\'s sake: errors show their causes here always'
complete -c salt-call -l out-file-append -l output-file-append -d 'Keep what the file of `--out-file` has (also --output-file-append)'
complete -c salt-call -l no-color -l no-colour -d 'Use no colours (also --no-colour)'
complete -c salt-call -l force-color -l force-colour -d 'Use colours, terminal or not (also --force-colour)'
complete -c salt-call -s h -l help -d 'Print help'
