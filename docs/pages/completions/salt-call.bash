_salt__call() {
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
                cmd="salt__call"
                ;;
            *)
                ;;
        esac
    done

    case "${cmd}" in
        salt__call)
            opts="-V -c -g -m -d -t -r -l -h --version --versions-report --saltfile --config-dir --grains --module-dirs --documentation --doc --master --return --local --file-root --pillar-root --states-dir --cachedir --retcode-passthrough --metadata --set-metadata --id --skip-grains --refresh-grains-cache --no-return-event --timeout --output-diff --priv --proxyid --resources --tgt --tgt-type --profiling-path --enable-profiling --module-executors --executor-opts --no-parse --args-stdin --hard-crash --output --out --output-indent --out-indent --output-file --out-file --output-file-append --out-file-append --no-colour --no-color --force-colour --force-color --state-output --state-verbose --log-level --log-file --log-file-level --help"
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
                --module-dirs)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -m)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --master)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --return)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --file-root)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --pillar-root)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --states-dir)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --cachedir)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --set-metadata)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --id)
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
                --priv)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --proxyid)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --tgt)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --tgt-type)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --profiling-path)
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
    complete -F _salt__call -o nosort -o bashdefault -o default salt-call
else
    complete -F _salt__call -o bashdefault -o default salt-call
fi
