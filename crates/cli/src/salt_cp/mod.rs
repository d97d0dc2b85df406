//! `salt-cp`: copies files to minions, whole or in pieces.
//!
//! Invariant: a piece is sent only when every minion has answered the one before,
//! so that pieces never overtake each other.

mod sources;

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use halite_gather::Return;
use halite_proto::pieces::{Behind, PiecePosition};
use halite_proto::publish::FunSpec;
use halite_proto::{Jid, Map, Value};

use crate::args::KWARG_MARK;
use crate::display::Display;
use crate::environment::Environment;
use crate::options::{CpOptions, Stop};
use crate::salt::NO_MATCH;
use crate::{Exit, Screen};
use halite_client::{Caller, ClientError, ClientSettings, Job, LocalClient, Report};
use sources::Source;

/// Bytes of a piece where `salt_cp_chunk_size` does not say.
const CHUNK_BYTES: u64 = 65_536;

/// Most bytes of a file that is sent whole: it becomes one publication.
const WHOLE_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// Runs `salt-cp` with the master's merged configuration `opts`.
pub async fn run(
    options: &CpOptions,
    opts: &Map,
    environment: &Environment,
    screen: &mut Screen<'_>,
) -> Exit {
    let mut program = match prepared(options, opts, environment, screen) {
        Ok(program) => program,
        Err(stop) => return stop.show(screen),
    };
    let done = match options.chunked {
        true => program.chunked(screen).await,
        false => program.whole(screen).await,
    };
    match done {
        Ok(exit) => exit,
        Err(CopyError::Stop(stop)) => stop.show(screen),
        Err(CopyError::Client(error)) => {
            let text = error.to_string();
            program.display.show(screen, &text.into(), None, 1);
            Exit::Failure
        }
    }
}

fn prepared<'a>(
    options: &'a CpOptions,
    opts: &Map,
    environment: &Environment,
    screen: &Screen,
) -> Result<Program<'a>, Stop> {
    let (target, sources, dest) = options.parts()?;
    let failed = |error: &dyn std::error::Error| Stop {
        stdout: String::new(),
        stderr: format!("salt-cp: error: {}\n", crate::chain(error)),
        exit: Exit::Failure,
    };
    let no_color = environment.no_color.as_deref();
    let display =
        Display::new(opts, &options.output, screen, no_color).map_err(|error| failed(&error))?;
    let settings = ClientSettings::from_opts(opts).map_err(|error| failed(&error))?;
    let timeout = options
        .timeout
        .and_then(|seconds| u64::try_from(seconds).ok());
    let timeout = timeout
        .filter(|seconds| *seconds > 0)
        .map(Duration::from_secs);
    let chunk = opts.get("salt_cp_chunk_size").and_then(Value::as_i64);
    let chunk = chunk.and_then(|bytes| u64::try_from(bytes).ok());
    Ok(Program {
        target: match options.list {
            true => ids_of(target),
            false => target.into(),
        },
        kind: options.kind(),
        delimiter: &options.delimiter,
        sources,
        dest,
        gzip: !options.no_compression,
        chunk_bytes: chunk.filter(|bytes| *bytes > 0).unwrap_or(CHUNK_BYTES),
        timeout: timeout.unwrap_or(settings.timeout),
        display,
        client: LocalClient::new(settings, Caller::current(environment.sudo_user.as_deref())),
    })
}

fn ids_of(target: &str) -> Value {
    let ids = target.split([',', ' ']).filter(|id| !id.is_empty());
    Value::List(ids.map(Value::from).collect())
}

/// Why nothing, or not everything, was copied.
enum CopyError {
    Stop(Stop),
    Client(ClientError),
}

impl From<ClientError> for CopyError {
    fn from(error: ClientError) -> Self {
        Self::Client(error)
    }
}

impl From<Stop> for CopyError {
    fn from(stop: Stop) -> Self {
        Self::Stop(stop)
    }
}

