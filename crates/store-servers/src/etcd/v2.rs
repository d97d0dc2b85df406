//! Version 2 of the interface of etcd.

use hyper::Method;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;

use super::wire::{Question, reason};
use super::{EtcdConnection, Login, encode};
use crate::error::Failure;

/// What stands in a path, and in a form, as it is.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');
const PATH: &AsciiSet = &PLAIN.remove(b'/');

const KEY_NOT_FOUND: i64 = 100;
const COMPARE_FAILED: i64 = 101;
const NO_FILE: i64 = 102;
const KEY_EXISTS: i64 = 105;

/// A key with its value, or a directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Node {
    /// The last part of its key.
    pub name: String,
    /// Its value.
    pub value: String,
    /// Whether it is a directory.
    pub is_dir: bool,
    /// The number of its last change.
    pub index: i64,
    /// What lies right below it.
    pub nodes: Vec<Self>,
}

/// Why something was not done that is no failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// There is no such key.
    Missing,
    /// What is there is not what was expected.
    Differs,
}

/// What comes of a request.
pub type V2Answer = Result<Node, Refusal>;

impl Node {
    /// A node, with those right below it.
    fn read(found: &Value) -> Result<Self, Failure> {
        let mut node = Self::read_alone(found)?;
        let below = found.get("nodes").and_then(Value::as_array);
        node.nodes = below
            .map(|below| below.iter().map(Self::read_alone).collect())
            .transpose()?
            .unwrap_or_default();
        Ok(node)
    }

    fn read_alone(found: &Value) -> Result<Self, Failure> {
        let text = |name: &str| found.get(name).and_then(Value::as_str);
        let key = text("key").unwrap_or_default();
        if !found.is_object() {
            return Err(Failure::Answer("no node".to_owned()));
        }
        Ok(Self {
            name: key.rsplit('/').next().unwrap_or_default().to_owned(),
            value: text("value").unwrap_or_default().to_owned(),
            is_dir: found.get("dir") == Some(&Value::Bool(true)),
            index: found
                .get("modifiedIndex")
                .and_then(Value::as_i64)
                .unwrap_or_default(),
            nodes: Vec::new(),
        })
    }
}

impl EtcdConnection {
    /// Makes sure that the member serves this version and hears of the others.
    pub(super) async fn check_v2(&mut self, place: &str) -> Result<(), Failure> {
        self.get_v2(place).await.map(drop)
    }

    /// What is at a place.
    ///
    /// # Errors
    /// When the server does not answer, or refuses.
    pub async fn get_v2(&mut self, place: &str) -> Result<V2Answer, Failure> {
        self.ask_v2(Method::GET, place, "?quorum=true", String::new())
            .await
    }

    /// Sets a value, whatever is there.
    ///
    /// # Errors
    /// When the server does not answer, or refuses.
    pub async fn set_v2(&mut self, place: &str, value: &str) -> Result<V2Answer, Failure> {
        self.ask_v2(Method::PUT, place, "", form(value)).await
    }

    /// Sets a value over one that was read, by its index, or where nothing is.
    ///
    /// # Errors
    /// When the server does not answer, or refuses.
    pub async fn set_over_v2(
        &mut self,
        place: &str,
        index: Option<i64>,
        value: &str,
    ) -> Result<V2Answer, Failure> {
        let only = match index {
            Some(index) => format!("?prevIndex={index}"),
            None => "?prevExist=false".to_owned(),
        };
        self.ask_v2(Method::PUT, place, &only, form(value)).await
    }

    /// Removes a key, not a directory.
    ///
    /// # Errors
    /// When the server does not answer, or refuses.
    pub async fn delete_v2(&mut self, place: &str) -> Result<V2Answer, Failure> {
        self.ask_v2(Method::DELETE, place, "", String::new()).await
    }

    /// Removes a directory with what is below it.
    ///
    /// # Errors
    /// When the server does not answer, or refuses.
    pub async fn delete_tree_v2(&mut self, place: &str) -> Result<V2Answer, Failure> {
        self.ask_v2(Method::DELETE, place, "?recursive=true", String::new())
            .await
    }

    async fn ask_v2(
        &mut self,
        method: Method,
        place: &str,
        only: &str,
        body: String,
    ) -> Result<V2Answer, Failure> {
        let path = format!("/v2/keys{}{only}", utf8_percent_encode(place, PATH));
        let basic = |Login { user, password }: &Login| {
            format!("Basic {}", encode(format!("{user}:{password}")))
        };
        let question = Question {
            method,
            path: &path,
            kind: "application/x-www-form-urlencoded",
            authorization: self.login.as_ref().map(basic),
            body,
        };
        let (status, said) = self.http.ask(question).await?;
        if status.is_success() {
            let node = said.get("node").unwrap_or(&Value::Null);
            return Node::read(node).map(Ok);
        }
        match said.get("errorCode").and_then(Value::as_i64) {
            Some(KEY_NOT_FOUND | NO_FILE) => Ok(Err(Refusal::Missing)),
            Some(COMPARE_FAILED | KEY_EXISTS) => Ok(Err(Refusal::Differs)),
            // Of the raft, or of the time: another member may do it.
            Some(300..=399) => Err(Failure::broken(reason(status, &said))),
            Some(_) => Err(Failure::Refused(reason(status, &said))),
            None if status == hyper::StatusCode::NOT_FOUND => Err(Failure::Refused(
                "it does not serve version 2 of etcd (--enable-v2=true), in which Salt's cache \
                 etcd keeps things; for version 3 set etcd.require_v2: False, or store"
                    .to_owned(),
            )),
            None if status.is_server_error() => Err(Failure::broken(reason(status, &said))),
            None => Err(Failure::Refused(reason(status, &said))),
        }
    }
}

fn form(value: &str) -> String {
    format!("value={}", utf8_percent_encode(value, PLAIN))
}
