complete -c salt-minion -l saltfile -d 'A file with options for the programs; else `Saltfile` in the current directory or in `~/.salt`' -r -F
complete -c salt-minion -s c -l config-dir -d 'The directory of the configuration; `/etc/salt` unless `SALT_CONFIG_DIR` names another' -r -F
complete -c salt-minion -l pid-file -d 'The file that holds the process\'s id' -r -F
complete -c salt-minion -s u -l user -d 'The user to run as' -r
complete -c salt-minion -s l -l log-level -d 'How much is logged to the console' -r -f -a "all\t''
garbage\t''
trace\t''
debug\t''
profile\t''
info\t''
warning\t''
error\t''
critical\t''
quiet\t''"
complete -c salt-minion -l log-file -d 'The file to log to' -r -F
complete -c salt-minion -l log-file-level -d 'How much is logged to the file' -r -f -a "all\t''
garbage\t''
trace\t''
debug\t''
profile\t''
info\t''
warning\t''
error\t''
critical\t''
quiet\t''"
complete -c salt-minion -l out -d 'With `status`: how it is shown, `text` or an outputter such as `json`' -r
complete -c salt-minion -l version -d 'Show the program\'s version and exit'
complete -c salt-minion -s V -l versions-report -d 'Show the versions of what the program is made of and exit'
complete -c salt-minion -s d -l daemon -d 'Run in the background'
complete -c salt-minion -l disable-keepalive -d 'Accepted for Salt\'s sake: the daemon is one process and restarts nothing'
complete -c salt-minion -l check -d 'Check the configuration and exit'
complete -c salt-minion -s h -l help -d 'Print help'
