complete -c salt-master -l saltfile -d 'A file with options for the programs; else `Saltfile` in the current directory or in `~/.salt`' -r -F
complete -c salt-master -s c -l config-dir -d 'The directory of the configuration; `/etc/salt` unless `SALT_CONFIG_DIR` names another' -r -F
complete -c salt-master -l pid-file -d 'The file that holds the process\'s id' -r -F
complete -c salt-master -s u -l user -d 'The user to run as' -r
complete -c salt-master -s l -l log-level -d 'How much is logged to the console' -r -f -a "all\t''
garbage\t''
trace\t''
debug\t''
profile\t''
info\t''
warning\t''
error\t''
critical\t''
quiet\t''"
complete -c salt-master -l log-file -d 'The file to log to' -r -F
complete -c salt-master -l log-file-level -d 'How much is logged to the file' -r -f -a "all\t''
garbage\t''
trace\t''
debug\t''
profile\t''
info\t''
warning\t''
error\t''
critical\t''
quiet\t''"
complete -c salt-master -l version -d 'Show the program\'s version and exit'
complete -c salt-master -s V -l versions-report -d 'Show the versions of what the program is made of and exit'
complete -c salt-master -s d -l daemon -d 'Run in the background'
complete -c salt-master -l disable-keepalive -d 'Accepted for Salt\'s sake: the daemon is one process and restarts nothing'
complete -c salt-master -l check -d 'Check the configuration and exit'
complete -c salt-master -s h -l help -d 'Print help'
