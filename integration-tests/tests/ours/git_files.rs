//! States from git: the effect of a commit, and of a remote that hangs.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, ensure};
use halite_integration_tests::{Fleet, Kind, Master, Program, START, until};
use serde_json::{Value, json};

/// A repository that states are committed to.
pub(crate) struct States(PathBuf);

impl States {
    pub(crate) fn new(dir: &Path) -> Result<Self> {
        fs::create_dir_all(dir)?;
        let this = Self(dir.to_owned());
        this.git(&["init", "-q", "-b", "main"])?;
        Ok(this)
    }

    pub(crate) fn git(&self, words: &[&str]) -> Result<String> {
        let output = Command::new("git")
            .args(["-c", "user.name=t", "-c", "user.email=t@t"])
            .args(words)
            .current_dir(&self.0)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .output()?;
        ensure!(output.status.success(), "git {words:?}: {output:?}");
        Ok(String::from_utf8(output.stdout)?.trim().to_owned())
    }

    /// Commits a file; the id of the commit.
    pub(crate) fn commit(&self, path: &str, text: &str) -> Result<String> {
        let file = self.0.join(path);
        if let Some(dir) = file.parent() {
            fs::create_dir_all(dir)?;
        }
        fs::write(file, text)?;
        self.git(&["add", "-A"])?;
        self.git(&["commit", "-q", "-m", "x"])?;
        self.git(&["rev-parse", "HEAD"])
    }

    pub(crate) fn url(&self) -> String {
        format!("file://{}", self.0.display())
    }
}

pub(crate) fn run(master: &Master, words: &[&str]) -> Result<Value> {
    let words = [words, &["--out=json"]].concat();
    master.tools(Kind::Ours).runner(&words)?.ok()?.json()
}

#[test]
fn states_come_from_git_and_a_remote_that_hangs_delays_nothing() -> Result<()> {
    let fleet = Fleet::new("gitfs")?;
    let states = States::new(&fleet.path().join("states"))?;
    let target = fleet.path().join("managed");
    let sls = format!(
        "{}:\n  file.managed:\n    - source: salt://web/note\n",
        target.display()
    );
    states.commit("web/init.sls", &sls)?;
    let first = states.commit("web/note", "one\n")?;
    // It takes whoever comes and says nothing.
    let hanging = TcpListener::bind("127.0.0.1:0")?;
    let hangs = format!("git://{}/x.git", hanging.local_addr()?);
    let master = fleet
        .master("m1", Kind::Ours)
        .auto_accept()
        .set("fileserver_backend", json!(["git"]))
        .set("gitfs_base", "main")
        .set("gitfs_update_interval", 3600)
        .set("gitfs_remotes", json!([hangs, states.url()]))
        .start()?;
    let _minion = fleet.minion("web1", Kind::Ours).of(&master).start()?;
    master.wait_minion("web1")?;
    let commit = || -> Result<Option<Value>> {
        let status = run(&master, &["fileserver.status"])?;
        let envs = status
            .get(states.url())
            .and_then(|remote| remote.get("envs"));
        Ok(envs.and_then(|envs| envs.get("base")).cloned())
    };
    until("the first commit", START, || {
        Ok((commit()? == Some(json!(first))).then_some(()))
    })?;
    let apply = || -> Result<()> {
        let done = master.tools(Kind::Ours);
        done.salt(&["web1", "state.apply", "web", "--out=json"])?
            .ok()?;
        Ok(())
    };
    apply()?;
    ensure!(fs::read_to_string(&target)? == "one\n");
    let second = states.commit("web/note", "two\n")?;
    ensure!(commit()? == Some(json!(first)), "fetched too early");
    // The other remote's update is still at work, and is not waited for long.
    run(&master, &["fileserver.update"])?;
    until("the second commit", START, || {
        Ok((commit()? == Some(json!(second))).then_some(()))
    })?;
    apply()?;
    ensure!(fs::read_to_string(&target)? == "two\n");
    Ok(())
}

#[test]
fn an_option_of_a_remote_that_cannot_be_used_has_its_place() -> Result<()> {
    let fleet = Fleet::new("gitfs-options")?;
    let dir = fleet.path().join("conf");
    fs::create_dir_all(&dir)?;
    let text = "fileserver_backend: [git]\ngitfs_remotes:\n  - file:///srv/one\n  \
                - file:///srv/two:\n    - bass: main\next_pillar:\n  \
                - git:\n    - main file:///srv/three:\n      - rot: pillar\n";
    fs::write(dir.join("master"), text)?;
    let program = fleet.programs().path(Kind::Ours, Program::Master)?;
    let output = Command::new(program)
        .arg("--check")
        .arg("-c")
        .arg(&dir)
        .output()?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned()
        + &String::from_utf8_lossy(&output.stdout);
    ensure!(!output.status.success(), "{said}");
    for fault in [
        "master:5:7: gitfs_remotes: remote \"file:///srv/two\": bass: ",
        "master:9:9: ext_pillar: remote \"file:///srv/three\": rot: ",
    ] {
        ensure!(said.contains(fault), "{said}");
    }
    Ok(())
}

