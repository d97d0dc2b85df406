//! The return of a runner: what is shown of it, and the exit code that it means.

use halite_proto::{Map, Value};

use crate::display::Display;
use crate::{Exit, Screen};

/// The outputter that an event asks for, or the return in it.
pub(super) fn outputter_of(event: &Map) -> Option<String> {
    let own = event.get("outputter");
    let of_return = || event.get("return").and_then(|value| value.get("outputter"));
    let name = own.filter(|name| name.is_true()).or_else(of_return)?;
    name.as_str().map(str::to_owned)
}

/// Shows what a runner has returned, without its wrapping.
pub(super) fn show_return(event: &Map, display: &mut Display, screen: &mut Screen) {
    let value = match event.get("return") {
        Some(Value::Str(text)) => without_traceback(text).into(),
        value => value.cloned().unwrap_or_default(),
    };
    let mut out = outputter_of(event);
    let data = match value {
        Value::Map(map)
            if map.len() == 2 && map.contains_key("data") && map.contains_key("outputter") =>
        {
            out = map
                .get("outputter")
                .and_then(Value::as_str)
                .map(str::to_owned);
            map.get("data").cloned().unwrap_or_default()
        }
        value => value,
    };
    display.show(screen, &data, out.as_deref(), 0);
}

/// What has gone wrong in a runner of Salt's, without the lines of its Python:
/// they are in the master's log.
fn without_traceback(text: &str) -> String {
    const BEGIN: &str = "Exception occurred in runner ";
    const TRACEBACK: &str = ": Traceback (most recent call last):";
    match text.split_once(TRACEBACK) {
        Some((before, traceback)) if before.starts_with(BEGIN) => {
            let last = traceback.lines().rfind(|line| !line.trim().is_empty());
            format!("{before}: {}", last.unwrap_or_default().trim())
        }
        _ => text.to_owned(),
    }
}

/// The return code of a runner that does not exist, in its event.
const NOT_AVAILABLE: i64 = 254;

/// The exit code that the return of a runner asks for.
pub(super) fn exit_of(event: &Map) -> Exit {
    let code = |value: Option<&Value>| value.and_then(Value::as_i64);
    let value = event.get("return");
    let own = code(event.get("retcode"));
    let of_return = || code(value.and_then(|value| value.get("retcode")));
    let of_data = || {
        let data = value.and_then(|value| value.get("data"));
        code(data.and_then(|data| data.get("retcode")))
    };
    match own.or_else(of_return).or_else(of_data) {
        // The text says it; the program has done its part.
        None | Some(0 | NOT_AVAILABLE) => Exit::Ok,
        Some(code) => Exit::Passthrough(code),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(event: Map) -> String {
        let mut text = Vec::new();
        let mut screen = Screen::to_writers(&mut text, std::io::sink());
        let options = crate::options::OutputOptions::default();
        let mut display = Display::new(&Map::new(), &options, &screen, None).unwrap();
        show_return(&event, &mut display, &mut screen);
        drop(screen);
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn what_is_returned_is_shown_without_its_wrapping() {
        let list = Value::List(vec!["web1".into(), "web2".into()]);
        assert_eq!(shown(Map::from([("return", list)])), "- web1\n- web2\n");
        assert_eq!(shown(Map::from([("return", Value::Nil)])), "None\n");
        let wrapped = Map::from([
            ("outputter", Value::from("json")),
            ("data", Map::from([("a", 1)]).into()),
        ]);
        assert_eq!(
            shown(Map::from([("return", wrapped)])),
            "{\n    \"a\": 1\n}\n"
        );
    }

    #[test]
    fn an_exception_of_salts_is_one_line() {
        let text = "Exception occurred in runner no.such: Traceback (most recent call last):\n  \
                    File \"/x/mixins.py\", line 1, in low\n    verify_fun(f)\n\
                    salt.exceptions.CommandExecutionError: 'no.such' is not available.\n";
        let line = "Exception occurred in runner no.such: \
                    salt.exceptions.CommandExecutionError: 'no.such' is not available.";
        assert_eq!(without_traceback(text), line);
        for other in ["done", "x: Traceback (most recent call last):\ny"] {
            assert_eq!(without_traceback(other), other);
        }
    }

    #[test]
    fn return_codes_become_exit_codes() {
        let event =
            |value: Value, retcode: Value| Map::from([("return", value), ("retcode", retcode)]);
        let code = |event: Map| exit_of(&event).code();
        assert_eq!(code(Map::from([("return", true)])), 0);
        assert_eq!(code(event("Exception".into(), 1.into())), 1);
        assert_eq!(code(event("'x' is not available.".into(), 254.into())), 0);
        let own = Value::from(Map::from([("retcode", 2)]));
        assert_eq!(code(Map::from([("return", own.clone())])), 2);
        let data = Value::from(Map::from([("data", own)]));
        assert_eq!(code(Map::from([("return", data)])), 2);
    }
}
