//! Files from git in a cluster: the runners that compare masters and hold them at a
//! commit mean all members if none is named.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use halite_integration_tests::{Kind, Output, START, until};
use serde_json::{Value, json};

use crate::isolated_cluster::IsolatedCluster;

const MASTERS: usize = 3;

/// A cluster of masters that serve one repository, each from a copy of its own.
struct Served {
    isolated: IsolatedCluster,
}

impl Served {
    fn start() -> Result<Self> {
        let mut served = Self {
            isolated: IsolatedCluster::lay(MASTERS)?,
        };
        fs::create_dir_all(served.repository())?;
        served.git(&["init", "-q", "-b", "main"])?;
        let url = format!("file://{}", served.repository().display());
        let text = format!(
            "fileserver_backend: [gitfs]\ngitfs_base: main\ngitfs_update_interval: 3600\n\
             gitfs_remotes: [{{'{url}': [{{name: states}}]}}]\n"
        );
        for master in &served.isolated.masters {
            fs::write(master.dir().join("master.d/git.conf"), &text)?;
        }
        served.isolated.start(MASTERS)?;
        for n in 0..MASTERS {
            until("the members", START, || {
                let members = served.isolated.members(n)?;
                let members = members.as_object().context("no members")?;
                let connected = members.values().filter(|it| it["connected"] == true);
                Ok((connected.count() == MASTERS).then_some(()))
            })?;
        }
        Ok(served)
    }

    fn repository(&self) -> std::path::PathBuf {
        self.isolated.fleet.path().join("states")
    }

    fn git(&self, words: &[&str]) -> Result<String> {
        let output = Command::new("git")
            .args(["-c", "user.name=t", "-c", "user.email=t@t"])
            .args(words)
            .current_dir(self.repository())
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .output()?;
        ensure!(output.status.success(), "git {words:?}: {output:?}");
        Ok(String::from_utf8(output.stdout)?.trim().to_owned())
    }

    /// A new commit, which some masters have fetched.
    fn commit(&self, fetched_by: &[usize]) -> Result<Value> {
        self.git(&["commit", "-q", "--allow-empty", "-m", "x"])?;
        for n in fetched_by {
            self.run(*n, &["fileserver.update"])?.ok()?;
        }
        Ok(json!(self.git(&["rev-parse", "HEAD"])?))
    }

    fn run(&self, n: usize, words: &[&str]) -> Result<Output> {
        let words = [words, &["--out=json"]].concat();
        self.isolated.masters[n].tools(Kind::Ours).runner(&words)
    }

    /// What each master serves as `base`.
    fn base(&self, n: usize) -> Result<Value> {
        let status = self.run(n, &["fileserver.status"])?.ok()?.json()?;
        let remotes = status.as_object().context("no remotes")?;
        let remote = remotes.values().next().context("no remote")?;
        Ok(remote["envs"]["base"].clone())
    }

    fn names(&self, masters: &[usize]) -> BTreeSet<String> {
        let name = |n: &usize| self.isolated.masters[*n].address().ip().to_string();
        masters.iter().map(name).collect()
    }

    /// What a comparison without names says of commits, by master.
    fn compared(&self) -> Result<Vec<(String, String)>> {
        let rows = until("the members to be asked seldom enough", START, || {
            let rows = self.run(0, &["masters.compare"])?.json()?;
            let is_answer = !rows.to_string().contains("asked too often");
            Ok(is_answer.then_some(rows))
        })?;
        let text = |row: &Value, name: &str| row[name].as_str().unwrap_or_default().to_owned();
        let rows = rows.as_array().context("no rows")?.iter();
        Ok(rows
            .map(|row| (text(row, "master"), text(row, "topic")))
            .collect())
    }
}

#[test]
fn all_members_are_compared_and_held_at_a_commit_where_none_is_named() -> Result<()> {
    let mut served = Served::start()?;
    let first = served.commit(&[0, 1, 2])?;
    let rows = served.compared()?;
    let asked: BTreeSet<String> = rows.iter().map(|(name, _)| name.clone()).collect();
    ensure!(asked == served.names(&[1, 2]), "{rows:?}");
    ensure!(
        rows.iter().all(|(_, topic)| topic == "everything"),
        "{rows:?}"
    );

    // One member does not have it yet: none is moved.
    let second = served.commit(&[0, 1])?;
    let second_id = second.as_str().context("no commit")?;
    let rows = served.compared()?;
    let differing = rows.iter().filter(|(_, topic)| topic == "commits");
    let differing: BTreeSet<String> = differing.map(|(name, _)| name.clone()).collect();
    ensure!(differing == served.names(&[2]), "{rows:?}");
    let refused = served.run(0, &["fileserver.promote", second_id])?;
    ensure!(refused.code != 0, "{refused}");
    let third_name = served.names(&[2]).pop_first().context("no name")?;
    ensure!(refused.stdout.contains("nothing was changed"), "{refused}");
    ensure!(refused.stdout.contains(&third_name), "{refused}");
    ensure!(served.base(2)? == first);

    served.run(2, &["fileserver.update"])?.ok()?;
    let done = served.run(0, &["fileserver.promote", second_id])?.ok()?;
    let done = done.json()?;
    let done = done.as_object().context("no masters")?;
    let moved: BTreeSet<String> = done.keys().cloned().collect();
    ensure!(moved == served.names(&[0, 1, 2]), "{done:?}");
    let third = served.commit(&[0, 1, 2])?;
    for n in 0..MASTERS {
        ensure!(served.base(n)? == second, "m{}: {}", n + 1, served.base(n)?);
    }

    // A member that is away counts, too.
    served.isolated.masters[2].kill9()?;
    let words = ["fileserver.promote", "latest", "timeout=3"];
    let refused = served.run(0, &words)?;
    ensure!(refused.code != 0, "{refused}");
    ensure!(refused.stdout.contains(&third_name), "{refused}");
    ensure!(served.base(0)? == second);
    served.isolated.masters[2].start()?;
    until("all to follow the branch", START, || {
        let done = served.run(0, &["fileserver.promote", "latest"])?;
        Ok((done.code == 0).then_some(()))
    })?;
    for n in 0..MASTERS {
        ensure!(served.base(n)? == third, "m{}: {}", n + 1, served.base(n)?);
    }
    Ok(())
}
