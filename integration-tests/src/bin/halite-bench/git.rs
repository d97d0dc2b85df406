//! States from git: the cost of an update, and of a state run.

mod slow_server;

use std::fs;
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use halite_integration_tests::{Fleet, Kind, Master};
use serde_json::{Value, json};

use self::slow_server::SlowServer;
use crate::daemons::{minion, new_fleet};
use crate::measure::{Effort, Numbers, Unit, median};
use crate::{runs, trees};

/// Files of the large repository, besides those of the formulas.
const FILES: usize = 10_000;

/// Small repositories that are updated together.
const REMOTES: usize = 100;

/// After this time the server of slow ones begins to answer.
const SLOWNESS: Duration = Duration::from_secs(1);

/// Commits of a long history, and what each of them adds, in bytes: 1 GiB.
const COMMITS: usize = 1024;
const COMMIT_BYTES: usize = 1 << 20;

pub(crate) fn git(kind: Kind, effort: Effort, numbers: &mut Numbers) -> Result<()> {
    one_large(kind, effort, numbers)?;
    many_small(kind, effort, numbers)?;
    match kind {
        Kind::Ours => many_slow(numbers),
        // It finds `git://` to be no address, says so in its log, and fetches nothing.
        _ => Ok(()),
    }
}

/// The long form: a repository whose history is 1 GiB.
pub(crate) fn long_history(kind: Kind, numbers: &mut Numbers) -> Result<()> {
    let fleet = new_fleet()?;
    let tree = fleet.path().join("states");
    fs::create_dir_all(&tree)?;
    run_git(&tree, &["init", "-q", "-b", "main"])?;
    import_history(&tree)?;
    let master = master(&fleet, kind, "m1", &json!([url(&tree)]))?;
    runner(&master, &["fileserver.clear_cache"])?;
    let first = median(vec![runner(&master, &["fileserver.update"])?.0])?;
    let bare = bare_fetch(&fleet, &url(&tree), 1)?;
    let name = "`fileserver.update`, a history of 1 GiB for the first time";
    numbers.add(name, first, Unit::Milliseconds, "");
    numbers.add("- to `git fetch` alone", first / bare, Unit::Times, "1.3x");
    run_git(&tree, &["reset", "-q", "--hard"])?;
    fs::write(tree.join("note"), "new\n")?;
    run_git(&tree, &["add", "note"])?;
    run_git(&tree, &["commit", "-q", "-m", "new"])?;
    let (took, _) = runner(&master, &["fileserver.update"])?;
    let (_, files) = runner(&master, &["fileserver.file_list", "saltenv=base"])?;
    ensure!(files == json!(["blob", "note"]), "{files}");
    let name = "`fileserver.update` of one new commit behind it";
    numbers.add(name, median(vec![took])?, Unit::Milliseconds, "20x");
    Ok(())
}

/// Commits bytes that nothing makes smaller.
fn import_history(tree: &Path) -> Result<()> {
    let mut import = Command::new("git")
        .args(["fast-import", "--quiet"])
        .current_dir(tree)
        .stdin(Stdio::piped())
        .spawn()?;
    let stdin = import.stdin.take();
    let mut stream = BufWriter::new(stdin.context("no standard input")?);
    let mut number = 1_u64;
    for commit in 0..COMMITS {
        let words = (0..COMMIT_BYTES / 8).flat_map(|_| {
            number ^= number << 13;
            number ^= number >> 7;
            number ^= number << 17;
            number.to_le_bytes()
        });
        let content: Vec<u8> = words.collect();
        write!(
            stream,
            "commit refs/heads/main\ncommitter t <t@t> {} +0000\ndata 1\nx\n\
             M 644 inline blob\ndata {COMMIT_BYTES}\n",
            1_700_000_000 + commit
        )?;
        stream.write_all(&content)?;
        stream.write_all(b"\n")?;
    }
    stream.flush()?;
    drop(stream);
    ensure!(import.wait()?.success(), "git fast-import");
    Ok(())
}

