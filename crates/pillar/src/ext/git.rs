//! `git`: the pillars of repositories.
//!
//! Mirrors `salt/pillar/git_pillar.py` and `GitPillar` of `salt/utils/gitfs.py`
//! (3008.5). Each remote without a mount point gives a pillar of its own, from its
//! own top file; the files of the others of its environment may be included. They
//! are merged in the order of the options. Invariant: each remote is asked for its
//! tree once for each pillar.

use std::sync::Arc;

use halite_proto::{Map, Value};

use super::Externals;
use crate::repository::{FileTree, RemotePlace, Repositories};
use crate::request::Request;
use crate::tree::{GivenRoots, Root};

/// A branch, or an environment, that stands for the minion's.
const ANY_ENV: &str = "__env__";

const BASE: &str = "base";

/// The environments of the minion whose pillar it is.
#[derive(Clone, Copy, Debug)]
struct Envs<'a> {
    pillarenv: Option<&'a str>,
    saltenv: Option<&'a str>,
    /// `git_pillar_base`.
    git_base: &'a str,
}

impl<'a> Envs<'a> {
    /// The environment that is asked for, if one is.
    fn asked(&self) -> Option<&'a str> {
        self.pillarenv
            .or(self.saltenv)
            .filter(|env| !env.is_empty())
    }
}

/// The branch or tag that a remote's files are of.
fn wanted(remote: &RemotePlace, envs: Envs<'_>) -> String {
    if remote.branch != ANY_ENV {
        return remote.branch.clone();
    }
    if let Some(all) = &remote.all_saltenvs {
        return all.clone();
    }
    match envs.asked().unwrap_or(BASE) {
        BASE => remote.base.clone(),
        env => env.to_owned(),
    }
}

/// The environment that a remote's files are in; may be `__env__`.
fn environment(remote: &RemotePlace, wanted: &str, envs: Envs<'_>) -> String {
    let is_of_all = remote.branch == ANY_ENV && remote.all_saltenvs.is_some();
    if is_of_all {
        return envs.asked().unwrap_or(BASE).to_owned();
    }
    if let Some(env) = &remote.env {
        return env.clone();
    }
    let is_base = remote.branch == remote.base || wanted == remote.base;
    if is_base { BASE } else { wanted }.to_owned()
}

/// A remote with its files.
struct Placed {
    place: RemotePlace,
    env: String,
    tree: Arc<dyn FileTree>,
}

impl Placed {
    fn is_mounted(&self) -> bool {
        !self.place.mountpoint.is_empty()
    }

    fn root(&self) -> Root {
        Root::Tree {
            mountpoint: self.place.mountpoint.clone(),
            tree: Arc::clone(&self.tree),
        }
    }
}

/// The pillars to be compiled, as environments with their roots. With
/// `includes` each has the files of the others of its environment too.
fn compilations(placed: &[Placed], envs: Envs<'_>, includes: bool) -> Vec<(String, Vec<Root>)> {
    let mut compilations = Vec::new();
    for (at, remote) in placed.iter().enumerate() {
        let env = match remote.env.as_str() {
            ANY_ENV => envs.asked().unwrap_or(envs.git_base),
            env => env,
        };
        let is_meant = envs.pillarenv.is_none_or(|wanted| wanted == env);
        if !is_meant || remote.is_mounted() {
            continue;
        }
        let mut roots = vec![remote.root()];
        if includes {
            // As in Salt, an environment `__env__` is not that of another one.
            let others = placed.iter().enumerate();
            let others = others.filter(|(other, placed)| *other != at && placed.env == env);
            roots.extend(others.map(|(_, placed)| placed.root()));
        }
        compilations.push((env.to_owned(), roots));
    }
    compilations
}

