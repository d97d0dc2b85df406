//! `syslog`: one line of JSON per result in the system's log.

use std::io::{self, ErrorKind, Write};
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::path::Path;
use std::time::Duration;

use halite_call::MinionContext;
use halite_proto::{Map, Value};

use super::settings::Settings;
use super::{ReturnerError, json};

/// Where the system's log is listening.
const SOCKET: &str = "/dev/log";

/// A log that takes nothing for so long is not waited for.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Longest `syslog.tag`, in characters.
const TAG_LEN_MAX: usize = 32;

const LEVELS: [&str; 8] = [
    "LOG_EMERG",
    "LOG_ALERT",
    "LOG_CRIT",
    "LOG_ERR",
    "LOG_WARNING",
    "LOG_NOTICE",
    "LOG_INFO",
    "LOG_DEBUG",
];

const FACILITIES: [(&str, u8); 20] = [
    // Only the kernel may use its own: the C library makes users of others.
    ("LOG_KERN", 1),
    ("LOG_USER", 1),
    ("LOG_MAIL", 2),
    ("LOG_DAEMON", 3),
    ("LOG_AUTH", 4),
    ("LOG_SYSLOG", 5),
    ("LOG_LPR", 6),
    ("LOG_NEWS", 7),
    ("LOG_UUCP", 8),
    ("LOG_CRON", 9),
    ("LOG_AUTHPRIV", 10),
    ("LOG_FTP", 11),
    ("LOG_LOCAL0", 16),
    ("LOG_LOCAL1", 17),
    ("LOG_LOCAL2", 18),
    ("LOG_LOCAL3", 19),
    ("LOG_LOCAL4", 20),
    ("LOG_LOCAL5", 21),
    ("LOG_LOCAL6", 22),
    ("LOG_LOCAL7", 23),
];

/// Options without effect here, because the socket is opened for each line.
const OPTIONS: [&str; 4] = ["LOG_CONS", "LOG_NDELAY", "LOG_NOWAIT", "LOG_ODELAY"];

/// How the line is marked.
#[derive(Debug, PartialEq, Eq)]
struct Mark {
    priority: usize,
    tag: String,
    with_pid: bool,
    to_stderr: bool,
}

pub(super) fn deliver(ctx: &dyn MinionContext, record: &Map) -> Result<(), ReturnerError> {
    let mark = mark(&Settings::new(ctx, "syslog", record))?;
    let json = json(record)?;
    let now = jiff::Zoned::now();
    let time = jiff::fmt::strtime::format("%b %e %T", &now).unwrap_or_default();
    let line = line(&mark, &time, std::process::id(), &json);
    if mark.to_stderr {
        let shown = format!("{}: {json}\n", mark.tag);
        // A closed one loses nothing that is not in the log.
        let _ = io::stderr().write_all(shown.as_bytes());
    }
    send(Path::new(SOCKET), line.as_bytes()).map_err(|source| ReturnerError::Write {
        path: SOCKET.into(),
        source,
    })
}

fn mark(settings: &Settings<'_>) -> Result<Mark, ReturnerError> {
    let level = settings.text("level")?;
    let level = level.as_deref().unwrap_or("LOG_INFO");
    let facility = settings.text("facility")?;
    let facility = facility.as_deref().unwrap_or("LOG_USER");
    let unknown =
        |name: &str, value: &str| settings.bad(name, format!("syslog does not know {value:?}"));
    let level = LEVELS
        .iter()
        .position(|name| *name == level)
        .ok_or_else(|| unknown("level", level))?;
    let (_, facility) = FACILITIES
        .iter()
        .find(|(name, _)| *name == facility)
        .ok_or_else(|| unknown("facility", facility))?;
    let tag = settings.text("tag")?.unwrap_or_else(program);
    if tag.chars().count() > TAG_LEN_MAX {
        return Err(settings.bad("tag", format!("it is limited to {TAG_LEN_MAX} characters")));
    }
    let mut mark = Mark {
        priority: usize::from(*facility) * 8 + level,
        tag: tag.replace(char::is_control, "?"),
        with_pid: false,
        to_stderr: false,
    };
    let options = match settings.get("options") {
        None => Vec::new(),
        Some(Value::List(options)) => options,
        Some(_) => return Err(settings.bad("options", "they must be a list")),
    };
    for option in &options {
        match option.as_str() {
            Some("LOG_PID") => mark.with_pid = true,
            Some("LOG_PERROR") => mark.to_stderr = true,
            Some(option) if OPTIONS.contains(&option) => {}
            _ => return Err(unknown("options", &halite_call::python::str(option))),
        }
    }
    Ok(mark)
}