struct Program<'a> {
    target: Value,
    kind: &'static str,
    delimiter: &'a str,
    sources: &'a [String],
    dest: &'a str,
    gzip: bool,
    chunk_bytes: u64,
    timeout: Duration,
    display: Display,
    client: LocalClient,
}

/// What came of a command.
struct Answers {
    /// The job it was.
    jid: Jid,
    /// What each minion returned, or why it did not.
    found: Vec<(String, Value)>,
}

/// What minions say of the files: by minion, then by path.
#[derive(Default)]
struct Results {
    by_minion: Map,
    is_bad: bool,
}

impl Results {
    /// Notes what a minion says; the first failure of a file stays.
    fn record(&mut self, id: &str, path: &str, value: Value) {
        let is_good = value == Value::Bool(true);
        self.is_bad |= !is_good;
        let of_minion = self
            .by_minion
            .get_or_insert_with(id, || Value::Map(Map::new()));
        let Some(of_minion) = of_minion.as_map_mut() else {
            return;
        };
        let failed_before = of_minion
            .get(path)
            .is_some_and(|known| *known != Value::Bool(true));
        if !failed_before {
            of_minion.insert(path, value);
        }
    }

    fn exit(&self) -> Exit {
        match self.is_bad || self.by_minion.is_empty() {
            true => Exit::Failure,
            false => Exit::Ok,
        }
    }
}