/// The pillar of the `nth` entry, and what is wrong with it.
pub(super) fn read(
    nth: usize,
    repositories: &dyn Repositories,
    at: &Externals<'_>,
) -> (Map, Vec<String>) {
    let base = at.opts.get("git_pillar_base").and_then(Value::as_str);
    let envs = Envs {
        pillarenv: at.pillarenv,
        saltenv: at.saltenv,
        git_base: base.unwrap_or("master"),
    };
    let mut errors = Vec::new();
    let mut placed = Vec::new();
    let remotes = repositories.remotes(nth).unwrap_or_else(|why| {
        errors.push(format!("Failed to load ext_pillar git: {why}"));
        Vec::new()
    });
    for (index, place) in remotes.into_iter().enumerate() {
        let wanted = wanted(&place, envs);
        match repositories.tree(nth, index, &wanted) {
            Ok(Some(tree)) => placed.push(Placed {
                env: environment(&place, &wanted, envs),
                place,
                tree,
            }),
            // Many remotes do not have all environments.
            Ok(None) => tracing::info!(
                remote = place.name,
                wanted,
                minion = at.request.id,
                "a remote of pillars has no such branch or tag, or not its root"
            ),
            Err(why) => errors.push(format!(
                "Failed to load ext_pillar git: {}: {why}",
                place.name
            )),
        }
    }
    let includes = at.opts.get("git_pillar_includes");
    let includes = includes.is_none_or(Value::is_true);
    let mut pillar = Map::new();
    for (env, roots) in compilations(&placed, envs, includes) {
        let request = Request {
            id: at.request.id.clone(),
            grains: Arc::clone(&at.request.grains),
            saltenv: Some(env.clone()),
            pillarenv: at.pillarenv.map(str::to_owned),
            roots: Some(Arc::new(GivenRoots { env, roots })),
            ..Request::default()
        };
        let mut own = at.effects.compile(&request);
        if let Some(Value::List(own)) = own.remove("_errors") {
            errors.extend(own.into_iter().map(|error| halite_yaml::python_str(&error)));
        }
        pillar = at.merging.merge(pillar, &own);
    }
    (pillar, errors)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Empty(&'static str);

    impl FileTree for Empty {
        fn name(&self) -> String {
            self.0.to_owned()
        }

        fn has_file(&self, _path: &str) -> Result<bool, String> {
            Ok(false)
        }

        fn read(&self, _path: &str, _bytes_max: u64) -> Result<Vec<u8>, String> {
            Err("there is none".to_owned())
        }

        fn files(&self, _max: usize) -> Vec<String> {
            Vec::new()
        }
    }

    const NONE: Envs<'_> = Envs {
        pillarenv: None,
        saltenv: None,
        git_base: "master",
    };

    fn remote(branch: &str) -> RemotePlace {
        RemotePlace {
            branch: branch.to_owned(),
            base: "master".to_owned(),
            ..RemotePlace::default()
        }
    }

    /// What is fetched of a remote, and its environment.
    fn place(remote: &RemotePlace, envs: Envs<'_>) -> (String, String) {
        let wanted = wanted(remote, envs);
        let env = environment(remote, &wanted, envs);
        (wanted, env)
    }

    fn pair(wanted: &str, env: &str) -> (String, String) {
        (wanted.to_owned(), env.to_owned())
    }

    #[test]
    fn a_branch_is_the_environment_of_its_name_and_the_base_is_base() {
        assert_eq!(place(&remote("master"), NONE), pair("master", "base"));
        assert_eq!(place(&remote("dev"), NONE), pair("dev", "dev"));
        let named = RemotePlace {
            env: Some("qa".to_owned()),
            ..remote("dev")
        };
        assert_eq!(place(&named, NONE), pair("dev", "qa"));
    }

    #[test]
    fn env_stands_for_the_environment_that_is_asked_for() {
        let any = remote(ANY_ENV);
        assert_eq!(place(&any, NONE), pair("master", "base"));
        let asked = |pillarenv, saltenv| Envs {
            pillarenv,
            saltenv,
            ..NONE
        };
        assert_eq!(
            place(&any, asked(Some("qa"), Some("dev"))),
            pair("qa", "qa")
        );
        assert_eq!(place(&any, asked(None, Some("dev"))), pair("dev", "dev"));
        assert_eq!(
            place(&any, asked(Some("base"), None)),
            pair("master", "base")
        );
        let all = RemotePlace {
            all_saltenvs: Some("main".to_owned()),
            env: Some("never".to_owned()),
            ..any
        };
        assert_eq!(place(&all, NONE), pair("main", "base"));
        assert_eq!(place(&all, asked(None, Some("dev"))), pair("main", "dev"));
    }

    fn placed(name: &'static str, env: &str, mountpoint: &str) -> Placed {
        Placed {
            place: RemotePlace {
                mountpoint: mountpoint.to_owned(),
                ..remote("master")
            },
            env: env.to_owned(),
            tree: Arc::new(Empty(name)),
        }
    }

    /// The environments with the names of their trees.
    fn names(compilations: Vec<(String, Vec<Root>)>) -> Vec<String> {
        let name = |root: &Root| match root {
            Root::Tree { tree, .. } => tree.name(),
            Root::Directory(path) => path.display().to_string(),
        };
        let show = |(env, roots): (String, Vec<Root>)| {
            let roots: Vec<String> = roots.iter().map(name).collect();
            format!("{env}: {}", roots.join(" "))
        };
        compilations.into_iter().map(show).collect()
    }

    #[test]
    fn each_remote_comes_with_the_others_of_its_environment_behind_it() {
        let all = [
            placed("a", "base", ""),
            placed("b", "dev", ""),
            placed("c", "base", "web/server"),
            placed("d", "base", ""),
        ];
        assert_eq!(
            names(compilations(&all, NONE, true)),
            ["base: a c d", "dev: b", "base: d a c"]
        );
        assert_eq!(
            names(compilations(&all, NONE, false)),
            ["base: a", "dev: b", "base: d"]
        );
        let dev = Envs {
            pillarenv: Some("dev"),
            ..NONE
        };
        assert_eq!(names(compilations(&all, dev, true)), ["dev: b"]);
    }

    #[test]
    fn an_environment_that_stands_for_another_has_the_others_of_that_one() {
        let all = [
            placed("a", ANY_ENV, ""),
            placed("b", "dev", ""),
            placed("c", ANY_ENV, ""),
        ];
        let dev = Envs {
            saltenv: Some("dev"),
            ..NONE
        };
        assert_eq!(
            names(compilations(&all, dev, true)),
            ["dev: a b", "dev: b", "dev: c b"]
        );
        assert_eq!(
            names(compilations(&all, NONE, true)),
            ["master: a", "dev: b", "master: c"]
        );
    }
}
