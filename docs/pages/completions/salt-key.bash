_salt__key() {
    local i cur prev opts cmd
    COMPREPLY=()
    if [[ "${BASH_VERSINFO[0]}" -ge 4 ]]; then
        cur="$2"
    else
        cur="${COMP_WORDS[COMP_CWORD]}"
    fi
    prev="$3"
    cmd=""
    opts=""

    for i in "${COMP_WORDS[@]:0:COMP_CWORD}"
    do
        case "${cmd},${i}" in
            ",$1")
                cmd="salt__key"
                ;;
            *)
                ;;
        esac
    done

    case "${cmd}" in
        salt__key)
            opts="-V -c -u -q -y -l -L -a -A -r -R -p -P -d -D -f -F -T -h --version --versions-report --saltfile --config-dir --user --hard-crash --quiet --yes --rotate-aes-key --preserve-minions --log-level --log-file --log-file-level --output --out --output-indent --out-indent --output-file --out-file --output-file-append --out-file-append --no-colour --no-color --force-colour --force-color --state-output --state-verbose --list --list-all --accept --accept-all --reject --reject-all --include-all --include-accepted --include-rejected --include-denied --print --print-all --delete --delete-all --finger --finger-all --gen-keys --gen-keys-dir --keysize --renew-master-key --gen-signature --priv --pub --signature-path --auto-create --export --import --passphrase-file --eauth --external-auth --auth --make-token --username --password --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 1 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --saltfile)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --config-dir)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -c)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --user)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -u)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --rotate-aes-key)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --preserve-minions)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --log-level)
                    COMPREPLY=($(compgen -W "all garbage trace debug profile info warning error critical quiet" -- "${cur}"))
                    return 0
                    ;;
                --log-file)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --log-file-level)
                    COMPREPLY=($(compgen -W "all garbage trace debug profile info warning error critical quiet" -- "${cur}"))
                    return 0
                    ;;
                --out)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --output)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --out-indent)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --output-indent)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --out-file)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --output-file)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --state-output)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --state-verbose)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --list)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -l)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --accept)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -a)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --reject)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -r)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --print)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -p)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --delete)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -d)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --finger)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -f)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --gen-keys)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --gen-keys-dir)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --keysize)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --priv)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --pub)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --signature-path)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --export)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --import)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --passphrase-file)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --auth)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --eauth)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --external-auth)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --username)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --password)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
    esac
}

if [[ "${BASH_VERSINFO[0]}" -eq 4 && "${BASH_VERSINFO[1]}" -ge 4 || "${BASH_VERSINFO[0]}" -gt 4 ]]; then
    complete -F _salt__key -o nosort -o bashdefault -o default salt-key
else
    complete -F _salt__key -o bashdefault -o default salt-key
fi