#[test]
fn a_run_goes_on_with_the_commit_it_began_with_and_its_return_names_it() -> Result<()> {
    let fleet = Fleet::new("gitfs-begun")?;
    let states = States::new(&fleet.path().join("states"))?;
    let (begun, go) = (fleet.path().join("begun"), fleet.path().join("go"));
    let (note, text) = (fleet.path().join("note"), fleet.path().join("text"));
    let sls = format!(
        "wait:\n  cmd.run:\n    - name: touch {} && while test ! -e {}; do sleep 0.05; done\n\
         {}:\n  file.managed:\n    - source: salt://web/note\n\
         {}:\n  file.managed:\n    - template: jinja\n    - source: salt://web/text\n",
        begun.display(),
        go.display(),
        note.display(),
        text.display(),
    );
    states.commit("web/init.sls", &sls)?;
    states.commit("web/text", "{% include 'web/note' %}\n")?;
    let first = states.commit("web/note", "one\n")?;
    let master = fleet
        .master("m1", Kind::Ours)
        .auto_accept()
        .set("fileserver_backend", json!(["git"]))
        .set("gitfs_base", "main")
        .set("gitfs_update_interval", 3600)
        .set(
            "gitfs_remotes",
            json!([{ states.url(): [{ "name": "states" }] }]),
        )
        .start()?;
    let _minion = fleet.minion("web1", Kind::Ours).of(&master).start()?;
    master.wait_minion("web1")?;
    run(&master, &["fileserver.update"])?;
    let texts = || -> Result<(String, String)> {
        Ok((fs::read_to_string(&note)?, fs::read_to_string(&text)?))
    };
    let apply = ["web1", "state.apply", "web", "--async"];
    master.tools(Kind::Ours).salt(&apply)?.ok()?;
    until("the run's first state", START, || {
        Ok(begun.exists().then_some(()))
    })?;
    // In the middle of it one file is another, and one has another name.
    states.commit("web/note", "two\n")?;
    states.git(&["mv", "web/text", "web/other"])?;
    let second = states.commit("web/init.sls", "nothing: test.nop\n")?;
    run(&master, &["fileserver.update"])?;
    fs::write(&go, "")?;
    let returned = |event: &halite_integration_tests::Event| {
        event.tag.ends_with("/ret/web1") && event.data["fun"] == json!("state.apply")
    };
    let events = master.events()?;
    let event = events.wait("the return", START, returned)?;
    ensure!(
        texts()? == ("one\n".to_owned(), "one\n".to_owned()),
        "{:?} {event:?}",
        texts()
    );
    let commits = &event.data["halite_commits"];
    ensure!(
        *commits == json!({ "base": { "states": first } }),
        "{event:?}"
    );
    let mark = events.mark();
    master.tools(Kind::Ours).salt(&apply)?.ok()?;
    let event = events.wait_after(mark, "the next return", START, returned)?;
    let commits = &event.data["halite_commits"];
    ensure!(
        *commits == json!({ "base": { "states": second } }),
        "{event:?}"
    );
    let jid = event.data["jid"].as_str().unwrap_or_default();
    job_names_the_commit(&master, jid, &second)
}

/// The job cache keeps it, and shows it where no program of Salt's looks.
fn job_names_the_commit(master: &Master, jid: &str, commit: &str) -> Result<()> {
    let job = run(master, &["jobs.print_job", jid])?;
    ensure!(
        job[jid]["Commits"] == json!({ "web1": { "base": { "states": commit } } }),
        "{job}"
    );
    let result = job[jid]["Result"]["web1"].as_object();
    let names: Vec<&String> = result.into_iter().flat_map(|map| map.keys()).collect();
    ensure!(!names.iter().any(|name| name.contains("commits")), "{job}");
    let looked_up = run(master, &["jobs.lookup_jid", jid])?;
    ensure!(!looked_up.to_string().contains(commit), "{looked_up}");
    Ok(())
}

