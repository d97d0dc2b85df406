//! How our daemons start and stop, and their messages to administrators.

use std::fs;
use std::os::unix::fs::FileTypeExt as _;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use halite_integration_tests::{
    Daemon, Fleet, Kind, Output, Program, Recipe, SHORT, Signal, run, terminate, until,
};

/// How long the end of a daemon may take: the five seconds that it has for what
/// is in work, and what a busy machine takes besides.
const END: Duration = Duration::from_secs(5 + 15);

fn sockets_in(dir: &Path) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        if entry.file_type()?.is_socket() {
            found.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    Ok(found)
}

/// One line on standard error that holds each of `parts`.
fn check_one_line(output: &Output, parts: &[&str]) -> Result<()> {
    let lines: Vec<_> = output
        .stderr
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    let [line] = lines.as_slice() else {
        anyhow::bail!("expected one line of error from {output}");
    };
    for part in parts {
        ensure!(
            line.contains(part),
            "expected `{part}` in the error of {output}"
        );
    }
    Ok(())
}

#[test]
fn a_port_in_use_is_one_line_and_exit_1() -> Result<()> {
    let fleet = Fleet::new("ports")?;
    let first = fleet.master("m1", Kind::Ours).start()?;
    for (name, option, address) in [
        ("m2", "publish_port", first.address().publish()),
        ("m3", "ret_port", first.address().request()),
    ] {
        let mut second = fleet
            .master(name, Kind::Ours)
            .set("interface", address.ip().to_string())
            .set(
                if option == "ret_port" {
                    "publish_port"
                } else {
                    "ret_port"
                },
                4777,
            )
            .set(option, address.port())
            .lay()?;
        let output = run(second.daemon().recipe(), SHORT)?.exit(1)?;
        check_one_line(&output, &[&address.to_string()])?;
        assert_eq!(sockets_in(&second.dir().join("run"))?, Vec::<String>::new());
    }
    // The first one has not noticed.
    first.salt(&["*", "test.ping"])?.exit(2)?;
    Ok(())
}

#[test]
fn a_second_master_in_the_same_directory_is_refused() -> Result<()> {
    let fleet = Fleet::new("twice")?;
    let mut first = fleet.master("m1", Kind::Ours).start()?;
    let recipe = first.daemon().recipe().clone();
    run(&recipe, SHORT)?.exit(1)?;
    // The first one has not noticed.
    first.salt(&["*", "test.ping"])?.exit(2)?;
    Ok(())
}

#[test]
fn signals_end_both_daemons_and_leave_nothing_behind() -> Result<()> {
    for signal in [Signal::SIGTERM, Signal::SIGINT] {
        let fleet = Fleet::new("stop")?;
        let mut master = fleet.master("m1", Kind::Ours).auto_accept().start()?;
        let mut minion = fleet.minion("web1", Kind::Ours).of(&master).start()?;
        master.wait_minion("web1")?;
        let dirs = [master.dir().to_path_buf(), minion.dir().to_path_buf()];
        for daemon in [minion.daemon(), master.daemon()] {
            let begun = Instant::now();
            daemon.signal(signal)?;
            assert_eq!(daemon.wait_exit(SHORT)?, 0);
            ensure!(begun.elapsed() < END, "{signal} took {:?}", begun.elapsed());
        }
        for dir in dirs {
            assert_eq!(sockets_in(&dir.join("run"))?, Vec::<String>::new());
            ensure!(
                !dir.join("pid").exists(),
                "{} is left",
                dir.join("pid").display()
            );
        }
    }
    Ok(())
}

#[test]
fn a_command_in_work_does_not_hold_the_end_of_the_minion() -> Result<()> {
    let fleet = Fleet::new("drain")?;
    let master = fleet.master("m1", Kind::Ours).auto_accept().start()?;
    let mut minion = fleet.minion("web1", Kind::Ours).of(&master).start()?;
    master.wait_minion("web1")?;
    let started = fleet.path().join("started");
    let command = format!("touch {}; sleep 60", started.display());
    master
        .salt(&["--async", "web1", "cmd.run", &command])?
        .ok()?;
    until("the command to run", SHORT, || {
        Ok(started.exists().then_some(()))
    })?;
    let begun = Instant::now();
    assert_eq!(minion.stop()?, 0);
    ensure!(begun.elapsed() < END, "the end took {:?}", begun.elapsed());
    Ok(())
}

