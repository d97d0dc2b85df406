//! `ext_pillar: - git`, with repositories in memory.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::collections::BTreeMap;
use std::sync::Arc;

use halite_fileserver::{FileServer, RootsOptions};
use halite_pillar::{Compiler, FileTree, MasterlessContext, RemotePlace, Repositories, Request};
use halite_proto::{Map, Value};

/// The text of a file that cannot be read.
const DAMAGED: &str = "an object is missing";

#[derive(Clone, Debug, Default)]
struct Files(BTreeMap<String, String>);

impl FileTree for Files {
    fn name(&self) -> String {
        "memory".to_owned()
    }

    fn has_file(&self, path: &str) -> Result<bool, String> {
        match self.0.get(path).map(String::as_str) {
            Some(DAMAGED) => Err(DAMAGED.to_owned()),
            file => Ok(file.is_some()),
        }
    }

    fn read(&self, path: &str, _bytes_max: u64) -> Result<Vec<u8>, String> {
        if self.has_file(path).is_err() {
            return Err(DAMAGED.to_owned());
        }
        let file = self.0.get(path).ok_or("there is none")?;
        Ok(file.clone().into_bytes())
    }

    fn files(&self, max: usize) -> Vec<String> {
        self.0.keys().take(max).cloned().collect()
    }
}

/// A remote with its branches; without any it was never fetched.
type Remote = (RemotePlace, BTreeMap<String, Files>);

#[derive(Debug)]
struct Memory(Vec<Vec<Remote>>);

impl Repositories for Memory {
    fn remotes(&self, nth: usize) -> Result<Vec<RemotePlace>, String> {
        Ok(self.0[nth].iter().map(|(place, _)| place.clone()).collect())
    }

    fn tree(
        &self,
        nth: usize,
        remote: usize,
        wanted: &str,
    ) -> Result<Option<Arc<dyn FileTree>>, String> {
        let branches = &self.0[nth][remote].1;
        if branches.is_empty() {
            return Err("it was not fetched yet".to_owned());
        }
        let files = branches.get(wanted).cloned();
        Ok(files.map(|files| Arc::new(files) as Arc<dyn FileTree>))
    }
}

fn place(branch: &str) -> RemotePlace {
    RemotePlace {
        name: format!("{branch} memory"),
        branch: branch.to_owned(),
        base: "master".to_owned(),
        ..RemotePlace::default()
    }
}

fn files(files: &[(&str, &str)]) -> Files {
    let file = |(path, text): &(&str, &str)| ((*path).to_owned(), (*text).to_owned());
    Files(files.iter().map(file).collect())
}

fn remote(place: RemotePlace, branches: &[(&str, Files)]) -> Remote {
    let branch = |(name, files): &(&str, Files)| ((*name).to_owned(), files.clone());
    (place, branches.iter().map(branch).collect())
}

fn top(env: &str, sls: &[&str]) -> String {
    format!("{env}: {{'*': [{}]}}", sls.join(", "))
}

/// The pillar of a minion as JSON.
fn compile(entries: Vec<Vec<Remote>>, options: &[(&str, Value)], request: Request) -> String {
    let git = |_: &Vec<Remote>| Map::from([("git", Vec::<Value>::new())]).into();
    let mut opts = Map::from([
        ("renderer", Value::from("jinja|yaml")),
        ("pillar_roots", Map::new().into()),
        (
            "ext_pillar",
            entries.iter().map(git).collect::<Vec<Value>>().into(),
        ),
    ]);
    for (name, value) in options {
        opts.insert(*name, value.clone());
    }
    let compiler = Compiler::new(&opts).unwrap();
    let compiler = compiler.with_repositories(Arc::new(Memory(entries)));
    let files = Arc::new(FileServer::from_roots(RootsOptions::default()).unwrap());
    let base = MasterlessContext::new(opts, halite_core_modules::registry(), files);
    let request = Request {
        id: "web1".to_owned(),
        ..request
    };
    let pillar: Value = halite_pillar::compile(&compiler, &request, &base).into();
    halite_proto::json::write(&pillar, halite_proto::json::Style::default()).unwrap()
}

#[test]
fn a_file_that_cannot_be_read_is_not_taken_for_one_that_is_not_there() {
    let own = files(&[("top.sls", &top("base", &["own"])), ("own.sls", DAMAGED)]);
    let remotes = vec![remote(place("master"), &[("master", own)])];
    let pillar = compile(vec![remotes], &[], Request::default());
    let failed = "Rendering SLS 'own' failed";
    assert!(pillar.contains(failed), "{pillar}");
}

