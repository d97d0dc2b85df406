//! A git server with a slow connection.

use std::fs;
use std::io;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use halite_integration_tests::{SHORT, until};

/// `git daemon`, and a port before it at which each connection waits. It ends
/// when this is dropped.
pub(super) struct SlowServer {
    daemon: Child,
    port: u16,
}

impl SlowServer {
    /// Serves the repositories below `base`.
    pub(super) fn start(base: &Path, delay: Duration) -> Result<Self> {
        // Whoever looks for a free port has it for the moment that it takes.
        let behind = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let log = fs::File::create(base.join("daemon.log"))?;
        let daemon = Command::new(git_daemon()?)
            .args(["--export-all", "--listen=127.0.0.1"])
            .args(["--max-connections=0", &format!("--port={behind}")])
            .arg(format!("--base-path={}", base.display()))
            .stdin(Stdio::null())
            .stderr(log)
            .spawn()
            .context("git daemon")?;
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let port = listener.local_addr()?.port();
        let this = Self { daemon, port };
        until("git daemon to listen", SHORT, || {
            Ok(TcpStream::connect(("127.0.0.1", behind)).ok())
        })?;
        thread::spawn(move || {
            for from in listener.incoming().flatten() {
                thread::spawn(move || pass(from, behind, delay));
            }
        });
        Ok(this)
    }

    /// The address of a repository.
    pub(super) fn url(&self, name: &str) -> String {
        format!("git://127.0.0.1:{}/{name}", self.port)
    }
}

impl Drop for SlowServer {
    fn drop(&mut self) {
        self.daemon.kill().ok();
        self.daemon.wait().ok();
    }
}

/// The program behind `git daemon`: `git` starts it as a child, which would outlive it.
fn git_daemon() -> Result<PathBuf> {
    let said = Command::new("git").arg("--exec-path").output()?;
    let dir = String::from_utf8(said.stdout).context("where git has its programs")?;
    Ok(Path::new(dir.trim_end()).join("git-daemon"))
}

/// Passes a connection on, after the delay.
fn pass(from: TcpStream, to: u16, delay: Duration) -> io::Result<()> {
    thread::sleep(delay);
    let to = TcpStream::connect(("127.0.0.1", to))?;
    let (mut from_reader, mut to_writer) = (from.try_clone()?, to.try_clone()?);
    let there = thread::spawn(move || {
        io::copy(&mut from_reader, &mut to_writer).ok();
        to_writer.shutdown(Shutdown::Write).ok();
    });
    io::copy(&mut &to, &mut &from)?;
    from.shutdown(Shutdown::Both).ok();
    there.join().ok();
    Ok(())
}