#[test]
fn sighup_reopens_the_log() -> Result<()> {
    let fleet = Fleet::new("logs")?;
    let mut master = fleet
        .master("m1", Kind::Ours)
        .auto_accept()
        .set("log_level_logfile", "debug")
        .start()?;
    let log = master.dir().join("log");
    let moved = master.dir().join("log.1");
    ensure!(fs::metadata(&log)?.len() > 0, "nothing was logged");
    fs::rename(&log, &moved)?;
    master.daemon().signal(Signal::SIGHUP)?;
    until("the log to be opened again", SHORT, || {
        Ok(log.exists().then_some(()))
    })?;
    // The file is there a moment before the first line goes to it.
    let length = || anyhow::Ok(fs::metadata(&log)?.len());
    until("the first line of the new log", SHORT, || {
        master.salt(&["nobody", "test.ping"])?.exit(2)?;
        Ok((length()? > 0).then_some(()))
    })?;
    let (old, new) = (fs::metadata(&moved)?.len(), length()?);
    let _minion = fleet.minion("web1", Kind::Ours).of(&master).start()?;
    master.wait_minion("web1")?;
    until("the new log to be written", SHORT, || {
        Ok((length()? > new).then_some(()))
    })?;
    assert_eq!(
        fs::metadata(&moved)?.len(),
        old,
        "the old log was still written"
    );
    Ok(())
}

#[test]
fn in_the_background_the_pid_file_names_the_process() -> Result<()> {
    let fleet = Fleet::new("behind")?;
    let mut master = fleet.master("m1", Kind::Ours).lay()?;
    let recipe = master.daemon().recipe().clone().args(&["-d"]);
    let output = run(&recipe, SHORT)?.ok()?;
    ensure!(output.stderr.is_empty(), "unexpected {output}");
    let pid_file = master.dir().join("pid");
    let pid: i32 = until("the pid file", SHORT, || {
        Ok(fs::read_to_string(&pid_file)
            .ok()
            .and_then(|text| text.trim().parse().ok()))
    })?;
    master.wait_answers()?;
    master.salt(&["*", "test.ping"])?.exit(2)?;
    let comm = fs::read_to_string(format!("/proc/{pid}/cmdline"))?;
    ensure!(comm.contains("salt-master"), "{pid} is {comm}");
    terminate(pid)?;
    until("the daemon to end", SHORT, || {
        Ok((!Path::new(&format!("/proc/{pid}")).exists()).then_some(()))
    })?;
    ensure!(!pid_file.exists(), "the pid file is left");
    Ok(())
}

#[test]
fn the_service_manager_hears_of_readiness_and_of_the_end() -> Result<()> {
    let fleet = Fleet::new("notify")?;
    let master = fleet.master("m1", Kind::Ours).auto_accept().start()?;
    let mut other = fleet.master("m2", Kind::Ours).lay()?;
    let mut minion = fleet.minion("web1", Kind::Ours).of(&master).lay()?;
    for (name, recipe) in [
        ("m2", other.daemon().recipe().clone()),
        ("web1", minion.daemon().recipe().clone()),
    ] {
        let path = fleet.path().join(format!("{name}.notify"));
        let socket = UnixDatagram::bind(&path)?;
        socket.set_read_timeout(Some(SHORT))?;
        let hear = |wanted: &str| -> Result<()> {
            let mut buffer = [0; 4096];
            loop {
                let len = socket
                    .recv(&mut buffer)
                    .with_context(|| format!("{name} does not say {wanted}"))?;
                let text =
                    String::from_utf8_lossy(buffer.get(..len).unwrap_or_default()).into_owned();
                if text.lines().any(|line| line == wanted) {
                    return Ok(());
                }
            }
        };
        let recipe = recipe.env("NOTIFY_SOCKET", &path.display().to_string());
        let mut daemon = Daemon::new(recipe, fleet.path().join(format!("{name}.said")));
        daemon.start()?;
        hear("READY=1")?;
        daemon.signal(Signal::SIGTERM)?;
        hear("STOPPING=1")?;
        assert_eq!(daemon.wait_exit(SHORT)?, 0);
    }
    Ok(())
}

#[test]
fn check_points_at_what_is_wrong_in_a_file() -> Result<()> {
    let fleet = Fleet::new("check")?;
    let check = |name: &str, option: &str, value: serde_json::Value| -> Result<Output> {
        let mut master = fleet.master(name, Kind::Ours).set(option, value).lay()?;
        run(&master.daemon().recipe().clone().args(&["--check"]), SHORT)
    };
    let good = check("good", "timeout", 5.into())?.exit(0)?;
    ensure!(!good.stderr.contains("error"), "unexpected {good}");

    let wrong = check("wrong", "ret_port", "many".into())?.exit(78)?;
    let file = fs::read_to_string(fleet.path().join("wrong/master"))?;
    let line = file
        .lines()
        .position(|line| line.starts_with("ret_port"))
        .context("no such line")?
        + 1;
    let place = format!("{}:{line}:", fleet.path().join("wrong/master").display());
    ensure!(wrong.stderr.contains(&place), "expected {place} in {wrong}");
    ensure!(
        wrong.stderr.contains("ret_port: \"many\""),
        "expected the line itself in {wrong}"
    );

    let typo = check("typo", "worker_thread", 5.into())?.exit(0)?;
    ensure!(
        typo.stdout
            .contains("worker_thread, did you mean worker_threads?"),
        "expected the nearest name in {typo}"
    );

    // A start with a bad file ends in the same way, before anything is touched.
    let mut bad = fleet
        .master("bad", Kind::Ours)
        .set("publish_port", "x")
        .lay()?;
    let output = run(bad.daemon().recipe(), SHORT)?.exit(78)?;
    ensure!(
        output.stderr.contains("publish_port"),
        "unexpected {output}"
    );
    assert_eq!(fs::read_dir(bad.dir().join("pki"))?.count(), 0);

    let mut minion = fleet
        .minion("web1", Kind::Ours)
        .set("master", "127.0.0.1")
        .set("acceptance_wait_time", "soon")
        .lay()?;
    let output = run(&minion.daemon().recipe().clone().args(&["--check"]), SHORT)?.exit(78)?;
    ensure!(
        output.stderr.contains("acceptance_wait_time"),
        "unexpected {output}"
    );
    Ok(())
}

