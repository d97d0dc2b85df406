//! The examples of the documentation are called, each in its turn, in a root that is
//! thrown away: a function takes the arguments that its own page shows.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests")]

use std::collections::BTreeSet;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use halite_call::{CallError, Failure, Outcome, manual, shlex};
use halite_proto::{Map, Value};

use crate::local_minion::LocalMinion;

/// Tells the program that it is in the root that is thrown away.
const INSIDE: &str = "HALITE_EXAMPLES_INSIDE";

const ROOT: &str = include_str!("../examples/root.sh");

const NAMESPACES: [&str; 9] = [
    "--mount",
    "--propagation",
    "private",
    "--net",
    "--pid",
    "--uts",
    "--ipc",
    "--fork",
    "--kill-child",
];

/// Functions whose examples are not called, or `module.`, and why.
const NOT_CALLED: &[(&str, &str)] = &[
    (
        "http.wait_for_successful_query",
        "it waits for minutes, and there is no network",
    ),
    ("test.rand_sleep", "it sleeps up to a minute"),
];

/// What functions say that lack something of the machine, which is not to be had in a
/// root that is thrown away, and what that is.
const LACKING: &[(&str, &str)] = &[
    ("No such file or directory", "a file"),
    ("File not found: ", "a file"),
    ("Could not load provided source", "a certificate or a key"),
    ("Private key is unencrypted", "a key with a passphrase"),
    ("A valid directory was not specified", "a directory"),
    ("cannot be written", "directories of ifupdown"),
    (
        "File exists",
        "an empty place: an example before has made it",
    ),
    ("Starting path not found in the state tree", "a directory"),
    ("name not found: 'app'", "a user"),
    ("uid should be integer", "a user"),
    ("ca_server did not respond", "another minion"),
    ("Network is unreachable", "a network"),
    ("Operation not permitted", "the right to make devices"),
    ("redis.get_", "a returner that is set up"),
    ("mysql.get_", "a returner that is set up"),
    ("'app.deploy'", "a module of users"),
    ("SDB profile", "a profile of the configuration"),
];

/// Functions whose examples are to fail.
const FAILING: [&str; 2] = ["test.exception", "test.raise_exception"];

/// The state tree and the pillar that examples are about.
const FILES: [(&str, &str); 9] = [
    (
        "srv/app/init.sls",
        "web server: {test.nop: []}\napp user: {test.nop: []}\n",
    ),
    ("srv/app/defaults.yaml", "port: 80\n"),
    ("srv/app/settings.yaml", "port: 81\n"),
    ("srv/app/defaults.json", "{\"port\": 80}"),
    ("srv/app/settings.json", "{\"port\": 81}"),
    ("srv/app/map.jinja", "{% set app = {'port': 80} %}"),
    (
        "srv/app/defaults.jinja",
        "{% set settings = {'port': 80} %}",
    ),
    ("pillar/top.sls", "base: {'*': [app]}\n"),
    ("pillar/app.sls", "app: {users: {anna: {}, ben: {}}}\n"),
];

/// Programs without which modules are not available. They are there, and fail: what
/// an example has them do is not done, what a function says to that is its answer.
const PROGRAMS: [&str; 5] = ["apt-key", "crontab", "git", "iptables", "rsync"];

/// Where the minion lies in the root that is thrown away: not where examples remove
/// files.
const PLACE: &str = "/minion";

/// No example may keep those behind it waiting.
const LONGEST: Duration = Duration::from_secs(20);

#[test]
fn examples_of_functions_can_be_called() {
    if std::env::var_os(INSIDE).is_some() {
        return call_all();
    }
    if !halite_test_support::have_root()
        || !halite_test_support::have_programs(&["unshare", "setpriv", "ip"])
        || !may_lay_out_roots()
    {
        return;
    }
    let base = tempfile::tempdir().unwrap();
    let program = std::env::current_exe().unwrap();
    let done = Command::new("unshare")
        .args(NAMESPACES)
        .args(["sh", "-c", ROOT, "root.sh"])
        .args([base.path(), program.parent().unwrap(), &program])
        .args([
            "--exact",
            "examples::examples_of_functions_can_be_called",
            "--nocapture",
        ])
        .env(INSIDE, "1")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&done.stdout);
    let errors = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{said}\n{errors}");
    assert!(said.contains("examples were called"), "{said}\n{errors}");
    print!("{said}");
}

