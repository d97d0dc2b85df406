//! Custom Python modules: fetched, listed and run like ours. Without `python3` only
//! the fetching is tested.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

use std::sync::{Arc, Mutex};

use halite_call::{
    CallError, Failure, Job, MinionContext as _, StateScope, extensions, run_state_function,
};
use halite_fake_minion::{FakeMinion, job, kwargs};
use halite_proto::{Map, Value};

type Files = Arc<Mutex<Map>>;

/// A minion whose master has the files.
fn minion(files: &Files, root: &std::path::Path) -> FakeMinion {
    let mut minion = FakeMinion::new()
        .with_opt("cachedir", root.to_str().unwrap())
        .with_grains(Map::from([("os", "Debian")]));
    let files = Arc::clone(files);
    minion.set_master(move |load| {
        let files = files.lock().unwrap();
        let text = |name: &str| load.get(name).and_then(Value::as_str).unwrap_or_default();
        let content = files.get(text("path")).and_then(Value::as_str);
        Ok(match text("cmd") {
            "_file_list" => files.keys().cloned().collect::<Vec<_>>().into(),
            "_file_hash_and_stat" => {
                let kind = halite_crypto::HashType::Sha256;
                let sum = halite_crypto::hash_hex(kind, content.unwrap().as_bytes());
                let hash = Map::from([("hash_type", "sha256"), ("hsum", sum.as_str())]);
                vec![hash.into(), Value::Nil].into()
            }
            _ => {
                let first = load.get("loc").and_then(Value::as_i64) == Some(0);
                let data = if first { content.unwrap() } else { "" };
                Map::from([("data", data), ("dest", text("path"))]).into()
            }
        })
    });
    minion
}

fn texts(value: &Value) -> Vec<&str> {
    value
        .as_list()
        .unwrap()
        .iter()
        .filter_map(Value::as_str)
        .collect()
}

#[test]
fn modules_are_fetched_and_gone_when_the_master_has_them_no_more() {
    let root = tempfile::tempdir().unwrap();
    let files: Files = Arc::new(Mutex::new(Map::from([
        ("_modules/one.py", "def f():\n    return 1\n"),
        ("_modules/deep/two.py", "x = 1\n"),
        ("_modules/readme.txt", "no module"),
        ("_grains/g.py", "def g():\n    return {'g': 1}\n"),
        ("top.sls", "base: {}"),
    ])));
    let minion = minion(&files, root.path());
    let synced = minion.ret("saltutil.sync_modules", &[]);
    assert_eq!(texts(&synced), ["modules.one", "modules.deep.two"]);
    let at = |name: &str| root.path().join("extmods/modules").join(name);
    assert!(at("one.py").is_file() && at("deep/two.py").is_file() && !at("readme.txt").exists());
    assert!(texts(&minion.ret("saltutil.sync_modules", &[])).is_empty());
    let all = minion.ret("saltutil.sync_all", &[]);
    assert_eq!(texts(all.get("grains").unwrap()), ["grains.g"]);
    assert!(texts(all.get("modules").unwrap()).is_empty());

    files
        .lock()
        .unwrap()
        .insert("_modules/one.py", "def f():\n    return 2\n");
    files.lock().unwrap().remove("_modules/deep/two.py");
    let synced = minion.ret("saltutil.sync_modules", &[]);
    assert_eq!(texts(&synced), ["modules.one"]);
    assert!(!at("deep").exists());
    // A file server that cannot be asked takes nothing away.
    let alone = FakeMinion::new().with_opts(minion.opts().clone());
    assert!(texts(&alone.ret("saltutil.sync_modules", &[])).is_empty());
    assert!(at("one.py").is_file());
    let none = kwargs([("extmod_blacklist", "one".into())]);
    assert!(texts(&minion.ret("saltutil.sync_modules", &[none])).is_empty());
    assert!(!at("one.py").exists());
}