#[test]
fn all_masters_are_held_at_one_commit_or_none_is() -> Result<()> {
    let fleet = Fleet::new("gitfs-held")?;
    let states = States::new(&fleet.path().join("states"))?;
    let first = states.commit("note", "one\n")?;
    let plan = |name: &str| {
        fleet
            .master(name, Kind::Ours)
            .set("fileserver_backend", json!(["git"]))
            .set("gitfs_base", "main")
            .set("gitfs_update_interval", 3600)
            .set(
                "gitfs_remotes",
                json!([{ states.url(): [{ "name": "states" }] }]),
            )
    };
    let one = plan("m1").start()?;
    let two = plan("m2").key_pair_of(&one).start()?;
    let address = two.address().request().to_string();
    let update = |master: &Master| run(master, &["fileserver.update"]).map(drop);
    update(&one)?;
    update(&two)?;
    let served = |master: &Master| -> Result<Value> {
        let status = run(master, &["fileserver.status"])?;
        Ok(status[states.url()]["envs"]["base"].clone())
    };
    let promote = |commit: &str| {
        let words = ["fileserver.promote", commit, &address, "--out=json"];
        one.tools(Kind::Ours).runner(&words)
    };
    let compared = || -> Result<Value> {
        let words = ["masters.compare", &address, "--out=json"];
        // A master answers such a question once a second.
        until("the other master to be asked seldom enough", START, || {
            let rows = one.tools(Kind::Ours).runner(&words)?.json()?;
            let is_answer = !rows.to_string().contains("asked too often");
            Ok(is_answer.then_some(rows))
        })
    };
    let second = states.commit("note", "two\n")?;
    update(&one)?;
    let rows = compared()?;
    ensure!(rows[0]["topic"] == "commits", "{rows}");
    let said = rows[0]["difference"].as_str().unwrap_or_default();
    ensure!(said.contains(&first) && said.contains(&second), "{rows}");

    // The other one does not have it yet.
    let refused = promote(&second)?;
    ensure!(refused.code != 0, "{refused}");
    ensure!(refused.stdout.contains("nothing was changed"), "{refused}");
    ensure!(served(&two)? == json!(first));
    let done = promote(&first)?.ok()?.json()?;
    let moved = done.as_object().map(|done| done.values().collect());
    ensure!(moved == Some(vec![&json!(first); 2]), "{done}");
    update(&two)?;
    for master in [&one, &two] {
        ensure!(served(master)? == json!(first), "{}", served(master)?);
    }
    let rows = compared()?;
    ensure!(rows[0]["agree"] == json!(true), "{rows}");
    // A branch is the commit that it is here.
    states.commit("note", "three\n")?;
    update(&two)?;
    promote("main")?.ok()?;
    for master in [&one, &two] {
        ensure!(served(master)? == json!(second), "{}", served(master)?);
    }
    promote("latest")?.ok()?;
    ensure!(served(&one)? == json!(second));
    ensure!(served(&two)? != json!(second), "it has a third one");
    Ok(())
}

#[test]
fn an_update_fires_an_event_with_the_environments_that_have_moved() -> Result<()> {
    let fleet = Fleet::new("gitfs-events")?;
    let states = States::new(&fleet.path().join("states"))?;
    states.commit("note", "one\n")?;
    states.git(&["branch", "dev"])?;
    states.git(&["branch", "old"])?;
    let master = fleet
        .master("m1", Kind::Ours)
        .set("fileserver_backend", json!(["git"]))
        .set("fileserver_events", true)
        .set("gitfs_base", "main")
        .set("gitfs_update_interval", 3600)
        .set("gitfs_remotes", json!([states.url()]))
        .start()?;
    let update = || run(&master, &["fileserver.update"]);
    update()?;
    let events = master.events()?;
    let next = |mark: usize| {
        events.wait_after(mark, "the event", START, |event| {
            event.tag == "salt/fileserver/gitfs/update"
        })
    };
    let mut mark = events.mark();
    update()?;
    let data = next(mark)?.data;
    ensure!(data["changed"] == json!(false), "{data}");
    ensure!(data["backend"] == json!("gitfs"), "{data}");
    ensure!(data["remotes"] == json!({}), "{data}");
    let second = states.commit("note", "two\n")?;
    states.git(&["branch", "-D", "old"])?;
    mark = events.mark();
    update()?;
    let data = next(mark)?.data;
    ensure!(data["changed"] == json!(true), "{data}");
    let moved = json!({ states.url(): { "base": second, "old": null } });
    ensure!(data["remotes"] == moved, "{data}");
    Ok(())
}

#[test]
fn a_hook_of_the_repository_brings_what_was_pushed_at_once() -> Result<()> {
    let fleet = Fleet::new("gitfs-hook")?;
    let states = States::new(&fleet.path().join("states"))?;
    let first = states.commit("note", "one\n")?;
    let reaction = fleet.path().join("m1/srv/pushed.sls").display().to_string();
    let rules = json!([{ "salt/netapi/hook/pushed": [reaction] }]);
    let master = fleet
        .master("m1", Kind::Ours)
        .set("fileserver_backend", json!(["git"]))
        .set("gitfs_base", "main")
        .set("gitfs_update_interval", 3600)
        .set(
            "gitfs_remotes",
            json!([{ states.url(): [{ "name": "states" }] }]),
        )
        .set("reactor", rules)
        .file(
            "pushed.sls",
            "update:\n  runner.fileserver.update:\n    - args:\n      - remotes: states\n",
        )
        .start()?;
    run(&master, &["fileserver.update"])?;
    let served = || -> Result<Value> {
        let status = run(&master, &["fileserver.status"])?;
        Ok(status[states.url()]["envs"]["base"].clone())
    };
    ensure!(served()? == json!(first));
    let pushed = states.commit("note", "two\n")?;
    // As `salt-api` fires it for POST /hook/pushed.
    run(&master, &["event.send", "salt/netapi/hook/pushed"])?;
    until("the commit that was pushed", START, || {
        Ok((served()? == json!(pushed)).then_some(()))
    })
}