/// One repository with many files, and the formulas of the other parts.
fn one_large(kind: Kind, effort: Effort, numbers: &mut Numbers) -> Result<()> {
    let fleet = new_fleet()?;
    let target = fleet.path().join("target");
    let tree = fleet.path().join("states");
    trees::formulas(&tree, &target)?;
    for number in 0..FILES {
        let dir = tree.join(format!("many/d{:02}", number % 100));
        fs::create_dir_all(&dir)?;
        fs::write(dir.join(format!("file{number}")), format!("{number}\n"))?;
    }
    commit(&tree)?;
    let master = master(&fleet, kind, "m1", &json!([url(&tree)]))?;
    trees::pillar(&master.dir().join("pillar"))?;
    let mut firsts = Vec::new();
    for _ in 0..effort.calls {
        runner(&master, &["fileserver.clear_cache"])?;
        firsts.push(runner(&master, &["fileserver.update"])?.0);
    }
    let first = median(firsts)?;
    let bare = bare_fetch(&fleet, &url(&tree), effort.calls)?;
    let name = "`fileserver.update`, a repository of 10,000 files for the first time";
    numbers.add(name, first, Unit::Milliseconds, "");
    numbers.add("- to `git fetch` alone", first / bare, Unit::Times, "1.3x");
    let mut times = Vec::new();
    for _ in 0..effort.calls {
        times.push(runner(&master, &["fileserver.update"])?.0);
    }
    let name = "`fileserver.update` with nothing new";
    numbers.add(name, median(times)?, Unit::Milliseconds, "20x");
    lists(&master, effort, numbers)?;
    let web1 = minion(&fleet, kind, &master, 1)?;
    let from_git = applied(&master)?;
    drop((web1, master));
    let from_roots = applied_from_roots(kind)?;
    let name = "`state.apply` from git, 110 states of formulas, second run";
    numbers.add(name, from_git, Unit::Milliseconds, "");
    let times = from_git / from_roots;
    numbers.add("- to that from `file_roots`", times, Unit::Times, "1.1x");
    Ok(())
}

/// The list of its files, as a runner shows it.
fn lists(master: &Master, effort: Effort, numbers: &mut Numbers) -> Result<()> {
    let list = || -> Result<Duration> {
        let (took, files) = runner(master, &["fileserver.file_list", "saltenv=base"])?;
        let count = files.as_array().map_or(0, Vec::len);
        ensure!(count > FILES, "{count} files");
        Ok(took)
    };
    let mut times = Vec::new();
    for _ in 0..effort.calls {
        runner(master, &["fileserver.clear_file_list_cache"])?;
        times.push(list()?);
    }
    let name = "`fileserver.file_list` of 10,000 files, not listed before";
    numbers.add(name, median(times)?, Unit::Milliseconds, "50x");
    let times: Result<Vec<_>> = (0..effort.calls).map(|_| list()).collect();
    let name = "`fileserver.file_list` of 10,000 files, again";
    numbers.add(name, median(times?)?, Unit::Milliseconds, "");
    Ok(())
}

/// A hundred remotes in one master.
fn many_small(kind: Kind, effort: Effort, numbers: &mut Numbers) -> Result<()> {
    let fleet = new_fleet()?;
    let mut remotes = Vec::new();
    for number in 0..REMOTES {
        let tree = fleet.path().join(format!("remote{number}"));
        fs::create_dir_all(&tree)?;
        fs::write(tree.join(format!("only{number}.sls")), "{}\n")?;
        commit(&tree)?;
        remotes.push(Value::from(url(&tree)));
    }
    let master = master(&fleet, kind, "m1", &Value::from(remotes))?;
    runner(&master, &["fileserver.update"])?;
    let mut times = Vec::new();
    for _ in 0..effort.calls {
        times.push(runner(&master, &["fileserver.update"])?.0);
    }
    let name = "`fileserver.update` of 100 remotes with nothing new";
    numbers.add(name, median(times)?, Unit::Milliseconds, "20x");
    Ok(())
}

/// A hundred remotes of a server that is slow to answer.
fn many_slow(numbers: &mut Numbers) -> Result<()> {
    let fleet = new_fleet()?;
    let base = fleet.path().join("served");
    for number in 0..REMOTES {
        let tree = base.join(format!("remote{number}"));
        fs::create_dir_all(&tree)?;
        fs::write(tree.join(format!("only{number}.sls")), "{}\n")?;
        commit(&tree)?;
    }
    let server = SlowServer::start(&base, SLOWNESS)?;
    let url = |number: usize| Value::from(server.url(&format!("remote{number}/.git")));
    let one = {
        let master = master(&fleet, Kind::Ours, "m1", &json!([url(0)]))?;
        runner(&master, &["fileserver.update"])?;
        median(vec![runner(&master, &["fileserver.update"])?.0])?
    };
    let all: Vec<Value> = (0..REMOTES).map(url).collect();
    let bare = bare_questions(&all)?;
    let master = master(&fleet, Kind::Ours, "m2", &Value::from(all))?;
    runner(&master, &["fileserver.update"])?;
    let took = median(vec![runner(&master, &["fileserver.update"])?.0])?;
    let name = "`fileserver.update` of 100 remotes that answer after a second";
    numbers.add(name, took, Unit::Milliseconds, "");
    numbers.add("- to that of one of them", took / one, Unit::Times, "");
    let name = "- to 100 `git ls-remote` at once, with nothing around them";
    numbers.add(name, took / bare, Unit::Times, "1.1x");
    Ok(())
}

