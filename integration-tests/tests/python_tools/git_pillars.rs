//! The options of git_pillar, one by one and together: the pillar that real Salt
//! compiles from the same remotes.

use anyhow::{Context, Result, ensure};
use halite_integration_tests::{Fleet, Kind};
use serde_json::{Value, json};

use crate::git_remotes::{COMPILE, Tree, salts};

/// The repositories of all cases.
struct Trees {
    /// With the branches `main` and `dev`.
    site: String,
    /// Names a file of `more` in its own top file.
    asking: String,
    /// Values that meet those of `site`.
    more: String,
    /// Its files are in `pillar`.
    below: String,
}

impl Trees {
    fn new(fleet: &Fleet) -> Result<Self> {
        let tree = |name: &str| Tree::new(&fleet.path().join(name));
        let site = tree("site")?;
        site.commit(&[
            ("top.sls", "base: {'*': [site]}\ndev: {'*': [site]}\n"),
            (
                "site.sls",
                "value: base\nlist: [1, 2]\nmap: {a: 1, c: {d: 1}}\n",
            ),
        ])?;
        site.git(&["checkout", "-q", "-b", "dev"])?;
        site.commit(&[("site.sls", "value: dev\nlist: [9]\n")])?;
        site.git(&["checkout", "-q", "main"])?;
        let asking = tree("asking")?;
        asking.commit(&[
            ("top.sls", "base: {'*': [own, more]}\n"),
            ("own.sls", "own: 1\n"),
        ])?;
        let more = tree("more")?;
        more.commit(&[
            ("top.sls", "base: {'*': [more]}\n"),
            (
                "more.sls",
                "value: more\nlist: [3]\nmap: {b: 2, c: {e: 2}}\n",
            ),
        ])?;
        more.git(&["tag", "dev"])?;
        let below = tree("below")?;
        below.commit(&[
            (
                "pillar/top.sls",
                "base: {'*': [port]}\ndev: {'*': [port]}\n",
            ),
            ("pillar/port.sls", "port: 80\n"),
            ("top.sls", "base: {'*': [never]}\n"),
        ])?;
        Ok(Self {
            site: site.url(),
            asking: asking.url(),
            more: more.url(),
            below: below.url(),
        })
    }
}

/// A case: its name, and what it adds to the options.
type Case = (&'static str, Value);

fn git(remotes: Value) -> Value {
    json!([{ "git": remotes }])
}

/// What is said for all remotes, and what may be said for one as well.
fn cases_of_remotes(trees: &Trees) -> Vec<Case> {
    let Trees {
        site,
        asking,
        more,
        below,
    } = trees;
    let of = |branch: &str, url: &str| format!("{branch} {url}");
    let (main, any) = (|url: &str| of("main", url), |url: &str| of("__env__", url));
    vec![
        (
            "includes",
            json!({ "ext_pillar": git(json!([main(asking), main(more)])) }),
        ),
        (
            "no includes",
            json!({
                "git_pillar_includes": false,
                "ext_pillar": git(json!([main(asking), main(more)])),
            }),
        ),
        (
            "all_saltenvs",
            json!({ "ext_pillar": git(json!([{ any(site): [{ "all_saltenvs": "dev" }] }])) }),
        ),
        (
            "root",
            json!({ "git_pillar_root": "pillar", "ext_pillar": git(json!([main(below)])) }),
        ),
        (
            "env",
            json!({ "git_pillar_env": "base", "ext_pillar": git(json!([of("dev", site)])) }),
        ),
        (
            "fallback",
            json!({ "git_pillar_fallback": "main", "ext_pillar": git(json!([any(below), any(site)])),
                "git_pillar_root": "" }),
        ),
        (
            "fallback with a root",
            json!({ "git_pillar_fallback": "main", "git_pillar_root": "pillar",
                "ext_pillar": git(json!([any(below)])) }),
        ),
        (
            "branch",
            json!({ "git_pillar_branch": "dev", "ext_pillar": git(json!([site])) }),
        ),
        (
            "base",
            json!({ "git_pillar_base": "dev", "ext_pillar": git(json!([any(site)])) }),
        ),
        (
            "mounted below an environment",
            json!({ "ext_pillar": git(json!([
                any(site),
                { any(below): [{ "root": "pillar" }, { "mountpoint": "web/server" },
                    { "fallback": "main" }] },
            ])) }),
        ),
    ]
}

/// How the pillars of remotes are laid over each other.
fn cases_of_merging(trees: &Trees) -> Vec<Case> {
    let Trees { site, more, .. } = trees;
    let entries = || {
        json!([
            { "git": [format!("main {site}"), format!("main {more}")] },
            { "git": [{ format!("dev {site}"): [{ "env": "base" }] }] },
        ])
    };
    let strategy = |name: &'static str| {
        let options = json!({
            "pillar_source_merging_strategy": name, "ext_pillar": entries(),
        });
        (name, options)
    };
    let mut cases: Vec<Case> = ["smart", "recurse", "aggregate", "overwrite", "none"]
        .map(strategy)
        .into();
    cases.push((
        "lists that are merged",
        json!({ "pillar_merge_lists": true, "ext_pillar": entries() }),
    ));
    cases.push((
        "external ones first",
        json!({ "ext_pillar_first": true, "ext_pillar": entries() }),
    ));
    cases
}

/// Whether a pillar is Salt's. In Salt the errors of one remote take the place of those
/// of the remotes before; ours has them all.
fn are_alike(theirs: &Value, own: &Value) -> bool {
    let parts = |pillar: &Value| {
        let mut pillar = pillar.as_object().cloned().unwrap_or_default();
        let errors = pillar.remove("_errors");
        let errors = errors.and_then(|errors| errors.as_array().cloned());
        (pillar, errors.unwrap_or_default())
    };
    let ((theirs, theirs_errors), (own, own_errors)) = (parts(theirs), parts(own));
    let has_each = theirs_errors.iter().all(|it| own_errors.contains(it));
    theirs == own && has_each && theirs_errors.is_empty() == own_errors.is_empty()
}

#[test]
fn each_option_of_pillars_does_what_it_does_in_salt() -> Result<()> {
    let fleet = Fleet::new("gitpillaroptions")?;
    let trees = Trees::new(&fleet)?;
    let mut unlike = Vec::new();
    let cases = [cases_of_remotes(&trees), cases_of_merging(&trees)].concat();
    for (nth, (name, options)) in cases.into_iter().enumerate() {
        let mut plan = fleet
            .master(&format!("m{nth}"), Kind::Ours)
            .auto_accept()
            .set("git_pillar_base", "main");
        for (option, value) in options.as_object().context("options are a map")? {
            plan = plan.set(option, value.clone());
        }
        let master = plan.start()?;
        let id = format!("web{nth}");
        let _minion = fleet.minion(&id, Kind::Ours).of(&master).start()?;
        master.wait_minion(&id)?;
        let cache = master.dir().join("of-salt").display().to_string();
        let theirs = salts(&master, &COMPILE.replace("MINION", &id), &cache)?;
        for (env, args) in [("None", &[][..]), ("dev", &["pillarenv=dev"])] {
            let words = [&["pillar.show_pillar", &id, "--out=json"], args].concat();
            let own = master.tools(Kind::Ours).runner(&words)?.ok()?.json()?;
            if !are_alike(&theirs[env], &own) {
                let theirs = &theirs[env];
                unlike.push(format!("{name}, {env}: {theirs} in Salt, {own} here"));
            }
        }
    }
    ensure!(unlike.is_empty(), "{}", unlike.join("\n"));
    Ok(())
}
