//! `salt-minion status`: asks the minion daemon on this machine, over its event
//! bus, for the state of its links.

use std::fmt::Write as _;
use std::time::Duration;

use halite_output::{Outputter, RenderOptions, render_as};
use halite_proto::event::Event;
use halite_proto::{Map, Tag, Value};
use halite_transport::Endpoint;
use halite_transport::ipc::{ConnectError, EventPusher, EventSubscriber, PushError, ReceiveError};
use thiserror::Error;
use tokio::time::{Instant, timeout};

use crate::{Exit, Screen};

/// How long the minion may take: it asks its masters for a sign of life.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);

/// How often it is asked: a bus hears a listener a moment after it has
/// connected.
const ASK_INTERVAL: Duration = Duration::from_millis(250);

/// Longest text of an error in a table.
const ERROR_CHARS_MAX: usize = 60;

/// Why there is no status.
#[derive(Debug, Error)]
pub enum StatusError {
    /// No minion runs here, or not for this user.
    #[error("no minion runs here")]
    NotRunning(#[source] ConnectError),
    /// It cannot be asked.
    #[error("could not ask the minion")]
    Ask(#[source] PushError),
    /// Its answer cannot be read.
    #[error("could not read the minion's answer")]
    Answer(#[source] ReceiveError),
    /// It does not answer.
    #[error("the minion does not answer; is the salt-minion that runs here one of Salt?")]
    Silent,
}

/// The tags of question and answer; those of `halite_minion::daemon::status_report`.
#[derive(Clone, Copy, Debug)]
pub struct Tags {
    /// The question's.
    pub ask: &'static str,
    /// What an answer's begins with.
    pub answer: &'static str,
}

/// Asks the minion whose bus is at these endpoints (to subscribe at, to send
/// to).
///
/// # Errors
/// When no minion answers.
pub async fn ask(bus: &(Endpoint, Endpoint), tags: Tags) -> Result<Map, StatusError> {
    let mut answers = EventSubscriber::connect(&bus.0)
        .await
        .map_err(StatusError::NotRunning)?;
    let mut questions = EventPusher::connect(&bus.1)
        .await
        .map_err(StatusError::NotRunning)?;
    let reply = format!("{}{}", tags.answer, std::process::id());
    let data = Map::from([("reply", reply.as_str())]);
    let tag = Tag::parse(tags.ask).map_err(|_| StatusError::Silent)?;
    let question = Event::new(tag, data).pack().unwrap_or_default();
    let deadline = Instant::now() + ANSWER_TIMEOUT;
    while Instant::now() < deadline {
        questions.push(&question).await.map_err(StatusError::Ask)?;
        let asked = Instant::now();
        while let Ok(heard) =
            timeout(ASK_INTERVAL.saturating_sub(asked.elapsed()), answers.next()).await
        {
            let Some(event) = heard.map_err(StatusError::Answer)? else {
                return Err(StatusError::Silent);
            };
            if event.tag() == reply
                && let Ok(mut event) = event.unpack()
            {
                event.data.remove("_stamp");
                return Ok(event.data);
            }
        }
    }
    Err(StatusError::Silent)
}

/// Shows a status.
pub fn show(status: Map, format: Option<&str>, now: f64, screen: &mut Screen) -> Exit {
    let exit = exit(&status);
    match format.and_then(Outputter::parse) {
        Some(outputter) => {
            screen.line(&render_as(
                outputter,
                &Value::Map(status),
                &RenderOptions::default(),
            ));
        }
        None => screen.text(&table(&status, now)),
    }
    exit
}

/// Whether a format is one: `text`, or the name of an outputter.
pub fn is_format(format: &str) -> bool {
    format == "text" || Outputter::parse(format).is_some()
}

/// All is well if a link is ready, none that is to be up is not, and no other
/// machine uses this minion's key.
fn exit(status: &Map) -> Exit {
    if links(status).any(|link| !same_key_at(link).is_empty()) {
        return Exit::Failure;
    }
    let mut states = links(status).map(|link| text(link, "state"));
    let (mut ready, mut others) = (0, 0);
    for state in states.by_ref() {
        match state {
            "ready" => ready += 1,
            "standby" => {}
            _ => others += 1,
        }
    }
    match (ready, others) {
        (1.., 0) => Exit::Ok,
        _ => Exit::Failure,
    }
}

fn links(status: &Map) -> impl Iterator<Item = &Map> {
    let list = status.get("masters").and_then(Value::as_list);
    list.unwrap_or_default().iter().filter_map(Value::as_map)
}

/// From where a master hears others with this minion's id and key.
fn same_key_at(link: &Map) -> Vec<&str> {
    let list = link.get("same_key_at").and_then(Value::as_list);
    let others = list.unwrap_or_default().iter();
    others.filter_map(Value::as_str).collect()
}

fn text<'a>(map: &'a Map, name: &str) -> &'a str {
    map.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// The status as lines for people.
fn table(status: &Map, now: f64) -> String {
    let number = |name: &str| status.get(name).and_then(Value::as_i64).unwrap_or_default();
    let mut lines = format!(
        "salt-minion {} (version {}, process {}): {} jobs running, {} returns waiting\n",
        text(status, "id"),
        text(status, "version"),
        number("pid"),
        number("jobs_running"),
        number("returns_waiting"),
    );
    let is_broken = |name: &str| status.get(name).and_then(Value::as_bool) == Some(false);
    if is_broken("returns_on_disk") {
        lines
            .push_str("The disk takes no returns: they are in memory, and lost if it stops now.\n");
    }
    if is_broken("claims_on_disk") {
        lines.push_str("The disk does not say which jobs have begun: a restart may repeat them.\n");
    }
    for link in links(status) {
        let others = same_key_at(link);
        if !others.is_empty() {
            let _ = writeln!(
                lines,
                "{} hears another machine with this id and key, from {}: each runs every job.",
                text(link, "master"),
                others.join(", ")
            );
        }
    }
    let header = [
        "MASTER",
        "STATE",
        "SINCE",
        "ROUND TRIP",
        "NEXT TRY",
        "LAST ERROR",
    ];
    let mut rows = vec![header.map(str::to_owned)];
    rows.extend(links(status).map(|link| row(link, now)));
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..header.len()).map(width).collect();
    for row in &rows {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(&widths) {
            let _ = write!(line, "{cell:<width$}  ");
        }
        lines.push_str(line.trim_end());
        lines.push('\n');
    }
    lines
}

fn row(link: &Map, now: f64) -> [String; 6] {
    let seconds = |name: &str| link.get(name).and_then(Value::as_f64);
    let none = || "-".to_owned();
    let ago = |at: f64| format!("{} ago", span(now - at));
    let error = link.get("last_error").and_then(Value::as_str);
    let error = error.map(|why| {
        let mut short: String = why.chars().take(ERROR_CHARS_MAX).collect();
        if short.len() < why.len() {
            short.push_str("...");
        }
        match seconds("last_error_at") {
            Some(at) => format!("{short} ({})", ago(at)),
            None => short,
        }
    });
    [
        text(link, "master").to_owned(),
        text(link, "state").to_owned(),
        seconds("since").map_or_else(none, ago),
        seconds("round_trip_ms").map_or_else(none, |ms| format!("{ms:.1} ms")),
        seconds("next_try").map_or_else(none, |at| format!("in {}", span(at - now))),
        error.unwrap_or_else(none),
    ]
}

/// A length of time as people say it, its largest two units.
fn span(seconds: f64) -> String {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a cast of a float saturates"
    )]
    let seconds = seconds.max(0.0) as i64;
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, _) => format!("{minutes} min {} s", seconds % 60),
        (0, _, _) => format!("{hours} h {} min", minutes % 60),
        _ => format!("{days} d {} h", hours % 24),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(states: &[&str]) -> Map {
        let link = |state: &&str| {
            let mut link = Map::from([
                ("master", Value::from("127.0.0.1:4506")),
                ("state", (*state).into()),
                ("since", Value::Float(1000.0)),
                ("round_trip_ms", Value::Nil),
                ("last_error", Value::Nil),
                ("next_try", Value::Nil),
            ]);
            match *state {
                "ready" => link.insert("round_trip_ms", Value::Float(0.42)),
                "waiting" => {
                    link.insert("last_error", "sign-in: no connection to tcp://127.0.0.1:4506 within 5000 ms, which is too long a text");
                    link.insert("last_error_at", Value::Float(4597.0));
                    link.insert("next_try", Value::Float(4603.5))
                }
                _ => None,
            };
            Value::Map(link)
        };
        Map::from([
            ("id", Value::from("web1")),
            ("version", "0.1.0".into()),
            ("pid", 123.into()),
            ("jobs_running", 1.into()),
            ("returns_waiting", 0.into()),
            (
                "masters",
                states.iter().map(link).collect::<Vec<_>>().into(),
            ),
        ])
    }

    #[test]
    fn the_table_says_what_is_known() {
        let text = table(&status(&["ready", "waiting", "standby"]), 4600.0);
        assert_eq!(
            text,
            "salt-minion web1 (version 0.1.0, process 123): 1 jobs running, 0 returns waiting\n\
             MASTER          STATE    SINCE          ROUND TRIP  NEXT TRY  LAST ERROR\n\
             127.0.0.1:4506  ready    1 h 0 min ago  0.4 ms      -         -\n\
             127.0.0.1:4506  waiting  1 h 0 min ago  -           in 3 s    \
             sign-in: no connection to tcp://127.0.0.1:4506 within 5000 m... (3 s ago)\n\
             127.0.0.1:4506  standby  1 h 0 min ago  -           -         -\n"
        );
    }

    #[test]
    fn the_exit_code_says_whether_all_is_well() {
        for (states, expected) in [
            (&["ready", "ready"][..], Exit::Ok),
            (&["ready", "standby"], Exit::Ok),
            (&["ready", "waiting"], Exit::Failure),
            (&["standby"], Exit::Failure),
            (&[], Exit::Failure),
        ] {
            assert_eq!(exit(&status(states)), expected, "{states:?}");
        }
    }

    #[test]
    fn another_machine_with_the_key_is_said_and_is_not_well() {
        let mut status = status(&["ready"]);
        let others = Value::List(vec!["192.0.2.7".into(), "192.0.2.8".into()]);
        if let Some(Value::List(links)) = status.get_mut("masters")
            && let Some(Value::Map(link)) = links.first_mut()
        {
            link.insert("same_key_at", others);
        }
        assert_eq!(exit(&status), Exit::Failure);
        let shown = table(&status, 4600.0);
        let line = shown.lines().nth(1);
        assert_eq!(
            line,
            Some(
                "127.0.0.1:4506 hears another machine with this id and key, from 192.0.2.7, \
                 192.0.2.8: each runs every job."
            )
        );
    }

    #[test]
    fn json_is_one_document() {
        let mut out = Vec::new();
        let mut screen = Screen::to_writers(&mut out, std::io::sink());
        show(status(&["ready"]), Some("json"), 0.0, &mut screen);
        drop(screen);
        let parsed: serde_json::Value = serde_json::from_slice(&out).unwrap();
        assert_eq!(parsed["masters"][0]["state"], "ready");
    }
}
