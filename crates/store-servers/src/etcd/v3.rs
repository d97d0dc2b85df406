//! Version 3 of the interface of etcd, in the JSON of its gateway.

use hyper::{Method, StatusCode};
use serde_json::{Value, json};

use super::wire::{Question, reason};
use super::{EtcdConnection, Login, decode, encode};
use crate::error::Failure;

/// Codes of gRPC that the gateway says.
const DEADLINE_EXCEEDED: i64 = 4;
const UNAVAILABLE: i64 = 14;
const UNAUTHENTICATED: i64 = 16;

/// A key with its value, as far as that was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The key.
    pub key: Vec<u8>,
    /// The value.
    pub value: Vec<u8>,
    /// The number of the last change: it grows with each change of anything.
    pub changed: i64,
}

impl Entry {
    fn read(found: &Value) -> Result<Self, Failure> {
        let bytes = |name: &str| match found.get(name) {
            None => Ok(Vec::new()),
            Some(Value::String(text)) => decode(text),
            Some(_) => Err(wrong("an entry without base64")),
        };
        Ok(Self {
            key: bytes("key")?,
            value: bytes("value")?,
            changed: number(found, "mod_revision")?,
        })
    }
}

impl EtcdConnection {
    /// Makes sure that the member serves this version, that we are signed in, and
    /// that it hears of the others.
    pub(super) async fn check(&mut self, place: &str) -> Result<(), Failure> {
        self.sign_in().await?;
        let ask = json!({"key": encode(place), "count_only": true});
        self.ask("/v3/kv/range", &ask).await.map(drop)
    }

    /// The entries of a range from `first` to before `after`, at most `max` and in
    /// the order of their keys; with an empty `after` the one entry `first`.
    ///
    /// # Errors
    /// When the server does not answer, or refuses.
    pub async fn range(
        &mut self,
        first: &[u8],
        after: &[u8],
        max: usize,
        keys_only: bool,
    ) -> Result<Vec<Entry>, Failure> {
        let mut ask = json!({"key": encode(first), "limit": max.to_string()});
        if let (false, Some(ask)) = (after.is_empty(), ask.as_object_mut()) {
            ask.insert("range_end".to_owned(), encode(after).into());
            ask.insert("keys_only".to_owned(), keys_only.into());
        }
        let said = self.ask("/v3/kv/range", &ask).await?;
        entries(&said)
    }

    /// The entries of several keys, in their order.
    ///
    /// # Errors
    /// When the server does not answer, or refuses.
    pub async fn get_all(&mut self, keys: &[Vec<u8>]) -> Result<Vec<Option<Entry>>, Failure> {
        let asks = keys.iter();
        let asks: Vec<Value> = asks
            .map(|key| json!({"request_range": {"key": encode(key)}}))
            .collect();
        let said = self.ask("/v3/kv/txn", &json!({"success": asks})).await?;
        let answers = said.get("responses").and_then(Value::as_array);
        let answers = answers.filter(|answers| answers.len() == keys.len());
        let answers = answers.ok_or_else(|| wrong("fewer answers than questions"))?;
        let entry = |answer: &Value| match answer.get("response_range") {
            Some(found) => Ok(entries(found)?.into_iter().next()),
            None => Err(wrong("another answer than one to a question")),
        };
        answers.iter().map(entry).collect()
    }