impl Program<'_> {
    /// All files in one command, as text.
    async fn whole(&mut self, screen: &mut Screen<'_>) -> Result<Exit, CopyError> {
        let mut files = Map::new();
        for source in self.sources {
            if let Some(text) = sources::text_of(source, WHOLE_BYTES_MAX)? {
                files.insert(source.as_str(), text);
            }
        }
        let arguments = vec![files.into(), self.dest.into()];
        let mut is_bad = false;
        let mut found = Map::new();
        let Some(answers) = self.command("cp.recv", arguments, None).await? else {
            return Ok(self.nobody(screen));
        };
        for (id, value) in answers.found {
            let all_true = value
                .as_map()
                .is_some_and(|files| files.values().all(|done| *done == Value::Bool(true)));
            is_bad |= !all_true;
            found.insert(id, value);
        }
        is_bad |= found.is_empty();
        self.display.show(screen, &found.into(), None, 0);
        Ok(match is_bad {
            true => Exit::Failure,
            false => Exit::Ok,
        })
    }

    /// File by file, piece by piece.
    async fn chunked(&mut self, screen: &mut Screen<'_>) -> Result<Exit, CopyError> {
        let found = sources::all(self.sources, self.dest)?;
        let mut results = Results::default();
        for source in &found {
            match source {
                Source::File {
                    local,
                    remote,
                    mode,
                } => {
                    if !self.file(local, remote, *mode, &mut results).await? {
                        return Ok(self.nobody(screen));
                    }
                }
                Source::Neither { local } => {
                    let text = format!("{} is no file, left out", local.display());
                    screen.error_line(&text);
                }
                Source::EmptyDir { remote } => {
                    let arguments = vec![remote.as_str().into(), Value::Nil];
                    let sent = self.command("cp.recv_chunked", arguments, None);
                    let Some(answers) = sent.await? else {
                        return Ok(self.nobody(screen));
                    };
                    for (id, value) in answers.found {
                        results.record(&id, remote, value);
                    }
                }
            }
        }
        let exit = results.exit();
        self.display
            .show(screen, &results.by_minion.into(), None, 0);
        Ok(exit)
    }

    /// Says that nobody is meant.
    fn nobody(&mut self, screen: &mut Screen<'_>) -> Exit {
        screen.line(NO_MATCH);
        self.display.show(screen, &Map::new().into(), None, 0);
        Exit::Failure
    }

    /// Sends a file; whether anybody is meant.
    async fn file(
        &self,
        local: &Path,
        remote: &str,
        mode: u32,
        results: &mut Results,
    ) -> Result<bool, CopyError> {
        let failed = |error: io::Error| sources::unreadable(local, &error);
        let mut file = File::open(local).map_err(failed)?;
        let mut next_piece = || -> io::Result<Vec<u8>> {
            let mut piece = Vec::new();
            (&mut file).take(self.chunk_bytes).read_to_end(&mut piece)?;
            Ok(piece)
        };
        let mut first: Option<Jid> = None;
        let mut loc = 0;
        let mut next = next_piece().map_err(failed)?;
        // A minion that lacks a piece gets no later ones, or its file would
        // have a hole.
        let mut whole: Option<Vec<String>> = None;
        loop {
            let piece = next;
            next = next_piece().map_err(failed)?;
            let is_last = next.is_empty();
            let behind = first.as_ref().map(|first| Behind {
                first: first.as_str(),
                loc,
            });
            let place = match (behind, is_last) {
                (None, true) => Value::from(false),
                (None, false) => PiecePosition::First.to_string().into(),
                (Some(behind), false) => PiecePosition::More(behind).to_string().into(),
                (Some(behind), true) => PiecePosition::Last(behind).to_string().into(),
            };
            loc += piece.len() as u64;
            let packed = match self.gzip {
                true => gzipped(&piece).map_err(failed)?,
                false => piece,
            };
            // By name: minions take text that ends with `=`, as such text may,
            // for the name of an argument.
            let arguments = Map::from([
                (KWARG_MARK, Value::from(true)),
                ("dest", remote.into()),
                ("chunk", STANDARD.encode(packed).into()),
                ("append", place),
                ("compressed", self.gzip.into()),
                ("mode", i64::from(mode).into()),
            ]);
            let arguments = vec![arguments.into()];
            let sent = self.command("cp.recv_chunked", arguments, whole.as_deref());
            let Some(answers) = sent.await? else {
                return Ok(first.is_some());
            };
            let mut have_it = Vec::new();
            let mut is_bad = false;
            for (id, value) in answers.found {
                match value {
                    Value::Bool(true) => have_it.push(id.clone()),
                    _ => is_bad = true,
                }
                results.record(&id, remote, value);
            }
            first.get_or_insert(answers.jid);
            if is_last || have_it.is_empty() {
                return Ok(true);
            }
            if is_bad || whole.is_some() {
                whole = Some(have_it);
            }
        }
    }

    /// Runs a function; nothing if nobody is meant. `only`: of those who were meant at first.
    async fn command(
        &self,
        fun: &str,
        arguments: Vec<Value>,
        only: Option<&[String]>,
    ) -> Result<Option<Answers>, ClientError> {
        let (target, kind) = match only {
            None => (self.target.clone(), self.kind),
            Some(ids) => {
                let ids = ids.iter().map(String::as_str).map(Value::from);
                (ids.collect::<Vec<_>>().into(), "list")
            }
        };
        let job = Job {
            target,
            target_kind: kind.to_owned(),
            function: FunSpec::One(fun.to_owned()),
            arguments,
            returners: String::new(),
            options: Map::from([("delimiter", self.delimiter)]),
            jid: None,
        };
        let mut found = Vec::new();
        let Some(mut session) = self.client.start(&job, self.timeout).await? else {
            return Ok(None);
        };
        while let Some(report) = session.next().await? {
            found.push(match report {
                Report::Returned(Return { id, value, .. }) => (id, value),
                Report::Missing { id, text } => (id, text.into()),
            });
        }
        let jid = session.published().jid.clone();
        Ok(Some(Answers { jid, found }))
    }
}

fn gzipped(piece: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(piece)?;
    encoder.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_failure_of_a_file_stays() {
        let mut results = Results::default();
        results.record("web1", "/a", true.into());
        assert_eq!(results.exit(), Exit::Ok);
        results.record("web1", "/a", "disk full".into());
        results.record("web1", "/a", true.into());
        assert_eq!(results.exit(), Exit::Failure);
        let shown = results.by_minion.get("web1").and_then(|of| of.get("/a"));
        assert_eq!(shown, Some(&"disk full".into()));
    }

    #[test]
    fn nobody_answering_is_a_failure() {
        assert_eq!(Results::default().exit(), Exit::Failure);
    }
}