/// Whether a file system may be laid over another one in a namespace.
fn may_lay_out_roots() -> bool {
    const TRIAL: &str = "mount -t tmpfs none \"$1\" && mkdir \"$1/a\" \"$1/b\" \"$1/c\" \
        && mount -t overlay overlay -o \"lowerdir=/,upperdir=$1/a,workdir=$1/b\" \"$1/c\"";
    let trial = tempfile::tempdir().unwrap();
    let done = Command::new("unshare")
        .args(NAMESPACES)
        .args(["sh", "-c", TRIAL, "trial"])
        .arg(trial.path())
        .output();
    let works = done.is_ok_and(|done| done.status.success());
    if !works {
        halite_test_support::not_run("no overlay in a namespace");
    }
    works
}

/// A minion of the root that is thrown away.
fn minion(root: &Path) -> LocalMinion {
    let bin = root.join("bin");
    std::fs::create_dir_all(&bin).unwrap();
    for program in PROGRAMS {
        symlink("/bin/false", bin.join(program)).unwrap();
    }
    let opts = Map::from([
        ("__host_path__", Value::from(bin.to_str().unwrap())),
        ("python_fallback", false.into()),
    ]);
    for (name, text) in FILES {
        let file = root.join(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }
    std::fs::write("/etc/app.conf", "port = 80\n").unwrap();
    LocalMinion::laid_out_with(root, ("os_family", "Debian"), opts)
}

fn call_all() {
    let minion = minion(Path::new(PLACE));
    let reasons = NOT_CALLED.iter().chain(LACKING);
    let mut unused: BTreeSet<&str> = reasons.map(|(name, _)| *name).collect();
    let mut faults = Vec::new();
    let (mut called, mut left_out, mut lacking) = (0, 0, 0);
    for page in manual::functions() {
        if let Some((name, _)) = NOT_CALLED.iter().find(|(name, _)| is_of(page.name, name)) {
            unused.remove(name);
            left_out += page.examples.len();
            continue;
        }
        for example in &page.examples {
            let words = shlex::split(&example.text).unwrap();
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let begun = Instant::now();
            let outcome = minion.call(page.name, &words);
            called += 1;
            let mut fault = fault_of(&outcome).filter(|_| !FAILING.contains(&page.name));
            if let Some((said, _)) = fault.as_ref().and_then(|fault| lack(fault)) {
                unused.remove(said);
                lacking += 1;
                fault = None;
            }
            let took = begun.elapsed();
            if took > LONGEST {
                faults.push(format!("{} {}: took {took:?}", page.name, example.text));
            }
            faults.extend(fault.map(|fault| format!("{} {}: {fault}", page.name, example.text)));
        }
    }
    assert!(
        faults.is_empty(),
        "{} of {called}:\n{}",
        faults.len(),
        faults.join("\n")
    );
    assert!(unused.is_empty(), "not needed any more: {unused:?}");
    assert!(
        called > 10 * (left_out + lacking),
        "{called}, {left_out}, {lacking}"
    );
    println!("{called} examples were called, {lacking} lacked something, {left_out} left out");
}

/// Whether a function is `name`, or of the module `name.`.
fn is_of(function: &str, name: &str) -> bool {
    function == name || (name.ends_with('.') && function.starts_with(name))
}

fn lack(fault: &str) -> Option<&'static (&'static str, &'static str)> {
    LACKING.iter().find(|(said, _)| fault.contains(said))
}

/// What is wrong with a call, rather than with the machine.
fn fault_of(outcome: &Outcome) -> Option<String> {
    match outcome.failure.as_ref()? {
        Failure::NotAvailable(why) => Some(format!("not available: {why}")),
        Failure::Call { error, .. } => match error {
            CallError::Command(_) | CallError::NotFound(_) | CallError::Ended(_) => None,
            CallError::Arguments(_) | CallError::Invocation(_) | CallError::Exception { .. } => {
                Some(error.to_string())
            }
        },
    }
}
