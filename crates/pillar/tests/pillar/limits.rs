//! Options that are refused, node groups of `file_tree`, and limits.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;
use std::sync::Arc;

use halite_fileserver::{FileServer, RootsOptions};
use halite_pillar::{Compiler, MasterlessContext, Request, SettingsError, limits};
use halite_proto::{Map, Value};

fn list(items: impl IntoIterator<Item = Value>) -> Value {
    Value::List(items.into_iter().collect())
}

fn opts(dir: &Path, more: &[(&str, Value)]) -> Map {
    let dir = Value::from(dir.to_str().unwrap());
    let mut opts = Map::from([("pillar_roots", Map::from([("base", list([dir]))]))]);
    for (name, value) in more {
        opts.insert(*name, value.clone());
    }
    opts
}

fn compile(opts: Map) -> Map {
    let compiler = Compiler::new(&opts).unwrap();
    let files = Arc::new(FileServer::from_roots(RootsOptions::default()).unwrap());
    let base = MasterlessContext::new(opts, halite_core_modules::registry(), files);
    let request = Request {
        id: "web1".to_owned(),
        grains: Arc::new(Map::from([("role", "web")])),
        ..Request::default()
    };
    halite_pillar::compile(&compiler, &request, &base)
}

fn errors(pillar: &Map) -> String {
    let errors = pillar.get("_errors").and_then(Value::as_list);
    let texts = errors.unwrap_or_default().iter().filter_map(Value::as_str);
    texts.collect::<Vec<_>>().join("\n")
}

#[test]
fn external_pillars_that_are_nowhere_are_errors_of_the_pillar() {
    let dir = tempfile::tempdir().unwrap();
    let mut opts = opts(
        dir.path(),
        &[
            ("ext_pillar", list([Map::from([("no_such", "x")]).into()])),
            ("extension_modules", dir.path().to_str().unwrap().into()),
        ],
    );
    let pillar = compile(opts.clone());
    let text = "Failed to load ext_pillar no_such: there is no such external pillar";
    assert!(errors(&pillar).starts_with(text), "{pillar:?}");
    for name in ["", "../x", "a.b"] {
        opts.insert("ext_pillar", list([Map::from([(name, "x")]).into()]));
        let refused = Compiler::new(&opts).unwrap_err();
        assert_eq!(refused, SettingsError::MalformedExternals, "{name}");
    }
}

/// As real Salt 3008.5 hands the arguments on.
const OWN: &str = "
def __virtual__():
    return 'own'

def ext_pillar(minion_id, pillar, *args, **kwargs):
    key = 'got_%d_%d' % (len(args), len(kwargs))
    return {key: [minion_id, sorted(pillar), list(args), kwargs, __grains__['role'], __salt__['test.echo']('hi')]}
";

const TOLD: &str = "
def ext_pillar(minion_id, pillar, conf, extra_minion_data=None):
    if conf == 'raise':
        raise ValueError('broken here')
    return {'nil': None, 'list': [1], 'told': {'told': [conf, extra_minion_data]}}[conf]
";

#[test]
fn external_pillars_in_python_get_what_they_are_configured_with() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("pillar")).unwrap();
    fs::write(dir.path().join("pillar/first.py"), OWN).unwrap();
    fs::write(dir.path().join("pillar/told.py"), TOLD).unwrap();
    let one = |name: &str, setting: Value| Value::from(Map::from([(name, setting)]));
    let externals = [
        one("own", "text".into()),
        one("own", list(["l1".into(), "l2".into()])),
        one("own", Map::from([("a", 1), ("b", 2)]).into()),
        one("told", "nil".into()),
        one("told", "told".into()),
        one("told", "raise".into()),
        one("told", "list".into()),
    ];
    let mut pillar = compile(opts(
        dir.path(),
        &[
            ("ext_pillar", list(externals)),
            ("extension_modules", dir.path().to_str().unwrap().into()),
        ],
    ));
    let told = errors(&pillar);
    assert!(told.contains("Failed to load ext_pillar told: "), "{told}");
    assert!(told.contains("broken here"), "{told}");
    assert!(told.contains("the data is no dictionary"), "{told}");
    pillar.remove("_errors");
    let expected = halite_yaml::load(
        "{got_1_0: [web1, [], [text], {}, web, hi],
          got_2_0: [web1, [got_1_0], [l1, l2], {}, web, hi],
          got_0_2: [web1, [got_1_0, got_2_0], [], {a: 1, b: 2}, web, hi],
          told: [told, null]}",
        "test",
    );
    assert_eq!(Value::from(pillar), expected.unwrap().into_value());
}

const SEEN: &str = "
def ext_pillar(minion_id, pillar, conf, extra_minion_data='unsaid'):
    own = [__opts__['id'], __opts__['minion_id'], __salt__['config.get']('id')]
    return {conf: own + [sorted(__pillar__), sorted(pillar), extra_minion_data]}
";

