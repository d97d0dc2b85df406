//! `rest`: a web server checks the password, and may return the user's rights.

use std::time::Duration;

use halite_call::{Cancel, Job, TimeLimit, run_function};
use halite_proto::{Map, Value};

use crate::access::Access;
use crate::core::eauth;

/// How long the server may take.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(30);

const OK: i64 = 200;

fn url(entries: &Map) -> Option<&str> {
    let url = eauth::option(entries, "url").and_then(Value::as_str)?;
    (url.starts_with("http://") || url.starts_with("https://")).then_some(url)
}

/// Whether the options can be used.
pub(super) fn check(entries: &Map) -> Result<(), String> {
    match url(entries) {
        Some(_) => Ok(()),
        None => Err("the option ^url must be the address of a web server".to_owned()),
    }
}

/// What else the user may do; `None` is a refusal.
pub(super) fn log_in(
    access: &Access,
    entries: &Map,
    name: &str,
    password: &str,
) -> Result<Option<Vec<Value>>, String> {
    check(entries)?;
    let form = Map::from([("username", name), ("password", password)]);
    let asked = Map::from([
        ("__kwarg__", Value::from(true)),
        ("url", url(entries).unwrap_or_default().into()),
        ("method", "POST".into()),
        ("data", form.into()),
        ("status", true.into()),
        ("decode", true.into()),
        ("decode_type", "json".into()),
        // A page elsewhere that answers 200 knows nothing of this password.
        ("follow_redirects", false.into()),
    ]);
    let cancel = Cancel::default();
    let _limit = TimeLimit::start(cancel.clone(), ANSWER_TIME_MAX, "a login by rest");
    let job = Job {
        cancel,
        ..Job::default()
    };
    let context = access.functions.context();
    let outcome = run_function(context, "http.query", &[asked.into()], &job);
    if outcome.failure.is_some() {
        return Err("the server did not answer, or its answer is not JSON".to_owned());
    }
    Ok(judged(&outcome.ret))
}

/// What an answer means.
fn judged(answer: &Value) -> Option<Vec<Value>> {
    if answer.get("status").and_then(Value::as_i64) != Some(OK) {
        return None;
    }
    Some(match answer.get("dict") {
        Some(Value::List(perms)) => perms.clone(),
        _ => Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_of_200_lets_in_and_may_list_rights() {
        let answer = |status: i64, dict: Value| {
            judged(&Map::from([("status", Value::from(status)), ("dict", dict)]).into())
        };
        let perms = vec![Value::from("test.*")];
        assert_eq!(answer(200, perms.clone().into()), Some(perms));
        assert_eq!(answer(200, Value::Nil), Some(Vec::new()));
        assert_eq!(answer(200, Map::new().into()), Some(Vec::new()));
        assert_eq!(answer(401, Value::Nil), None);
        assert_eq!(answer(302, Value::Nil), None);
        assert_eq!(judged(&Map::from([("error", "refused")]).into()), None);
    }

    #[test]
    fn the_address_is_one_of_a_web_server() {
        let with = |url: &str| check(&Map::from([("^url", url)]));
        assert!(with("https://auth.example/login").is_ok());
        assert!(with("file:///etc/passwd").is_err());
        assert!(check(&Map::new()).is_err());
    }
}
