//! Every option of remotes: it is read, for all of them and for one, that of
//! the one counts, and `docs/git.md` has it.

use super::super::read::options_of;
use super::*;

const DOCS: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/git.md"));

/// Options of pillars that are for all remotes alone, as in Salt.
const OF_ALL_PILLARS: [&str; 2] = ["branch", "update_interval"];

/// Two values of an option, neither of which is its default, and what a remote
/// shows of them.
struct Row {
    option: &'static str,
    /// An address for which the option means something.
    url: &'static str,
    /// What must be there as well.
    with: &'static [(&'static str, &'static str)],
    values: [Value; 2],
    seen: fn(&Remote) -> String,
    expected: [&'static str; 2],
}

impl Row {
    fn new(option: &'static str, values: [Value; 2], seen: fn(&Remote) -> String) -> Self {
        Self {
            option,
            url: "https://host/x.git",
            with: &[],
            values,
            seen,
            expected: ["", ""],
        }
    }

    fn texts(option: &'static str, seen: fn(&Remote) -> String) -> Self {
        Self::new(option, ["one".into(), "two".into()], seen).expected("one", "two")
    }

    fn expected(self, first: &'static str, second: &'static str) -> Self {
        Self {
            expected: [first, second],
            ..self
        }
    }

    fn of(self, url: &'static str, with: &'static [(&'static str, &'static str)]) -> Self {
        Self { url, with, ..self }
    }
}

fn shown(text: Option<&String>) -> String {
    text.cloned().unwrap_or_default()
}

fn secret(text: Option<&halite_crypto::Secret<String>>) -> String {
    text.map(|text| text.expose().clone()).unwrap_or_default()
}

fn path(path: Option<&PathBuf>) -> String {
    path.map(|path| path.display().to_string())
        .unwrap_or_default()
}

/// Which of some environments can be seen.
fn exposed(remote: &Remote) -> String {
    let envs = ["dev", "qa"].into_iter();
    envs.filter(|env| remote.exposed.shows(env)).collect()
}

fn of_a_reference() -> Vec<Row> {
    let kinds = |remote: &Remote| format!("{:?}", remote.ref_types);
    let only = |name: &str| list(vec![name.into()]);
    let specs = |remote: &Remote| remote.refspecs.join(" ");
    let signers = |remote: &Remote| {
        let files = remote.verify_signatures.iter();
        files.map(|file| path(Some(file))).collect()
    };
    vec![
        Row::texts("base", |remote| remote.base.clone()),
        Row::texts("branch", |remote| remote.branch.clone()),
        Row::texts("fallback", |remote| shown(remote.fallback.as_ref())),
        Row::texts("all_saltenvs", |remote| shown(remote.all_saltenvs.as_ref())),
        Row::new("ref_types", [only("tag"), only("sha")], kinds).expected("[Tag]", "[Sha]"),
        Row::new(
            "refspecs",
            [
                only("+refs/heads/a*:refs/remotes/origin/a*"),
                only("+refs/tags/b*:refs/tags/b*"),
            ],
            specs,
        )
        .expected(
            "+refs/heads/a*:refs/remotes/origin/a*",
            "+refs/tags/b*:refs/tags/b*",
        ),
        Row::new("depth", [1.into(), 2.into()], |remote| {
            format!("{:?}", remote.depth)
        })
        .expected("Some(1)", "Some(2)"),
        Row::new("verify_signatures", [only("/a"), only("/b")], signers).expected("/a", "/b"),
    ]
}

fn of_an_environment() -> Vec<Row> {
    let map_env = |reference: &str| {
        let options = list(vec![map("ref", reference)]);
        list(vec![map("prod", options)])
    };
    let lists = [list(vec!["dev".into()]), list(vec!["qa".into()])];
    vec![
        Row::texts("root", |remote| remote.root("x").to_owned()),
        Row::texts("mountpoint", |remote| remote.mountpoint("x").to_owned()),
        Row::texts("env", |remote| shown(remote.env.as_ref())),
        Row::new(
            "disable_saltenv_mapping",
            [true.into(), false.into()],
            |remote| format!("{:?}", remote.reference("dev")),
        )
        .expected("None", "Some(\"dev\")"),
        Row::new("saltenv", [map_env("one"), map_env("two")], |remote| {
            remote.reference("prod").unwrap_or_default().to_owned()
        })
        .expected("one", "two"),
        Row::new("saltenv_whitelist", lists.clone(), exposed).expected("dev", "qa"),
        Row::new("env_whitelist", lists.clone(), exposed).expected("dev", "qa"),
        Row::new("saltenv_blacklist", lists.clone(), exposed).expected("qa", "dev"),
        Row::new("env_blacklist", lists, exposed).expected("qa", "dev"),
    ]
}

fn of_a_fetch() -> Vec<Row> {
    const SSH: &str = "git@host:x.git";
    const KEY: &[(&str, &str)] = &[("privkey", "/key")];
    const LOGIN: &[(&str, &str)] = &[("user", "u"), ("password", "p")];
    vec![
        Row::texts("name", |remote| remote.dir()),
        Row::texts("proxy", |remote| shown(remote.proxy.as_ref())),
        Row::new("ssl_verify", [false.into(), true.into()], |remote| {
            remote.ssl_verify.to_string()
        })
        .expected("false", "true"),
        Row::new("update_interval", [7.into(), 8.into()], |remote| {
            remote.update_interval.as_secs().to_string()
        })
        .expected("7", "8"),
        Row::texts("user", |remote| shown(remote.auth.user.as_ref()))
            .of("https://host/x.git", LOGIN),
        Row::texts("password", |remote| secret(remote.auth.password.as_ref()))
            .of("https://host/x.git", LOGIN),
        Row::new("insecure_auth", [true.into(), false.into()], |remote| {
            remote.auth.insecure.to_string()
        })
        .expected("true", "false"),
        Row::texts("privkey", |remote| path(remote.auth.privkey.as_ref())).of(SSH, &[]),
        Row::texts("pubkey", |remote| path(remote.auth.pubkey.as_ref())).of(SSH, KEY),
        Row::texts("passphrase", |remote| {
            secret(remote.auth.passphrase.as_ref())
        })
        .of(SSH, KEY),
    ]
}

fn rows() -> Vec<Row> {
    [of_a_reference(), of_an_environment(), of_a_fetch()]
        .into_iter()
        .flatten()
        .collect()
}

/// A remote with the first value of an option for all, the second for itself.
fn read(role: Role, row: &Row, all: bool, own: bool) -> String {
    let name = |option: &str| Value::from(format!("{}_{option}", role.name()));
    let with = row.with.iter().filter(|(option, _)| *option != row.option);
    let mut opts: Map = with
        .map(|(option, value)| (name(option), Value::from(*value)))
        .collect();
    let [first, second] = row.values.clone();
    if all {
        opts.insert(name(row.option), first);
    }
    let entry = match own {
        true => map(row.url, list(vec![map(row.option, second)])),
        false => row.url.into(),
    };
    let mut remotes = Remote::all(role, &opts, &[entry])
        .unwrap_or_else(|error| panic!("{}: {error}", row.option));
    (row.seen)(&remotes.remove(0))
}

#[test]
fn each_option_counts_for_all_remotes_and_that_of_one_before_it() {
    for role in [Role::Gitfs, Role::GitPillar] {
        let (of_both, alone) = options_of(role);
        let mut tried = Vec::new();
        for row in rows() {
            let [first, second] = row.expected;
            if of_both.contains(&row.option) {
                assert_eq!(read(role, &row, true, false), first, "{}", row.option);
                assert_eq!(read(role, &row, true, true), second, "{}", row.option);
            } else if alone.contains(&row.option) {
                assert_eq!(read(role, &row, false, true), second, "{}", row.option);
            } else if OF_ALL_PILLARS.contains(&row.option) {
                assert_eq!(read(role, &row, true, false), first, "{}", row.option);
                continue;
            } else {
                continue;
            }
            tried.push(row.option);
        }
        let mut known = [of_both, alone.to_vec()].concat();
        known.sort_unstable();
        tried.sort_unstable();
        assert_eq!(tried, known, "{role:?}");
    }
}

#[test]
fn an_option_of_all_pillars_is_none_of_one() {
    for option in OF_ALL_PILLARS {
        let entry = map("https://host/x.git", list(vec![map(option, 7)]));
        let refused = Remote::all(Role::GitPillar, &Map::new(), &[entry]).unwrap_err();
        let why = refused.to_string();
        assert!(why.contains("no remote has this option"), "{why}");
    }
}

#[test]
fn only_the_names_of_salts_libraries_are_providers() {
    for role in [Role::Gitfs, Role::GitPillar] {
        let option = format!("{}_provider", role.name());
        let open = |name: Value| {
            let opts = Map::from([(option.as_str(), name)]);
            Remote::all(role, &opts, &["https://host/x.git".into()])
        };
        for name in ["pygit2", "GitPython", "gitcli", ""] {
            assert!(open(name.into()).is_ok(), "{name}");
        }
        for name in [Value::from("dulwich"), 2.into(), Value::List(Vec::new())] {
            let why = open(name).unwrap_err().to_string();
            assert!(why.contains(&format!("{option}: it is pygit2")), "{why}");
        }
    }
}

#[test]
fn the_table_of_the_manual_has_each_option() {
    let (of_both, alone) = options_of(Role::Gitfs);
    let rows: Vec<&str> = DOCS.lines().filter(|line| line.starts_with("| ")).collect();
    for option in [of_both, alone.to_vec()].concat() {
        let word = format!("`{option}`");
        let is_old = option.starts_with("env_");
        let row = rows.iter().find(|row| {
            let cell = row.split('|').nth(1).unwrap_or_default();
            if is_old { *row } else { cell }.contains(&word)
        });
        let row = row.unwrap_or_else(|| panic!("docs/git.md has no row of {option}"));
        assert!(row.contains("| remote"), "{row}");
    }
    let pillars = DOCS.split("# Pillars from git").nth(1).unwrap();
    let (of_both, alone) = options_of(Role::GitPillar);
    for option in [of_both, alone.to_vec()].concat() {
        let is_login = ["user", "pass", "priv", "pub", "insecure"]
            .iter()
            .any(|start| option.starts_with(start));
        let word = format!("`{option}`");
        assert!(is_login || pillars.contains(&word), "{option}");
    }
}

#[test]
fn what_is_said_of_an_environment_goes_from_the_remote_to_all_of_them() {
    let per = |options: &[(&str, &str)]| {
        let options = options.iter().map(|(name, value)| map(name, *value));
        list(options.collect())
    };
    let baz = per(&[
        ("mountpoint", "salt://baz_mount"),
        ("ref", "baz_branch"),
        ("root", "baz_root"),
    ]);
    let foo = per(&[("ref", "foo_branch"), ("root", "foo_root")]);
    let all = opts(&[
        ("gitfs_root", "salt".into()),
        ("gitfs_saltenv", list(vec![map("baz", baz)])),
        (
            "gitfs_remotes",
            list(vec![
                map(
                    "file:///tmp/repo1",
                    list(vec![map("saltenv", list(vec![map("foo", foo)]))]),
                ),
                map(
                    "file:///tmp/repo2",
                    list(vec![
                        map("mountpoint", "repo2"),
                        map(
                            "saltenv",
                            list(vec![map("baz", per(&[("mountpoint", "abc")]))]),
                        ),
                    ]),
                ),
            ]),
        ),
    ]);
    let remotes = Remote::gitfs(&all).unwrap();
    let seen = |at: usize, env: &str| {
        let remote = &remotes[at];
        let reference = remote.reference(env).unwrap_or_default().to_owned();
        [
            remote.mountpoint(env).to_owned(),
            reference,
            remote.root(env).to_owned(),
        ]
    };
    assert_eq!(seen(0, "foo"), ["", "foo_branch", "foo_root"]);
    assert_eq!(seen(0, "bar"), ["", "bar", "salt"]);
    assert_eq!(seen(0, "baz"), ["baz_mount", "baz_branch", "baz_root"]);
    assert_eq!(seen(1, "foo"), ["repo2", "foo", "salt"]);
    assert_eq!(seen(1, "bar"), ["repo2", "bar", "salt"]);
    assert_eq!(seen(1, "baz"), ["abc", "baz_branch", "baz_root"]);
}
