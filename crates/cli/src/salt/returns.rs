//! Shows returns as they arrive, or all at the end.

use std::future::Future;
use std::io;
use std::pin::{Pin, pin};
use std::time::{Duration, Instant};

use halite_proto::{Map, Value};

use super::closing::Closing;
use super::progress::Progress;
use super::summary::Summary;
use super::{NO_DOCS, NO_RETURN, broken_off, docs};
use crate::command::{Command, DOC_FUNCTION};
use crate::display::Display;
use crate::options::SaltOptions;
use crate::{Exit, Screen};
use halite_client::collect::Return;
use halite_client::{ClientError, Report, Session};

const BAD_RETCODE: &str = "ERROR: Minions returned with non-zero exit code";

/// The outputter of minions that did not return, and their return code.
const NO_RETURN_OUT: &str = "no_return";
const NO_RETURN_RETCODE: i64 = 1;

/// How the returns of one command are shown.
pub(super) struct Show<'a> {
    pub(super) command: &'a Command,
    pub(super) options: &'a SaltOptions,
    pub(super) with_summary: bool,
    /// How far the job is is shown.
    pub(super) watches: bool,
    /// Whom a slow job waits for, and why, is shown.
    pub(super) on_terminal: bool,
    /// A line sums up what came of a state run.
    pub(super) closes: bool,
    pub(super) display: &'a mut Display,
}

impl Show<'_> {
    pub(super) async fn run(
        self,
        session: &mut Session<'_>,
        screen: &mut Screen<'_>,
    ) -> Result<Exit, ClientError> {
        let mut interrupt = pin!(tokio::signal::ctrl_c());
        let headline = self.headline(session);
        if self.options.is_static {
            return self.all_at_once(session, interrupt, screen).await;
        }
        screen.text(&headline);
        if self.command.is_function(DOC_FUNCTION) {
            return self.documentation(session, interrupt, screen).await;
        }
        let mut summary = Summary::default();
        let mut all_good = true;
        let places = session.places();
        let left = session.pending().len();
        let mut progress = match self.watches {
            true => Progress::new(true, left, places),
            false => Progress::new(self.on_terminal, left, places).when_slow(),
        };
        let mut closing = Closing::default();
        let mut named = 0;
        loop {
            // Those who return are taken out one by one.
            if session.expected_count() != named {
                named = session.expected_count();
                progress.awaiting(&session.pending());
            }
            match watched(session, interrupt.as_mut(), &mut progress, screen).await? {
                Next::Report(report) => {
                    let shown = Shown::from(report);
                    closing.add(&shown);
                    all_good &= shown.retcode == 0;
                    summary.add(&shown);
                    progress.ended(&shown);
                    progress.clear(screen);
                    let notes = shown.notes_text();
                    let data = Map::from([(shown.id, shown.value)]).into();
                    self.display
                        .show(screen, &data, shown.out.as_deref(), shown.retcode);
                    screen.error_text(&notes);
                }
                Next::Done => break,
                Next::Interrupted => {
                    progress.clear(screen);
                    return Ok(session_interrupted(session, screen));
                }
            }
        }
        progress.clear(screen);
        if self.with_summary && !self.display.has_wish() {
            let block = summary.text(self.options.verbose, screen.is_terminal());
            screen.text(&block);
        }
        if let Some(line) = closing.line().filter(|_| self.closes) {
            screen.error_line(&format!("\n{line}"));
        }
        if all_good {
            Ok(Exit::Ok)
        } else {
            screen.error_line(BAD_RETCODE);
            Ok(Exit::Failure)
        }
    }

    fn headline(&self, session: &Session) -> String {
        let jid = &session.published().jid;
        if self.options.verbose {
            let text = format!("Executing job with jid {jid}");
            format!("{text}\n{}\n\n", "-".repeat(text.len()))
        } else if self.options.show_jid {
            format!("jid: {jid}\n")
        } else {
            String::new()
        }
    }

    /// `--static`: one document, without those who did not return.
    async fn all_at_once(
        self,
        session: &mut Session<'_>,
        interrupt: Interrupt<'_>,
        screen: &mut Screen<'_>,
    ) -> Result<Exit, ClientError> {
        let Some(returns) = gathered(session, interrupt).await? else {
            return Ok(session_interrupted(session, screen));
        };
        let is_empty = returns.is_empty();
        let out = self.command.outputter();
        self.display.show(screen, &returns.into(), out, 0);
        if is_empty {
            screen.error_line(NO_RETURN);
            return Ok(Exit::NoReturn);
        }
        Ok(Exit::Ok)
    }

    async fn documentation(
        self,
        session: &mut Session<'_>,
        interrupt: Interrupt<'_>,
        screen: &mut Screen<'_>,
    ) -> Result<Exit, ClientError> {
        let Some(returns) = gathered(session, interrupt).await? else {
            return Ok(session_interrupted(session, screen));
        };
        let texts = docs::merged(&returns);
        if returns.is_empty() {
            screen.error_line(NO_DOCS);
            return Ok(Exit::NoReturn);
        }
        for (name, text) in texts {
            if self.display.has_wish() {
                let data = Map::from([(name, text)]).into();
                self.display.show(screen, &data, None, 0);
            } else {
                screen.text(&format!("{name}:\n{text}\n\n"));
            }
        }
        Ok(Exit::Ok)
    }
}