#[test]
fn a_remote_has_its_own_top_file_and_the_files_of_the_others() {
    let first = files(&[
        (
            "top.sls",
            &top("base", &["own", "web.server.port", "shared"]),
        ),
        (
            "own/init.sls",
            "{% from 'own/map.jinja' import name with context %}\nname: {{ name }}",
        ),
        (
            "own/map.jinja",
            "{% set name = grains.get('none', 'jinja') %}",
        ),
        ("shared.sls", "from: first"),
    ]);
    let second = files(&[
        ("top.sls", &top("base", &["second", "shared"])),
        ("second.sls", "include: [own]\nsecond: true"),
        ("shared.sls", "from: second"),
    ]);
    let mounted = RemotePlace {
        mountpoint: "web/server".to_owned(),
        ..place("master")
    };
    let third = files(&[("top.sls", "not read"), ("port.sls", "port: 80")]);
    let entries = vec![vec![
        remote(place("master"), &[("master", first)]),
        remote(mounted, &[("master", third)]),
        remote(place("master"), &[("master", second)]),
    ]];
    assert_eq!(
        compile(entries.clone(), &[], Request::default()),
        r#"{"name": "jinja", "port": 80, "from": "second", "second": true}"#
    );
    let alone = [("git_pillar_includes", false.into())];
    let pillar = compile(entries, &alone, Request::default());
    assert!(
        pillar.contains("Specified SLS 'web.server.port' in environment 'base'"),
        "{pillar}"
    );
    assert!(
        pillar.contains("Specified SLS 'own' in environment 'base'"),
        "{pillar}"
    );
}

#[test]
fn an_error_that_two_remotes_have_is_said_once() {
    let bad = || files(&[("top.sls", &top("base", &["never"]))]);
    let remotes = [bad(), bad()].map(|files| remote(place("master"), &[("master", files)]));
    let pillar = compile(vec![remotes.into()], &[], Request::default());
    assert_eq!(pillar.matches("'never'").count(), 1, "{pillar}");
}

#[test]
fn an_entry_of_its_own_shares_nothing() {
    let first = files(&[("top.sls", &top("base", &["a*", "b*"])), ("a1.sls", "a: 1")]);
    let second = files(&[("top.sls", &top("base", &["b1"])), ("b1.sls", "b: 1")]);
    let one = remote(place("master"), &[("master", first)]);
    let two = remote(place("master"), &[("master", second)]);
    let apart = compile(
        vec![vec![one.clone()], vec![two.clone()]],
        &[],
        Request::default(),
    );
    assert!(apart.contains("Specified SLS 'b*'"), "{apart}");
    let together = compile(vec![vec![one, two]], &[], Request::default());
    assert_eq!(together, r#"{"a": 1, "b": 1}"#);
}

#[test]
fn the_environment_chooses_the_branch() {
    let branch = |env: &str| {
        let text = format!("branch: {env}");
        files(&[("top.sls", &top(env, &["here"])), ("here.sls", &text)])
    };
    let entries = || {
        let branches = [("master", branch("base")), ("dev", branch("dev"))];
        vec![vec![remote(place("__env__"), &branches)]]
    };
    let asked = |pillarenv: Option<&str>| Request {
        pillarenv: pillarenv.map(str::to_owned),
        ..Request::default()
    };
    assert_eq!(
        compile(entries(), &[], asked(None)),
        r#"{"branch": "base"}"#
    );
    assert_eq!(
        compile(entries(), &[], asked(Some("dev"))),
        r#"{"branch": "dev"}"#
    );
    assert_eq!(compile(entries(), &[], asked(Some("none"))), "{}");
}

#[test]
fn a_remote_that_is_not_there_costs_what_it_would_give_and_says_so() {
    let good = files(&[("top.sls", &top("base", &["x"])), ("x.sls", "x: 1")]);
    let broken = files(&[("top.sls", &top("base", &["missing"]))]);
    let entries = vec![vec![
        remote(place("unfetched"), &[]),
        remote(place("master"), &[("master", broken)]),
        remote(place("master"), &[("master", good)]),
    ]];
    assert_eq!(
        compile(entries, &[], Request::default()),
        "{\"x\": 1, \"_errors\": [\
         \"Failed to load ext_pillar git: unfetched memory: it was not fetched yet\", \
         \"Specified SLS 'missing' in environment 'base' is not available on the salt master\"]}"
    );
}
