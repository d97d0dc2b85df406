//! The cases of gitfs that Salt's own tests name, in two repositories.

use serde_json::{Value, json};

/// A case: its name, and the options of the master.
type Case = (&'static str, Value);

/// All of them. `commit` is one of the first repository.
pub(super) fn all_cases(url: &str, other: &str, commit: &str) -> Vec<Case> {
    let mut all = cases_of_options(url, other, commit);
    all.extend(cases_of_environments(url, other));
    all
}

/// The options of all remotes and of the one.
fn cases_of_options(url: &str, other: &str, commit: &str) -> Vec<Case> {
    let one = |options: Value| json!({ "gitfs_remotes": [{ url: options }] });
    vec![
        ("plain", json!({ "gitfs_remotes": [url] })),
        ("root", one(json!([{ "root": "grail" }]))),
        (
            "mountpoint",
            one(json!([{ "mountpoint": "salt://mnt/sub" }])),
        ),
        (
            "root-mounted",
            one(json!([{ "root": "grail/swallow" }, { "mountpoint": "birds" }])),
        ),
        ("all_saltenvs", one(json!([{ "all_saltenvs": "mybranch" }]))),
        ("fallback", one(json!([{ "fallback": "mybranch" }]))),
        ("base-tag", one(json!([{ "base": "v1" }]))),
        ("base-commit", one(json!([{ "base": commit }]))),
        ("branches", one(json!([{ "ref_types": ["branch"] }]))),
        (
            "tags",
            one(json!([{ "ref_types": ["tag"] }, { "base": "v1" }])),
        ),
        (
            "refspecs",
            one(json!([{ "refspecs": ["+refs/heads/my*:refs/remotes/origin/my*"] }])),
        ),
        (
            "whitelist",
            json!({
                "gitfs_saltenv_whitelist": ["base", "my*"], "gitfs_remotes": [url],
            }),
        ),
        (
            "blacklist",
            json!({
                "gitfs_saltenv_blacklist": ["v\\d+", "annotated"], "gitfs_remotes": [url],
            }),
        ),
        (
            "whitelist-remote",
            one(json!([{ "saltenv_whitelist": "v1" }])),
        ),
        (
            "mapping",
            json!({
                "gitfs_disable_saltenv_mapping": true,
                "gitfs_saltenv": [{ "qa": [{ "ref": "mybranch" }, { "mountpoint": "salt://qa" }] }],
                "gitfs_remotes": [url],
            }),
        ),
        (
            "mapping-remote",
            one(json!([
                { "disable_saltenv_mapping": true },
                { "saltenv": [
                    { "base": [{ "ref": "v1" }] },
                    { "dev": [{ "ref": "mybranch" }, { "root": "grail" }] },
                ]},
            ])),
        ),
        (
            "per-saltenv",
            json!({
                "gitfs_root": "grail",
                "gitfs_saltenv": [{ "mybranch": [{ "mountpoint": "over" }] }],
                "gitfs_remotes": [url, { other: [{ "saltenv": [{ "mybranch": [{ "root": "" }] }] }] }],
            }),
        ),
        ("two", json!({ "gitfs_remotes": [other, url] })),
    ]
}

/// What maps environments, with references that are nowhere, and older names.
fn cases_of_environments(url: &str, other: &str) -> Vec<Case> {
    let one = |options: Value| json!({ "gitfs_remotes": [{ url: options }] });
    let missing = |env: &str| json!([{ env: [{ "ref": "somebranch" }] }]);
    vec![
        (
            "branches-of-all",
            json!({ "gitfs_ref_types": ["branch"], "gitfs_remotes": [url] }),
        ),
        (
            "no-base",
            json!({ "gitfs_saltenv_blacklist": "base", "gitfs_remotes": [url] }),
        ),
        (
            "base-alone",
            json!({ "gitfs_saltenv_whitelist": "base", "gitfs_remotes": [url] }),
        ),
        (
            "mapping-of-all-missing",
            json!({
                "gitfs_disable_saltenv_mapping": true, "gitfs_saltenv": missing("foo"),
                "gitfs_remotes": [url],
            }),
        ),
        (
            "mapping-of-all-own-missing",
            json!({
                "gitfs_disable_saltenv_mapping": true,
                "gitfs_remotes": [{ url: [{ "saltenv": missing("bar") }] }],
            }),
        ),
        (
            "mapping-own-all-missing",
            json!({
                "gitfs_saltenv": missing("hello"),
                "gitfs_remotes": [{ url: [{ "disable_saltenv_mapping": true }] }],
            }),
        ),
        (
            "mapping-own-missing",
            one(json!([{ "disable_saltenv_mapping": true }, { "saltenv": missing("world") }])),
        ),
        (
            "per-saltenv-of-both",
            json!({
                "gitfs_root": "grail",
                "gitfs_saltenv": [{ "baz": [
                    { "mountpoint": "salt://baz_mount" }, { "ref": "mybranch" }, { "root": "grail/swallow" },
                ]}],
                "gitfs_remotes": [
                    { url: [{ "saltenv": [{ "foo": [{ "ref": "v1" }, { "root": "соль" }] }] }] },
                    { other: [{ "mountpoint": "repo2" }, { "saltenv": [{ "baz": [{ "mountpoint": "abc" }] }] }] },
                ],
            }),
        ),
        (
            "one-twice",
            json!({ "gitfs_remotes": [
                { url: [{ "name": "name1" }, { "root": "grail" }] },
                { url: [{ "name": "name2" }, { "mountpoint": "salt/m" }] },
            ]}),
        ),
        (
            "provider",
            json!({ "gitfs_provider": "GitPython", "gitfs_remotes": [url] }),
        ),
    ]
}
