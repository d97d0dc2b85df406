//! `state.event`: the events of a bus, a line each, as they come.
//!
//! `salt-run` shows those of the master, `salt-call` those of the minion.

use std::time::Duration;

use halite_output::{Indent, RenderOptions, render};
use halite_proto::{Map, Value};
use halite_target::glob::fnmatch;
use halite_target::pcre;
use halite_transport::ipc::EventSubscriber;
use tokio::time::sleep;

use crate::Screen;

/// What is shown of a bus.
#[derive(Clone, Debug, PartialEq)]
pub struct Wish {
    /// Whose bus: `master` or `minion`.
    pub node: String,
    /// Where its sockets are, if that is not what the configuration says.
    pub sock_dir: Option<String>,
    tags: String,
    /// How many are shown at most.
    count: Option<u64>,
    quiet: bool,
    pretty: bool,
}

/// The parameters in their order.
const NAMES: [&str; 6] = ["tagmatch", "count", "quiet", "sock_dir", "pretty", "node"];

impl Wish {
    /// The wish that these arguments are, of a program that shows `node`'s bus.
    ///
    /// # Errors
    /// An argument that there is none of, or another one's bus.
    pub fn new(args: Vec<Value>, mut kwargs: Map, node: &str) -> Result<Self, String> {
        if args.len() > NAMES.len() {
            let (most, given) = (NAMES.len(), args.len());
            return Err(format!(
                "event() takes from 0 to {most} positional arguments but {given} were given"
            ));
        }
        for (name, value) in NAMES.iter().zip(args) {
            kwargs.insert(*name, value);
        }
        if let Some(name) = kwargs
            .keys()
            .find(|name| !NAMES.iter().any(|known| name.as_str() == Some(known)))
        {
            let name = halite_proto::python::str(name);
            return Err(format!(
                "event() got an unexpected keyword argument '{name}'"
            ));
        }
        let text = |name: &str| kwargs.get(name).filter(|value| value.is_true());
        let text = |name: &str| text(name).map(halite_proto::python::str);
        let flag = |name: &str| kwargs.get(name).is_some_and(Value::is_true);
        let count = kwargs.get("count").and_then(Value::as_i64).unwrap_or(-1);
        Ok(Self {
            node: text("node").unwrap_or_else(|| node.to_owned()),
            sock_dir: text("sock_dir"),
            tags: kwargs
                .get("tagmatch")
                .map_or_else(|| "*".to_owned(), halite_proto::python::str),
            count: u64::try_from(count).ok(),
            quiet: flag("quiet"),
            pretty: flag("pretty"),
        })
    }

    /// A glob, or a regular expression for the whole tag.
    fn means(&self, tag: &str) -> bool {
        fnmatch(&self.tags, tag)
            || pcre::match_start(&format!(r"(?:{})\Z", self.tags), tag).unwrap_or(false)
    }

    fn line(&self, tag: &str, data: Map) -> String {
        let options = RenderOptions {
            indent: match self.pretty {
                true => Indent::default(),
                false => Indent::parse("-1").unwrap_or_default(),
            },
            ..RenderOptions::default()
        };
        let data = match self.pretty {
            true => sorted(data.into()),
            false => data.into(),
        };
        format!("{tag}\t{}", render(Some("json"), &data, &options))
    }
}

fn sorted(value: Value) -> Value {
    match value {
        Value::Map(map) => {
            let mut pairs: Vec<(Value, Value)> = map.into_iter().collect();
            pairs.sort_by_cached_key(|(key, _)| halite_proto::python::str(key));
            Value::Map(
                pairs
                    .into_iter()
                    .map(|(key, value)| (key, sorted(value)))
                    .collect(),
            )
        }
        Value::List(items) => Value::List(items.into_iter().map(sorted).collect()),
        other => other,
    }
}

/// How the showing of events ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// There were enough.
    Enough,
    /// Ctrl-C.
    Interrupted,
}

/// How often a bus that is gone is looked for.
const LOOK_AGAIN: Duration = Duration::from_millis(500);

/// Shows events until there were enough, or for ever: a bus that is gone is
/// waited for. Whose bus it is restarts, or has given up a reader that was too
/// slow for it.
///
/// # Errors
/// When there is no bus in the beginning.
pub async fn show<E>(
    connect: impl AsyncFn() -> Result<EventSubscriber, E>,
    wish: &Wish,
    screen: &mut Screen<'_>,
) -> Result<End, E> {
    let mut events = connect().await?;
    let mut left = wish.count;
    while left != Some(0) {
        let event = tokio::select! {
            event = events.next() => event,
            Ok(()) = tokio::signal::ctrl_c() => return Ok(End::Interrupted),
        };
        let Ok(Some(event)) = event else {
            tracing::warn!("the event bus is gone, and events are missed until it is back");
            tokio::select! {
                again = again(&connect) => events = again,
                Ok(()) = tokio::signal::ctrl_c() => return Ok(End::Interrupted),
            }
            tracing::warn!("the event bus is back");
            continue;
        };
        if !wish.means(event.tag()) {
            tracing::debug!(tag = event.tag(), "an event that is not meant");
            continue;
        }
        if let (false, Ok(event)) = (wish.quiet, event.unpack()) {
            screen.line(&wish.line(event.tag.as_str(), event.data));
        }
        left = left.map(|left| left - 1);
    }
    Ok(End::Enough)
}

/// Connects as soon as the bus is there.
async fn again<E>(connect: &impl AsyncFn() -> Result<EventSubscriber, E>) -> EventSubscriber {
    loop {
        sleep(LOOK_AGAIN).await;
        if let Ok(events) = connect().await {
            return events;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wish(args: &[&str], kwargs: Map) -> Wish {
        Wish::new(
            args.iter().map(|arg| Value::from(*arg)).collect(),
            kwargs,
            "master",
        )
        .unwrap()
    }

    #[test]
    fn tags_are_meant_by_glob_or_regular_expression() {
        assert!(wish(&[], Map::new()).means("salt/auth"));
        assert!(wish(&["salt/*"], Map::new()).means("salt/auth"));
        assert!(wish(&["salt/(auth|key)"], Map::new()).means("salt/key"));
        assert!(!wish(&["salt/(auth|key)"], Map::new()).means("salt/key/x"));
        assert!(!wish(&["salt"], Map::new()).means("salt/auth"));
    }

    #[test]
    fn an_event_is_a_line_or_a_sorted_document() {
        let data = || Map::from([("b", 1), ("a", 2)]);
        assert_eq!(
            wish(&[], Map::new()).line("x/y", data()),
            "x/y\t{\"b\": 1, \"a\": 2}"
        );
        let pretty = wish(&[], Map::from([("pretty", true)]));
        assert_eq!(
            pretty.line("x", data()),
            "x\t{\n    \"a\": 2,\n    \"b\": 1\n}"
        );
        assert!(Wish::new(Vec::new(), Map::from([("nosuch", 1)]), "master").is_err());
    }
}
