//! Commands that modules run by Salt's `cmdmod`.

use halite_proto::{Map, Value};
use halite_pyworker::{Request, Workers};

use crate::host::Host;

#[test]
fn grains_run_commands_with_the_functions_that_they_bring_along() {
    let text = "import salt.modules.cmdmod\n__salt__ = {'cmd.run': salt.modules.cmdmod._run_quiet, 'cmd.run_all': salt.modules.cmdmod._run_all_quiet}\ndef grain():\n    return {'a': __salt__['cmd.run']('echo  a b'), 'b': __salt__['cmd.run_all']('echo $0; exit 3', python_shell=True)['retcode'], 'c': salt.modules.cmdmod.run(['echo', 'c'])}\n";
    let Some(host) = Host::with("grains", text) else {
        return;
    };
    let grains = Workers::global().run(&host, Request::Grains).unwrap();
    let wanted = Map::from([
        ("a", Value::from("a b")),
        ("b", 3.into()),
        ("c", "c".into()),
    ]);
    assert_eq!(grains, wanted.into());
}

/// The grains of a module `mine.py` whose `grain` tells what `words`, lines of a
/// map, come to: what is raised as its text.
fn grains_of_commands(words: &str) -> Option<Value> {
    let text = format!(
        "import salt.modules.cmdmod as c\ndef _said(run, *args, **kwargs):\n    try:\n        return run(*args, **kwargs)\n    except Exception as exc:\n        return '%s: %s' % (type(exc).__name__, exc)\ndef grain():\n    said = _said\n    return {{{words}}}\n"
    );
    let host = Host::with("grains", &text)?;
    Some(Workers::global().run(&host, Request::Grains).unwrap())
}

#[test]
fn commands_of_grains_run_as_salts_parameters_say() {
    let words = "
        'order': said(c._run_quiet, 'pwd', '/', None, 'utf-8', None, '/bin/sh', True),
        'order of all': said(c._run_all_quiet, 'echo $0', '/', None, None, '/bin/sh', True)['stdout'],
        'env': said(c.run, 'echo $A$B.', python_shell=True, env=[{'A': 1}, {'B': None}]),
        'umask': said(c._run_quiet, 'umask', python_shell=True, umask='077'),
        'success': said(c._run_all_quiet, 'false', success_retcodes=[1])['retcode'],
        'timeout': said(c._run_all_quiet, 'sleep 60', timeout=0.1)['retcode'],
        'shell': said(c.run, 'true', python_shell=True, shell='/no/such'),
        'template': said(c._run_quiet, 'true', template='jinja'),
        'odd': said(c.run, 'true', odd=1),
        'nobody': said(c._run_quiet, 'true', runas='no-such-user'),
        'mask': said(c._run_quiet, 'true', umask='9'),
        'cwd': said(c._run_quiet, 'true', 'here'),
    ";
    let Some(grains) = grains_of_commands(words) else {
        return;
    };
    let unsupported = "SaltInvocationError: salt.modules.cmdmod does not support";
    let wanted = Map::from([
        ("order", Value::from("/")),
        ("order of all", "/bin/sh".into()),
        ("env", "1.".into()),
        ("umask", "0077".into()),
        ("success", 0.into()),
        ("timeout", 1.into()),
        (
            "shell",
            "CommandExecutionError: The shell /no/such is not available".into(),
        ),
        ("template", format!("{unsupported} template here").into()),
        ("odd", format!("{unsupported} odd here").into()),
        (
            "nobody",
            "CommandExecutionError: User 'no-such-user' is not available".into(),
        ),
        ("mask", "CommandExecutionError: Invalid umask: '9'".into()),
        (
            "cwd",
            "CommandExecutionError: Specified cwd 'here' either not absolute or does not exist"
                .into(),
        ),
    ]);
    assert_eq!(grains, wanted.into());
}

#[test]
fn commands_of_grains_run_as_who_is_asked_for() {
    if !halite_test_support::have_root() {
        return;
    }
    let words = "
        'named': said(c._run_quiet, 'id -un', runas='nobody'),
        'by place': said(c._run_quiet, 'id -u', None, None, None, 'nobody'),
        'groups': said(c._run_all_quiet, 'id -G', None, None, 'nobody')['stdout'],
        'group': said(c.run, 'id -gn', runas='nobody', group='daemon'),
        'home': said(c.run, 'echo $HOME $USER $SECRET_OF_PROGRAM', python_shell=True, runas='nobody'),
    ";
    let text =
        format!("**(__import__('os').environ.update(SECRET_OF_PROGRAM='x') or {{}}),{words}");
    let Some(grains) = grains_of_commands(&text) else {
        return;
    };
    let id = |args: &[&str]| {
        let done = std::process::Command::new("id")
            .args(args)
            .output()
            .unwrap();
        String::from_utf8(done.stdout)
            .unwrap()
            .trim_end()
            .to_owned()
    };
    let home = std::fs::read_to_string("/etc/passwd").unwrap();
    let home = home.lines().find_map(|line| line.strip_prefix("nobody:"));
    let home = home.and_then(|rest| rest.split(':').nth(4)).unwrap();
    let wanted = Map::from([
        ("named", Value::from("nobody")),
        ("by place", id(&["-u", "nobody"]).into()),
        ("groups", id(&["-G", "nobody"]).into()),
        ("group", "daemon".into()),
        ("home", format!("{home} nobody").into()),
    ]);
    assert_eq!(grains, wanted.into());
}

#[test]
fn commands_of_functions_are_run_by_the_host() {
    let text = "import salt.modules.cmdmod as c\ndef quiet():\n    return c._run_quiet('id', '/', runas='nobody', env=[{'A': 1}])\ndef rendered():\n    return c._run_quiet('id', template='jinja', pillar_override={'a': 1})\n";
    let Some(host) = Host::with("modules", text) else {
        return;
    };
    let kwargs = Map::from([
        ("python_shell", Value::from(false)),
        ("cwd", "/".into()),
        ("runas", "nobody".into()),
        ("env", Value::List(vec![Map::from([("A", 1)]).into()])),
        ("output_loglevel", "quiet".into()),
        ("ignore_retcode", true.into()),
    ]);
    let wanted = vec![
        "cmd.run".into(),
        vec![Value::from("id")].into(),
        kwargs.into(),
    ];
    let quiet = host.call("modules", "mine.quiet", &[], "1").unwrap();
    assert_eq!(quiet, Value::List(wanted));
    let refused = host.call("modules", "mine.rendered", &[], "1");
    let refused = refused.unwrap_err().to_string();
    assert!(refused.contains("not support pillar_override"), "{refused}");
    // What hides the host's function, and calls Salt's, does not call itself.
    host.write(
        "modules",
        "cmd.py",
        "import salt.modules.cmdmod as c\ndef run(cmd): return c.run(cmd)\n",
    );
    Workers::global().run(&host, Request::Forget).unwrap();
    let own = host.call("modules", "cmd.run", &["echo own".into()], "2");
    assert_eq!(own.unwrap(), "own".into());
}
