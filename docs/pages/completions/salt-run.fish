complete -c salt-run -l saltfile -d 'A file with options for the programs; else `Saltfile` in the current directory or in `~/.salt`' -r -F
complete -c salt-run -s c -l config-dir -d 'The directory of the configuration; `/etc/salt` unless `SALT_CONFIG_DIR` names another' -r -F
complete -c salt-run -s t -l timeout -d 'Seconds to wait for minions, where the function asks any' -r
complete -c salt-run -l jid -d 'The job id to use instead of a new one' -r
complete -c salt-run -l profiling-path -d 'Where measurements go' -r
complete -c salt-run -l no-parse -d 'Names of arguments whose values stay text, with commas between them; `SALT_NO_PARSE` otherwise' -r
complete -c salt-run -l out -l output -d 'The format to show results in (also --output)' -r
complete -c salt-run -l out-indent -l output-indent -d 'Spaces to indent by; a negative number means one line and none (also --output-indent)' -r
complete -c salt-run -l out-file -l output-file -d 'Write the results to this file instead (also --output-file)' -r -F
complete -c salt-run -l state-output -d 'How the results of states are shown: full, terse, mixed, changes or filter, and each with `_id` behind it' -r
complete -c salt-run -l state-verbose -d 'Whether states that needed nothing are shown: true or false' -r
complete -c salt-run -s l -l log-level -d 'How much is logged to the console' -r -f -a "all\t''
garbage\t''
trace\t''
debug\t''
profile\t''
info\t''
warning\t''
error\t''
critical\t''
quiet\t''"
complete -c salt-run -l log-file -d 'The file to log to' -r -F
complete -c salt-run -l log-file-level -d 'How much is logged to the file' -r -f -a "all\t''
garbage\t''
trace\t''
debug\t''
profile\t''
info\t''
warning\t''
error\t''
critical\t''
quiet\t''"
complete -c salt-run -s a -l auth -l eauth -l external-auth -d 'The way to log in (also --eauth, --external-auth)' -r
complete -c salt-run -l username -d 'The name to log in with' -r
complete -c salt-run -l password -d 'The password to log in with' -r
complete -c salt-run -l version -d 'Show the program\'s version and exit'
complete -c salt-run -s V -l versions-report -d 'Show the versions of what the program is made of and exit'
complete -c salt-run -l async -d 'Start the function and do not wait for its end'
complete -c salt-run -s d -l doc -l documentation -d 'Show the documentation of a runner, a function or all of them (also --documentation)'
complete -c salt-run -l skip-grains -d 'Accepted for Salt\'s sake: no grains are collected'
complete -c salt-run -l quiet -d 'Do not show results'
complete -c salt-run -l enable-profiling -d 'Measure where time goes'
complete -c salt-run -l args-stdin -d 'Read more options and words from standard input, one a line'
complete -c salt-run -l hard-crash -d 'Accepted for Salt\'s sake: errors show their causes here always'
complete -c salt-run -l out-file-append -l output-file-append -d 'Keep what the file of `--out-file` has (also --output-file-append)'
complete -c salt-run -l no-color -l no-colour -d 'Use no colours (also --no-colour)'
complete -c salt-run -l force-color -l force-colour -d 'Use colours, terminal or not (also --force-colour)'
complete -c salt-run -s T -l make-token -d 'Make a token for later commands'
complete -c salt-run -s h -l help -d 'Print help'
