_salt() {
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
                cmd="salt"
                ;;
            *)
                ;;
        esac
    done

    case "${cmd}" in
        salt)
            opts="-V -c -t -s -p -v -b -d -E -L -G -P -N -R -C -I -J -S -H -l -a -T -h --version --versions-report --saltfile --config-dir --timeout --static --progress --failhard --async --subset --verbose --hide-timeout --show-jid --batch-size --batch --batch-wait --batch-safe-limit --batch-safe-size --return --return_config --return_kwargs --documentation --doc --args-separator --summary --metadata --start-event --output-diff --config-dump --preview-target --module-executors --executor-opts --no-parse --args-stdin --hard-crash --pcre --list --grain --grain-pcre --nodegroup --range --compound --pillar --pillar-pcre --ipcidr --hosts --delimiter --output --out --output-indent --out-indent --output-file --out-file --output-file-append --out-file-append --no-colour --no-color --force-colour --force-color --state-output --state-verbose --log-level --log-file --log-file-level --eauth --external-auth --auth --make-token --username --password --help"
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
                --timeout)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -t)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --subset)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --batch)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --batch-size)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -b)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --batch-wait)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --batch-safe-limit)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --batch-safe-size)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --return)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --return_config)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --return_kwargs)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --args-separator)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --metadata)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --module-executors)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --executor-opts)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --no-parse)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --delimiter)
                    COMPREPLY=($(compgen -f "${cur}"))
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
                --log-level)
                    COMPREPLY=($(compgen -W "all garbage trace debug profile info warning error critical quiet" -- "${cur}"))
                    return 0
                    ;;
                -l)
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
                -a)
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
    complete -F _salt -o nosort -o bashdefault -o default salt
else
    complete -F _salt -o bashdefault -o default salt
fi