/// What is shown of one minion.
pub(super) struct Shown {
    pub(super) id: String,
    pub(super) value: Value,
    pub(super) out: Option<String>,
    pub(super) retcode: i64,
    /// The return code as it came.
    pub(super) raw_retcode: Value,
    /// What the return itself does not say, since it says what Salt's does.
    pub(super) notes: Vec<String>,
    pub(super) is_missing: bool,
}

impl Shown {
    /// The notes for the terminal, each with the minion's name before it.
    pub(super) fn notes_text(&self) -> String {
        let is_shown = |c: &char| !c.is_control() || *c == '\n';
        let notes = self.notes.iter().map(|note| {
            let note: String = note.chars().filter(is_shown).collect();
            format!("{}: {note}\n", self.id)
        });
        notes.collect()
    }
}

impl From<Report> for Shown {
    fn from(report: Report) -> Self {
        match report {
            Report::Returned(Return {
                id,
                value,
                out,
                retcode,
                notes,
            }) => Self {
                id,
                value,
                out,
                retcode: single_retcode(&retcode),
                raw_retcode: retcode,
                notes,
                is_missing: false,
            },
            Report::Missing { id, text } => Self {
                id,
                value: text.into(),
                out: Some(NO_RETURN_OUT.to_owned()),
                retcode: NO_RETURN_RETCODE,
                raw_retcode: NO_RETURN_RETCODE.into(),
                notes: Vec::new(),
                is_missing: true,
            },
        }
    }
}

/// Several functions have a return code each: the largest counts.
fn single_retcode(retcode: &Value) -> i64 {
    match retcode {
        Value::Map(codes) => codes.values().map(single_retcode).max().unwrap_or(0),
        Value::Bool(bool) => i64::from(*bool),
        other => other.as_i64().unwrap_or_else(|| i64::from(other.is_true())),
    }
}

type Interrupt<'a> = Pin<&'a mut dyn Future<Output = io::Result<()>>>;

enum Next {
    Report(Report),
    Done,
    Interrupted,
}

async fn next(session: &mut Session<'_>, interrupt: Interrupt<'_>) -> Result<Next, ClientError> {
    tokio::select! {
        report = session.next() => Ok(report?.map_or(Next::Done, Next::Report)),
        Ok(()) = interrupt => Ok(Next::Interrupted),
    }
}

/// How often what is shown of the progress is made new.
pub(super) const REDRAW: Duration = Duration::from_millis(250);

/// As [`next`], with the progress at the end of the terminal.
async fn watched(
    session: &mut Session<'_>,
    interrupt: Interrupt<'_>,
    progress: &mut Progress,
    screen: &mut Screen<'_>,
) -> Result<Next, ClientError> {
    let mut next = pin!(next(session, interrupt));
    // At the moment from which on it is shown, whenever the last return came.
    let first = progress.shown_from().max(Instant::now());
    let mut tick = tokio::time::interval_at(first.into(), REDRAW);
    loop {
        tokio::select! {
            biased;
            came = &mut next => return came,
            _ = tick.tick(), if progress.is_on() => progress.show(screen),
        }
    }
}

/// All returns; `None` when the user interrupted.
async fn gathered(
    session: &mut Session<'_>,
    mut interrupt: Interrupt<'_>,
) -> Result<Option<Map>, ClientError> {
    let mut returns = Map::new();
    loop {
        match next(session, interrupt.as_mut()).await? {
            Next::Report(Report::Returned(Return { id, value, .. })) => {
                returns.insert(id, value);
            }
            Next::Report(Report::Missing { .. }) => {}
            Next::Done => return Ok(Some(returns)),
            Next::Interrupted => return Ok(None),
        }
    }
}

fn session_interrupted(session: &Session, screen: &mut Screen) -> Exit {
    broken_off::show(&session.published().jid, &session.pending(), [], screen)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_several_return_codes_the_largest_counts() {
        for (retcode, expect) in [
            (Value::from(0), 0),
            (Value::from(7), 7),
            (Map::from([("a", 0), ("b", 2)]).into(), 2),
            (Map::new().into(), 0),
            (Value::Nil, 0),
            (Value::from(true), 1),
            (Value::from("x"), 1),
        ] {
            assert_eq!(single_retcode(&retcode), expect, "{retcode:?}");
        }
    }
}
