complete -c salt-key -l saltfile -d 'A file with options for the programs; else `Saltfile` in the current directory or in `~/.salt`' -r -F
complete -c salt-key -s c -l config-dir -d 'The directory of the configuration; `/etc/salt` unless `SALT_CONFIG_DIR` names another' -r -F
complete -c salt-key -s u -l user -d 'The user to run as' -r
complete -c salt-key -l rotate-aes-key -d 'Whether deleting and rejecting makes the master change its session key: true or false' -r
complete -c salt-key -l preserve-minions -d 'Whether deleting keeps the data of the minions: true or false' -r
complete -c salt-key -l log-level -d 'How much is logged to the console' -r -f -a "all\t''
garbage\t''
trace\t''
debug\t''
profile\t''
info\t''
warning\t''
error\t''
critical\t''
quiet\t''"
complete -c salt-key -l log-file -d 'The file to log to' -r -F
complete -c salt-key -l log-file-level -d 'How much is logged to the file' -r -f -a "all\t''
garbage\t''
trace\t''
debug\t''
profile\t''
info\t''
warning\t''
error\t''
critical\t''
quiet\t''"
complete -c salt-key -l out -l output -d 'The format to show results in (also --output)' -r
complete -c salt-key -l out-indent -l output-indent -d 'Spaces to indent by; a negative number means one line and none (also --output-indent)' -r
complete -c salt-key -l out-file -l output-file -d 'Write the results to this file instead (also --output-file)' -r -F
complete -c salt-key -l state-output -d 'How the results of states are shown: full, terse, mixed, changes or filter, and each with `_id` behind it' -r
complete -c salt-key -l state-verbose -d 'Whether states that needed nothing are shown: true or false' -r
complete -c salt-key -s l -l list -d 'List keys: pre, un, unaccepted, acc, accepted, rej, rejected, den, denied or all' -r
complete -c salt-key -s a -l accept -d 'Accept the pending keys that match a glob' -r
complete -c salt-key -s r -l reject -d 'Reject the pending keys that match a glob' -r
complete -c salt-key -s p -l print -d 'Print the keys that match a glob' -r
complete -c salt-key -s d -l delete -d 'Delete the keys that match a glob' -r
complete -c salt-key -s f -l finger -d 'Print the fingerprints of the keys that match a glob' -r
complete -c salt-key -l gen-keys -d 'Make a key pair of this name' -r
complete -c salt-key -l gen-keys-dir -d 'Where the pair is put' -r -F
complete -c salt-key -l keysize -d 'The size of the pair\'s keys in bits' -r
complete -c salt-key -l priv -d 'The private key to sign with' -r -F
complete -c salt-key -l pub -d 'The public key to sign' -r -F
complete -c salt-key -l signature-path -d 'Where the signature is put' -r -F
complete -c salt-key -l export -d 'Put the master\'s key pair and the keys of its minions into a file, behind a passphrase' -r -F
complete -c salt-key -l import -d 'Add the keys of such a file' -r -F
complete -c salt-key -l passphrase-file -d 'A file whose first line is the passphrase; else it is asked for' -r -F
complete -c salt-key -l auth -l eauth -l external-auth -d 'The way to log in (also --eauth, --external-auth)' -r
complete -c salt-key -l username -d 'The name to log in with' -r
complete -c salt-key -l password -d 'The password to log in with' -r
complete -c salt-key -l version -d 'Show the program\'s version and exit'
complete -c salt-key -s V -l versions-report -d 'Show the versions of what the program is made of and exit'
complete -c salt-key -l hard-crash -d 'Accepted for Salt\'s sake: errors show their causes here always'
complete -c salt-key -s q -l quiet -d 'Say less'
complete -c salt-key -s y -l yes -d 'Answer yes to all questions'
complete -c salt-key -l out-file-append -l output-file-append -d 'Keep what the file of `--out-file` has (also --output-file-append)'
complete -c salt-key -l no-color -l no-colour -d 'Use no colours (also --no-colour)'
complete -c salt-key -l force-color -l force-colour -d 'Use colours, terminal or not (also --force-colour)'
complete -c salt-key -s L -l list-all -d 'List all keys; done where no other action is given'
complete -c salt-key -s A -l accept-all -d 'Accept all pending keys'
complete -c salt-key -s R -l reject-all -d 'Reject all pending keys'
complete -c salt-key -l include-all -d 'Accept rejected keys too, or reject accepted ones'
complete -c salt-key -l include-accepted -d 'Reject accepted keys too'
complete -c salt-key -l include-rejected -d 'Accept rejected keys too'
complete -c salt-key -l include-denied -d 'Accept or reject denied keys too'
complete -c salt-key -s P -l print-all -d 'Print all keys'
complete -c salt-key -s D -l delete-all -d 'Delete all keys'
complete -c salt-key -s F -l finger-all -d 'Print the fingerprints of all keys'
complete -c salt-key -l renew-master-key -d 'Give the master a new key pair, signed by the old one, so that minions of Halite follow'
complete -c salt-key -l gen-signature -d 'Sign the master\'s public key'
complete -c salt-key -l auto-create -d 'Make the pair to sign with if there is none'
complete -c salt-key -s T -l make-token -d 'Make a token for later commands'
complete -c salt-key -s h -l help -d 'Print help'