/// The name of this program, as the C library takes it.
fn program() -> String {
    let path = std::env::args_os().next().unwrap_or_default();
    let name = Path::new(&path).file_name().unwrap_or_default();
    name.to_string_lossy().chars().take(TAG_LEN_MAX).collect()
}

/// As the C library writes it.
fn line(mark: &Mark, time: &str, pid: u32, text: &str) -> String {
    let pid = match mark.with_pid {
        true => format!("[{pid}]"),
        false => String::new(),
    };
    format!("<{}>{time} {}{pid}: {text}", mark.priority, mark.tag)
}

/// Sends a line to a log of either kind.
fn send(socket: &Path, line: &[u8]) -> io::Result<()> {
    let datagram = UnixDatagram::unbound()?;
    datagram.set_write_timeout(Some(TIMEOUT))?;
    match datagram.connect(socket) {
        Ok(()) => datagram.send(line).map(drop),
        // Of the other kind (EPROTOTYPE).
        Err(error) if error.raw_os_error() == Some(nix::errno::Errno::EPROTOTYPE as i32) => {
            let mut stream = UnixStream::connect(socket)?;
            stream.set_write_timeout(Some(TIMEOUT))?;
            stream.write_all(line)?;
            stream.write_all(b"\0")
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Err(io::Error::new(
            error.kind(),
            "no syslog daemon listens there",
        )),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::unix::net::UnixListener;

    use super::super::tests::context;
    use super::*;

    fn marked(settings: Map) -> Result<Mark, String> {
        let ctx = context(Map::from([("syslog", settings)]));
        let record = Map::new();
        mark(&Settings::new(&ctx, "syslog", &record)).map_err(|error| error.to_string())
    }

    #[test]
    fn a_line_is_written_as_the_c_library_does() {
        let mark = marked(Map::from([
            ("level", Value::from("LOG_ERR")),
            ("facility", "LOG_DAEMON".into()),
            ("tag", "mysalt".into()),
            ("options", vec!["LOG_PID".into(), "LOG_CONS".into()].into()),
        ]));
        let line = line(&mark.unwrap(), "Feb  1 00:00:00", 7, "{}");
        assert_eq!(line, "<27>Feb  1 00:00:00 mysalt[7]: {}");
    }

    #[test]
    fn wrong_settings_are_refused() {
        let long = "x".repeat(TAG_LEN_MAX + 1);
        for (name, value, expect) in [
            (
                "level",
                Value::from("LOG_WARN"),
                "syslog does not know \"LOG_WARN\"",
            ),
            (
                "facility",
                "LOG_DEBUG".into(),
                "syslog does not know \"LOG_DEBUG\"",
            ),
            ("options", "LOG_PID".into(), "they must be a list"),
            (
                "options",
                vec![5.into()].into(),
                "syslog does not know \"5\"",
            ),
            ("tag", long.into(), "it is limited to 32 characters"),
            ("tag", 5.into(), "it must be a string"),
        ] {
            let expect = format!("bad setting `syslog.{name}`: {expect}");
            assert_eq!(marked(Map::from([(name, value)])), Err(expect));
        }
    }

    #[test]
    fn both_kinds_of_logs_get_the_line() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("datagram");
        let log = UnixDatagram::bind(&path).unwrap();
        send(&path, b"<14>one").unwrap();
        let mut got = [0; 16];
        let len = log.recv(&mut got).unwrap();
        assert_eq!(&got[..len], b"<14>one");
        let path = dir.path().join("stream");
        let log = UnixListener::bind(&path).unwrap();
        send(&path, b"<14>two").unwrap();
        let mut got = Vec::new();
        log.accept().unwrap().0.read_to_end(&mut got).unwrap();
        assert_eq!(got, b"<14>two\0");
        assert!(send(&dir.path().join("none"), b"x").is_err());
    }
}