#[test]
fn external_pillars_in_python_are_the_masters_and_see_what_the_files_say() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("pillar")).unwrap();
    fs::write(dir.path().join("pillar/seen.py"), SEEN).unwrap();
    fs::write(dir.path().join("top.sls"), "base: {'*': [filed]}").unwrap();
    fs::write(dir.path().join("filed.sls"), "filed: {{ opts.id }}").unwrap();
    let one = |conf: &str| Value::from(Map::from([("seen", conf)]));
    let opts = opts(
        dir.path(),
        &[
            ("id", "head_master".into()),
            ("ext_pillar", list([one("first"), one("second")])),
            ("extension_modules", dir.path().to_str().unwrap().into()),
        ],
    );
    let seen = |extra_minion_data: Map| {
        let compiler = Compiler::new(&opts).unwrap();
        let files = Arc::new(FileServer::from_roots(RootsOptions::default()).unwrap());
        let base = MasterlessContext::new(opts.clone(), halite_core_modules::registry(), files);
        let request = Request {
            id: "web1".to_owned(),
            extra_minion_data,
            overrides: Map::from([("given", 1)]),
            ..Request::default()
        };
        let mut pillar = halite_pillar::compile(&compiler, &request, &base);
        pillar.remove("given");
        Value::from(pillar)
    };
    let expected = |extra: &str| {
        let text = format!(
            "{{filed: web1,
              first: [head_master, web1, head_master, [filed, given], [filed, given], {extra}],
              second: [head_master, web1, head_master, [filed, given], [filed, first, given], {extra}]}}"
        );
        halite_yaml::load(&text, "test").unwrap().into_value()
    };
    assert_eq!(seen(Map::new()), expected("unsaid"));
    assert_eq!(seen(Map::from([("rack", "r1")])), expected("{rack: r1}"));
}

#[test]
fn the_masters_options_come_without_its_secrets() {
    let dir = tempfile::tempdir().unwrap();
    let pillar = compile(opts(
        dir.path(),
        &[
            ("pillar_opts", true.into()),
            ("interface", "127.0.0.1".into()),
            ("auth.ldap.bindpw", "hush".into()),
            ("key_pass", "hush".into()),
            ("sharedsecret", "hush".into()),
        ],
    ));
    let shown = pillar.get("master").and_then(Value::as_map).unwrap();
    assert_eq!(shown.get("interface"), Some(&"127.0.0.1".into()));
    assert!(!format!("{shown:?}").contains("hush"));
}

#[test]
fn node_groups_have_trees_under_those_of_hosts() {
    let dir = tempfile::tempdir().unwrap();
    for (path, text) in [
        ("nodegroups/web/shared", "of the group"),
        ("nodegroups/web/own", "of the group"),
        ("nodegroups/db/never", "other group"),
        ("nodegroups/unknown/never", "no group"),
        ("hosts/web1/own", "of the host"),
    ] {
        let path = dir.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let root = dir.path().to_str().unwrap();
    let tree = Map::from([("file_tree", Map::from([("root_dir", root)]))]);
    let groups = Map::from([("web", "G@role:web"), ("db", "G@role:db")]);
    let pillar = compile(opts(
        Path::new("/nowhere"),
        &[
            ("ext_pillar", list([tree.into()])),
            ("nodegroups", groups.into()),
        ],
    ));
    let wanted = Map::from([("shared", "of the group"), ("own", "of the host")]);
    assert_eq!(pillar, wanted);
}

#[test]
fn a_chain_of_includes_ends() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("top.sls"), "base: {'*': [s0]}").unwrap();
    for at in 0..=limits::INCLUDE_DEPTH_MAX + 5 {
        let text = format!("include: [s{}]\nk{at}: 1\n", at + 1);
        fs::write(dir.path().join(format!("s{at}.sls")), text).unwrap();
    }
    let pillar = compile(opts(dir.path(), &[]));
    assert!(errors(&pillar).contains("is included through more than"));
    assert!(pillar.contains_key("k0") && pillar.contains_key("k50"));
}

#[test]
fn what_is_larger_than_a_pillar_file_may_be_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("top.sls"), "base: {'*': [large, text]}").unwrap();
    let file = fs::File::create(dir.path().join("large.sls")).unwrap();
    file.set_len(limits::SLS_BYTES_MAX + 1).unwrap();
    fs::write(dir.path().join("text.sls"), b"a: \xff\n").unwrap();
    let pillar = compile(opts(
        dir.path(),
        &[("pillar_safe_render_error", false.into())],
    ));
    let errors = errors(&pillar);
    assert!(errors.contains("large.sls: larger than"), "{errors}");
    assert!(errors.contains("'utf-8' codec can't decode"), "{errors}");
}

#[test]
fn names_do_not_leave_their_roots() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("root");
    fs::create_dir_all(&root).unwrap();
    fs::write(dir.path().join("secret.sls"), "secret: 1").unwrap();
    let absolute = dir.path().join("secret");
    let absolute = absolute.to_str().unwrap();
    fs::write(
        root.join("top.sls"),
        format!("base: {{'*': ['../secret', '/../secret', '{absolute}', a]}}"),
    )
    .unwrap();
    fs::write(
        root.join("a.sls"),
        "a: {% include '../secret.sls' ignore missing %}\n",
    )
    .unwrap();
    let pillar = compile(opts(&root, &[]));
    assert!(!pillar.contains_key("secret"), "{pillar:?}");
    assert!(pillar.get("a").is_none_or(Value::is_nil), "{pillar:?}");
}

#[test]
fn what_cannot_be_decrypted_is_told_and_the_rest_stays() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("top.sls"), "base: {'*': [a]}").unwrap();
    fs::write(dir.path().join("a.sls"), "a: {b: text}\nc: other\n").unwrap();
    let paths = list([
        Map::from([("a:b", "nacl")]).into(),
        "nosuch".into(),
        "c:deeper".into(),
    ]);
    let pillar = compile(opts(
        dir.path(),
        &[
            ("decrypt_pillar", paths),
            ("decrypt_pillar_renderers", list(["gpg".into()])),
        ],
    ));
    assert_eq!(
        errors(&pillar),
        "Failed to decrypt pillar key 'a:b': 'nacl' is not a valid decryption renderer. \
         Valid choices are: gpg"
    );
    let wanted = Map::from([("b", "text")]);
    assert_eq!(pillar.get("a").and_then(Value::as_map), Some(&wanted));
}