/// A master that serves these remotes and nothing else, and updates them when told.
fn master(fleet: &Fleet, kind: Kind, name: &str, remotes: &Value) -> Result<Master> {
    fleet
        .master(name, kind)
        .auto_accept()
        .set("worker_threads", 5)
        .set("loop_interval", 60)
        .set("log_level_logfile", "error")
        .set("fileserver_backend", json!(["gitfs"]))
        .set("gitfs_provider", "gitpython")
        .set("gitfs_base", "main")
        .set("gitfs_update_interval", 86_400)
        .set("gitfs_remotes", remotes.clone())
        .start()
}

/// The time of a second state run, which writes nothing.
fn applied(master: &Master) -> Result<f64> {
    for _ in 0..2 {
        runs::run(master, "formulas", trees::FORMULA_TEMPLATES)?;
    }
    let times: Result<Vec<_>> = (0..3)
        .map(|_| runs::run(master, "formulas", trees::FORMULA_TEMPLATES))
        .collect();
    median(times?)
}

fn applied_from_roots(kind: Kind) -> Result<f64> {
    let fleet = new_fleet()?;
    let master = crate::daemons::plan(&fleet, kind)?;
    trees::formulas(&master.dir().join("srv"), &fleet.path().join("target"))?;
    trees::pillar(&master.dir().join("pillar"))?;
    let _web1 = minion(&fleet, kind, &master, 1)?;
    applied(&master)
}

/// Runs a runner; how long the program took, and what it answered.
fn runner(master: &Master, words: &[&str]) -> Result<(Duration, Value)> {
    let words = [words, &["--out=json"]].concat();
    let begun = Instant::now();
    let output = master.tools(master.kind()).runner(&words)?;
    let took = begun.elapsed();
    Ok((took, output.ok()?.json()?))
}

/// What git alone takes to fetch a repository's branches, in milliseconds.
fn bare_fetch(fleet: &Fleet, url: &str, times: usize) -> Result<f64> {
    let mut taken = Vec::new();
    for number in 0..times {
        let dir = fleet.path().join(format!("bare{number}"));
        fs::create_dir_all(&dir)?;
        let begun = Instant::now();
        run_git(&dir, &["init", "-q", "--bare"])?;
        run_git(&dir, &["fetch", "-q", url, "+refs/heads/*:refs/heads/*"])?;
        taken.push(begun.elapsed());
    }
    median(taken)
}

/// What git alone takes to ask these remotes at once for their references, in
/// milliseconds: two processors start as many gits, and as many servers.
fn bare_questions(urls: &[Value]) -> Result<f64> {
    let begun = Instant::now();
    let mut gits = Vec::new();
    for url in urls.iter().filter_map(Value::as_str) {
        let git = bare_git()
            .args(["ls-remote", "--quiet", "--refs", "--heads", "--tags", url])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()?;
        gits.push(git);
    }
    for mut git in gits {
        let ended = git.wait()?;
        ensure!(ended.success(), "git ls-remote: {ended}");
    }
    median(vec![begun.elapsed()])
}

fn commit(tree: &Path) -> Result<()> {
    run_git(tree, &["init", "-q", "-b", "main"])?;
    run_git(tree, &["add", "-A"])?;
    run_git(tree, &["commit", "-q", "-m", "all of it"])?;
    // As on a server. Ten thousand loose files cost whoever reads them first more
    // than the fetch.
    run_git(tree, &["gc", "-q"])
}

fn url(tree: &Path) -> String {
    format!("file://{}", tree.display())
}

fn run_git(dir: &Path, words: &[&str]) -> Result<()> {
    let output = bare_git().args(words).current_dir(dir).output()?;
    ensure!(output.status.success(), "git {words:?}: {output:?}");
    Ok(())
}

/// A git without a configuration of the user or of the machine.
fn bare_git() -> Command {
    let mut git = Command::new("git");
    git.args(["-c", "user.name=bench", "-c", "user.email=bench@localhost"])
        // Nothing at work that was not asked for.
        .args(["-c", "gc.auto=0"])
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null");
    git
}