#[test]
fn the_files_of_the_project_are_accepted() -> Result<()> {
    let root = halite_integration_tests::package_dir()
        .join("..")
        .canonicalize()?;
    let fleet = Fleet::new("samples")?;
    let example = |path: &str| root.join("examples").join(path);
    for (program, dir) in [
        (Program::Master, root.join("configs")),
        (Program::Minion, root.join("configs")),
        (Program::Master, example("two-masters/master1")),
        (Program::Master, example("two-masters/master2")),
        (Program::Minion, example("two-masters/web1")),
        (Program::Minion, example("two-masters/web2")),
        (Program::Minion, example("two-masters/db1")),
        (Program::Master, example("cluster/m1")),
        (Program::Master, example("cluster/m4")),
        (Program::Minion, example("cluster/web1")),
    ] {
        let path = fleet.programs().path(Kind::Ours, program)?;
        let dir = dir.display().to_string();
        let recipe = Recipe::new("check", path, fleet.path()).args(&["-c", &dir, "--check"]);
        let output = run(&recipe, SHORT)?.ok()?;
        // The directories of an example are made by its script.
        let is_fine = |line: &str| !line.starts_with("warning:") || line.ends_with("no directory");
        ensure!(output.stdout.lines().all(is_fine), "{output}");
        let valid = format!("the configuration is valid: {dir}/");
        ensure!(output.stdout.contains(&valid), "{output}");
    }
    Ok(())
}

#[test]
fn a_directory_that_cannot_be_made_is_one_line() -> Result<()> {
    let fleet = Fleet::new("nodir")?;
    for (name, option) in [("m1", "pki_dir"), ("m2", "cachedir"), ("m3", "sock_dir")] {
        let file = fleet.path().join(name).join("file");
        let below = file.join("below").display().to_string();
        let mut master = fleet
            .master(name, Kind::Ours)
            .set(option, below.as_str())
            .lay()?;
        fs::write(&file, "not a directory")?;
        let output = run(master.daemon().recipe(), SHORT)?;
        ensure!(output.code != 0, "a start without {option}: {output}");
        check_one_line(&output, &[&file.display().to_string()])?;
    }
    Ok(())
}

#[test]
fn every_program_tells_its_version() -> Result<()> {
    let fleet = Fleet::new("version")?;
    let mut master = fleet.master("m1", Kind::Ours).lay()?;
    let mut minion = fleet.minion("web1", Kind::Ours).lay()?;
    let tools = master.tools(Kind::Ours);
    for output in [
        tools.salt(&["--version"])?,
        tools.key(&["--version"])?,
        minion.call(&["--version"])?,
    ] {
        let output = output.ok()?;
        assert_eq!(output.lines().len(), 1, "unexpected {output}");
        ensure!(output.stdout.starts_with("salt"), "unexpected {output}");
    }
    for daemon in [master.daemon(), minion.daemon()] {
        let output = run(&daemon.recipe().clone().args(&["--version"]), SHORT)?.ok()?;
        ensure!(output.stdout.starts_with("salt-m"), "unexpected {output}");
        let report = run(&daemon.recipe().clone().args(&["--versions-report"]), SHORT)?.ok()?;
        ensure!(report.lines().len() > 3, "unexpected {report}");
    }
    Ok(())
}

/// `SALT_MASTER_CONFIG` and `SALT_MINION_CONFIG` name the files of daemons too.
#[test]
fn the_environment_names_the_configuration() -> Result<()> {
    let fleet = Fleet::new("env")?;
    let master = fleet.master("m1", Kind::Ours).lay()?;
    let minion = fleet
        .minion("web1", Kind::Ours)
        .set("master", "salt:x")
        .lay()?;
    for (program, variable, file, expected) in [
        (
            Program::Master,
            "SALT_MASTER_CONFIG",
            master.dir().join("master"),
            0,
        ),
        (
            Program::Minion,
            "SALT_MINION_CONFIG",
            minion.dir().join("minion"),
            78,
        ),
    ] {
        let path = fleet.programs().path(Kind::Ours, program)?;
        let recipe = Recipe::new(program.name(), path, fleet.path())
            .args(&["--check"])
            .env(variable, &file.display().to_string());
        let said = run(&recipe, SHORT)?.exit(expected)?;
        if expected == 78 {
            ensure!(said.stderr.contains("salt:x"), "another file: {said}");
        }
    }
    Ok(())
}