    /// Sets a value.
    ///
    /// # Errors
    /// When the server does not answer, or refuses.
    pub async fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), Failure> {
        let put = json!({"key": encode(key), "value": encode(value)});
        self.ask("/v3/kv/put", &put).await.map(drop)
    }

    /// Sets a value if there is what is expected (`None`: nothing); false if there is
    /// something else.
    ///
    /// # Errors
    /// When the server does not answer, or refuses.
    pub async fn put_over(
        &mut self,
        key: &[u8],
        expected: Option<&[u8]>,
        value: &[u8],
    ) -> Result<bool, Failure> {
        let mut compare = match expected {
            Some(known) => json!({"target": "VALUE", "value": encode(known)}),
            None => json!({"target": "CREATE", "create_revision": "0"}),
        };
        if let Some(compare) = compare.as_object_mut() {
            compare.insert("key".to_owned(), encode(key).into());
            compare.insert("result".to_owned(), "EQUAL".into());
        }
        let put = json!({"request_put": {"key": encode(key), "value": encode(value)}});
        let ask = json!({"compare": [compare], "success": [put]});
        let said = self.ask("/v3/kv/txn", &ask).await?;
        Ok(said.get("succeeded") == Some(&Value::Bool(true)))
    }

    /// Removes a range as [`Self::range`] has it, and says how many entries that were.
    ///
    /// # Errors
    /// When the server does not answer, or refuses.
    pub async fn delete(&mut self, first: &[u8], after: &[u8]) -> Result<i64, Failure> {
        let mut ask = json!({"key": encode(first)});
        if let (false, Some(ask)) = (after.is_empty(), ask.as_object_mut()) {
            ask.insert("range_end".to_owned(), encode(after).into());
        }
        let said = self.ask("/v3/kv/deleterange", &ask).await?;
        number(&said, "deleted")
    }

    /// Asks, and signs in again if the server knows us no more: it forgets who asks
    /// nothing for minutes.
    async fn ask(&mut self, path: &'static str, body: &Value) -> Result<Value, Failure> {
        match self.ask_once(path, body).await? {
            Ok(said) => Ok(said),
            Err(Unknown(why)) if self.login.is_none() => Err(Failure::Refused(why)),
            Err(Unknown(_)) => {
                self.sign_in().await?;
                let again = self.ask_once(path, body).await?;
                again.map_err(|Unknown(why)| Failure::Refused(why))
            }
        }
    }

    async fn ask_once(
        &mut self,
        path: &'static str,
        body: &Value,
    ) -> Result<Result<Value, Unknown>, Failure> {
        let question = Question {
            method: Method::POST,
            path,
            kind: "application/json",
            authorization: self.token.clone(),
            body: body.to_string(),
        };
        let (status, said) = self.http.ask(question).await?;
        if status.is_success() {
            return from_an_etcd(said).map(Ok);
        }
        let why = reason(status, &said);
        let code = said.get("code").and_then(Value::as_i64);
        let is_unknown = status == StatusCode::UNAUTHORIZED
            || code == Some(UNAUTHENTICATED)
            || why.contains("auth store is old");
        if is_unknown {
            return Ok(Err(Unknown(why)));
        }
        match code {
            Some(UNAVAILABLE | DEADLINE_EXCEEDED) => Err(Failure::broken(why)),
            Some(_) => Err(Failure::Refused(why)),
            None if status == StatusCode::NOT_FOUND => Err(Failure::Refused(
                "it does not serve version 3 of etcd over HTTP".to_owned(),
            )),
            None if status.is_server_error() => Err(Failure::broken(why)),
            None => Err(Failure::Refused(why)),
        }
    }

    async fn sign_in(&mut self) -> Result<(), Failure> {
        let Some(Login { user, password }) = &self.login else {
            return Ok(());
        };
        let ask = json!({"name": user, "password": password});
        self.token = None;
        let said = self.ask_once("/v3/auth/authenticate", &ask).await?;
        let said = said.map_err(|Unknown(why)| Failure::Refused(why))?;
        let token = said.get("token").and_then(Value::as_str);
        let token = token.ok_or_else(|| wrong("a sign-in without a token"))?;
        self.token = Some(token.to_owned());
        Ok(())
    }
}

/// The server does not know who asks, in its words.
struct Unknown(String);

/// An answer, unless something else has given it: one that has nothing in it would mean
/// that nothing is there.
fn from_an_etcd(said: Value) -> Result<Value, Failure> {
    let cluster = said.get("header").and_then(|it| it.get("cluster_id"));
    match cluster.is_some_and(Value::is_string) {
        true => Ok(said),
        false => Err(Failure::broken("what answers is no etcd".to_owned())),
    }
}

fn entries(said: &Value) -> Result<Vec<Entry>, Failure> {
    match said.get("kvs") {
        None => Ok(Vec::new()),
        Some(Value::Array(found)) => found.iter().map(Entry::read).collect(),
        Some(_) => Err(wrong("entries that are no list")),
    }
}

/// A number, which the gateway writes as a text, and not at all if it is zero.
fn number(said: &Value, name: &str) -> Result<i64, Failure> {
    match said.get(name) {
        None => Ok(0),
        Some(Value::String(text)) => text.parse().map_err(|_| wrong("a malformed number")),
        Some(Value::Number(number)) => number.as_i64().ok_or_else(|| wrong("too large a number")),
        Some(_) => Err(wrong("a malformed number")),
    }
}

fn wrong(what: &str) -> Failure {
    Failure::Answer(what.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_of_an_etcd_does_not_mean_that_nothing_is_there() {
        let empty = json!({"header": {"cluster_id": "1", "revision": "2"}});
        assert_eq!(entries(&from_an_etcd(empty).unwrap()).unwrap(), []);
        for wrong in [json!({}), json!(null), json!([]), json!({"header": "x"})] {
            let error = from_an_etcd(wrong).unwrap_err();
            assert!(matches!(error, Failure::Broken(_)), "{error}");
        }
    }

    #[test]
    fn an_answer_is_checked_before_it_is_used() {
        let said = json!({"kvs": [{"key": "YQ==", "mod_revision": "7"}], "count": "1"});
        let found = entries(&said).unwrap();
        assert_eq!((found[0].key.as_slice(), found[0].changed), (&b"a"[..], 7));
        assert!(found[0].value.is_empty());
        for wrong in [
            json!({"kvs": {}}),
            json!({"kvs": [{"key": "?"}]}),
            json!({"kvs": [{"key": 1}]}),
            json!({"kvs": [{"key": "YQ==", "mod_revision": "x"}]}),
            json!({"kvs": [{"key": "YQ==", "mod_revision": []}]}),
        ] {
            let error = entries(&wrong).unwrap_err();
            assert!(matches!(error, Failure::Answer(_)), "{wrong}: {error}");
        }
    }
}