#[test]
fn a_users_functions_are_called_like_ours() {
    if !halite_test_support::have_programs(&["python3"]) {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let files: Files = Arc::new(Mutex::new(Map::from([
        (
            "_modules/ours.py",
            "__func_alias__ = {'list_': 'list'}\nfrom salt.exceptions import CommandExecutionError, \
             SaltInvocationError\ndef list_(path, depth=1):\n    \"\"\"Lists.\"\"\"\n    return [path, depth, \
             __grains__['os'], __salt__['test.echo']('x'), __salt__['ours.two']()]\ndef two():\n    \
             return 2\ndef fail(how):\n    if how == 1:\n        raise CommandExecutionError('no')\n    if \
             how == 2:\n        raise SaltInvocationError('bad')\n    raise RuntimeError('odd')\n",
        ),
        ("_modules/test.py", "def ping():\n    return 'mine'\n"),
        (
            "_states/st.py",
            "def there(name, n=1, **kwargs):\n    return {'name': name, 'result': None if __opts__['test'] \
             else True, 'changes': {'n': n, 'id': __low__['__id__']}, 'comment': ''}\n",
        ),
        (
            "_grains/g.py",
            "def g(grains):\n    return {'mine': grains['os'] + '!'}\n",
        ),
    ])));
    let minion = minion(&files, root.path());
    minion.ret("saltutil.sync_all", &[]);
    let wanted: Vec<Value> = vec!["p".into(), 3.into(), "Debian".into(), "x".into(), 2.into()];
    assert_eq!(
        minion.ret("ours.list", &["p".into(), "depth=3".into()]),
        wanted.into()
    );
    let error = |arg: i64| match minion.run("ours.fail", &[arg.into()]).failure {
        Some(Failure::Call { error, .. }) => error,
        other => panic!("{other:?}"),
    };
    assert_eq!(error(1), CallError::Command("no".to_owned()));
    assert_eq!(error(2), CallError::Invocation("bad".to_owned()));
    let odd = error(3);
    assert_eq!(odd.to_string(), "RuntimeError: odd");
    let trace = odd.trace().unwrap();
    assert!(trace.contains("/modules/ours.py\", line "), "{trace}");
    assert!(trace.ends_with("\nRuntimeError: odd\n"), "{trace}");
    let failed = minion.run("ours.list", &[]);
    assert!(
        failed
            .ret
            .as_str()
            .unwrap()
            .contains("list_() missing 1 required positional argument: 'path'"),
        "{failed:?}"
    );
    // A module of the user hides ours, function by function.
    assert_eq!(minion.ret("test.ping", &[]), "mine".into());
    assert_eq!(minion.ret("test.echo", &["y".into()]), "y".into());
    let listed = minion.ret("sys.list_functions", &["ours".into()]);
    assert_eq!(texts(&listed), ["ours.fail", "ours.list", "ours.two"]);
    let doc = minion.ret("sys.doc", &["ours.list".into()]);
    assert_eq!(doc.get("ours.list"), Some(&"Lists.".into()));
    // Templates see them as well.
    let text = kwargs([
        (
            "string",
            "{{ salt['ours.two']() }}{{ salt.ours.two() }}".into(),
        ),
        ("default_renderer", "jinja".into()),
    ]);
    assert_eq!(minion.ret("slsutil.renderer", &[text]), "22".into());

    let grains = extensions::grains(
        minion.opts(),
        halite_core_modules::registry(),
        &Map::from([("os", "Debian")]),
    );
    assert_eq!(grains.get("mine"), Some(&"Debian!".into()));
    let scope = StateScope {
        test: true,
        low: Map::from([("__id__", "the id")]),
        ..StateScope::default()
    };
    let job = Job {
        state: Some(Arc::new(scope)),
        ..job("state.apply")
    };
    let kwargs = Map::from([("name", Value::from("a")), ("n", 5.into())]);
    let ret = run_state_function(&minion, "st.there", Vec::new(), kwargs, &job).unwrap();
    assert_eq!(ret.get("result"), Some(&Value::Nil));
    let changes = Map::from([("n", Value::from(5)), ("id", "the id".into())]);
    assert_eq!(ret.get("changes"), Some(&changes.into()));
}
