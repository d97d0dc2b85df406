//! One chunk of low data: which client runs it, and its result.
//!
//! Invariant: a chunk without credentials goes nowhere, and every other one goes to
//! the master with them: nothing here decides what a user may do.

mod batch;
mod local;
mod returned;

use std::sync::Arc;

use axum::http::StatusCode;
use halite_client::{ClientError, LocalClient, RunnerJob};
use halite_proto::clear::Credentials;
use halite_proto::{Jid, Map, Value};

use crate::fault::Fault;
use crate::masters::Masters;
use crate::settings::{ApiSettings, CLIENTS};
pub(crate) use returned::{Returned, answer};

/// A client of Salt's that is known and not supported.
const KNOWN_AND_NOT_HERE: &str = "ssh";

/// Runs chunks.
pub(crate) struct Runner {
    /// The way to the master.
    pub(crate) client: LocalClient,
    /// Other masters, for when it is away.
    pub(crate) masters: Arc<Masters>,
    /// The settings.
    pub(crate) settings: Arc<ApiSettings>,
}

/// A chunk that may go to the master.
pub(crate) struct Chunk {
    /// The client.
    kind: String,
    pub(crate) credentials: Credentials,
    /// All that is left.
    fields: Map,
}

impl Runner {
    /// Runs one chunk; what it returns, which is several values for batches. Another
    /// master runs it when this machine's is away before it was asked.
    ///
    /// # Errors
    /// When it makes no sense, or the master refuses.
    pub(crate) async fn run(&self, chunk: Chunk, has_others: bool) -> Result<Vec<Returned>, Fault> {
        let ran = if has_others && !self.masters.own_is_there().await {
            self.masters.run(chunk.into_low()).await
        } else if chunk.kind == "runner" {
            let client = self.client.for_login(chunk.credentials);
            let returned = self.runner(&client, chunk.fields).await?;
            return Ok(vec![returned]);
        } else {
            self.run_here(chunk).await
        };
        Ok(ran?.into_iter().map(Returned::Data).collect())
    }

    async fn run_here(&self, chunk: Chunk) -> Result<Vec<Value>, Fault> {
        let client = self.client.for_login(chunk.credentials);
        let one = |value: Value| vec![value];
        match chunk.kind.as_str() {
            "local" => local::run(&client, chunk.fields).await.map(one),
            "local_async" => local::publish(&client, chunk.fields).await.map(one),
            "local_subset" => local::subset(&client, chunk.fields).await.map(one),
            "local_batch" => batch::run(&client, chunk.fields).await,
            "runner_async" => runner_async(&client, chunk.fields).await.map(one),
            "wheel" => wheel(&client, chunk.fields).await.map(one),
            // A wheel function takes no time: it has ended when this is told.
            _ => wheel(&client, chunk.fields).await.map(|reply| {
                let field = |name: &str| reply.get("data").and_then(|data| data.get(name));
                let field = |name: &str| field(name).cloned().unwrap_or_default();
                one(Map::from([("tag", field("tag")), ("jid", field("jid"))]).into())
            }),
        }
    }

    /// Whether the master, or another one when it cannot be reached, knows a token. The
    /// answer comes at once, while a command with a wrong token is delayed.
    ///
    /// # Errors
    /// When it does not answer.
    pub(crate) async fn is_token(&self, token: &str, has_others: bool) -> Result<bool, Fault> {
        let holder = self.token_holder(token, has_others).await?;
        Ok(holder.is_some())
    }

    /// The owner of a token, if it exists: the login method and the name. Another master
    /// only confirms that it is valid; then the token itself is the owner.
    ///
    /// # Errors
    /// When no master answers.
    pub(crate) async fn token_holder(
        &self,
        token: &str,
        has_others: bool,
    ) -> Result<Option<String>, Fault> {
        let by_others = async || -> Result<Option<String>, Fault> {
            let is_token = self.masters.is_token(token).await?;
            Ok(is_token.then(|| token.to_owned()))
        };
        if has_others && !self.masters.own_was_there().await {
            return by_others().await;
        }
        let data = match self.client.token_data(token).await {
            Err(_) if has_others && !self.masters.own_is_there().await => {
                return by_others().await;
            }
            data => data.map_err(|error| fault(&error))?,
        };
        let text = |name: &str| data.get(name).map(halite_proto::python::str);
        let is_token = data.get("token").is_some_and(Value::is_true);
        Ok(is_token.then(|| {
            let [eauth, name] = ["eauth", "name"].map(|field| text(field).unwrap_or_default());
            user_of(&eauth, &name)
        }))
    }

    /// Reads a chunk.
    ///
    /// # Errors
    /// When no master runs, or the chunk is not allowed here.
    pub(crate) fn checked(&self, mut chunk: Map, has_others: bool) -> Result<Chunk, Fault> {
        self.check_running(has_others)?;
        if let Some(token) = chunk.get("token")
            && !is_hex(token)
        {
            return Err(Fault::denied("Invalid token"));
        }
        let kind = chunk.remove("client").unwrap_or_default();
        let shown = halite_proto::python::str(&kind);
        let kind = kind.as_str().unwrap_or_default().to_owned();
        if !CLIENTS.contains(&kind.as_str()) && kind != KNOWN_AND_NOT_HERE {
            return Err(Fault::bad(format!("Invalid client specified: '{shown}'")));
        }
        if !self.settings.clients.contains(&kind) {
            return Err(Fault::bad(format!(
                "Client disabled: '{kind}'. Add to 'netapi_enable_clients' master config option to \
                 enable."
            )));
        }
        if !chunk.contains_key("token") && !chunk.contains_key("eauth") {
            return Err(Fault::denied("No authentication credentials given"));
        }
        let raw_shell = chunk.remove("raw_shell");
        if raw_shell.is_some_and(|asked| asked.is_true()) && !self.settings.allows_raw_shell {
            return Err(Fault::denied("Raw shell option not allowed."));
        }
        // Who calls cannot claim the key or the name of another user.
        for name in ["key", "user", "cmd"] {
            chunk.remove(name);
        }
        Ok(Chunk {
            kind,
            credentials: credentials(&mut chunk),
            fields: chunk,
        })
    }

    /// Checks that the master seems to run.
    ///
    /// # Errors
    /// When there is none, and no other master to ask.
    pub(crate) fn check_running(&self, has_others: bool) -> Result<(), Fault> {
        match has_others {
            true => Ok(()),
            false => self.client.check_running().map_err(|error| fault(&error)),
        }
    }

    async fn runner(&self, client: &LocalClient, mut fields: Map) -> Result<Returned, Fault> {
        let timeout = match fields.remove("timeout") {
            None | Some(Value::Nil) => self.settings.runner_timeout,
            Some(value) => local::seconds("timeout", &value)?,
        };
        let is_full = fields
            .remove("full_return")
            .is_some_and(|full| full.is_true());
        let job = runner_job(fields)?;
        let patience = client.settings().publish_timeout;
        let started = client.start_runner(&job, patience).await;
        let mut session = started.map_err(|error| fault(&error))?;
        let tag = format!("{}/ret", session.tag);
        let Ok(done) = tokio::time::timeout(timeout, session.end()).await else {
            return Err(Fault::new(
                StatusCode::GATEWAY_TIMEOUT,
                "The gateway did not receive a timely response",
            ));
        };
        let end = done.map_err(|error| fault(&error))?;
        if !is_full {
            return Returned::of_runner(end);
        }
        let data = returned::data(end)?;
        let full = Map::from([("data", Value::from(data)), ("tag", tag.into())]);
        Ok(Returned::Data(full.into()))
    }
}

impl Chunk {
    /// The chunk unchanged, with its credentials.
    fn into_low(self) -> Map {
        let mut low = self.fields;
        let Credentials {
            token,
            eauth,
            username,
            password,
            ..
        } = self.credentials;
        let proofs = [
            ("token", token),
            ("eauth", eauth),
            ("username", username),
            ("password", password),
        ];
        for (name, proof) in proofs {
            if let Some(proof) = proof {
                low.insert(name, proof);
            }
        }
        low.insert("client", self.kind);
        low
    }
}

async fn runner_async(client: &LocalClient, fields: Map) -> Result<Value, Fault> {
    let job = runner_job(fields)?;
    let patience = client.settings().publish_timeout;
    let started = client.start_runner(&job, patience).await;
    let session = started.map_err(|error| fault(&error))?;
    let tag = Value::from(session.tag.as_str());
    Ok(Map::from([("tag", tag), ("jid", (&session.jid).into())]).into())
}

/// A runner, with arguments by position, under `kwarg`, and by their names.
fn runner_job(mut fields: Map) -> Result<RunnerJob, Fault> {
    let fun = text_of(&mut fields, "fun")
        .ok_or_else(|| Fault::bad("runner takes at least 1 argument (0 given)"))?;
    let given = match fields.remove("arg") {
        Some(Value::List(items)) => items,
        None | Some(Value::Nil) => Vec::new(),
        Some(one) => vec![one],
    };
    let words: Vec<Value> = given.into_iter().flat_map(parsed).collect();
    let (args, mut kwargs) = merged(words);
    if let Some(Value::Map(kwarg)) = fields.remove("kwarg") {
        kwargs.extend(kwarg);
    }
    fields.remove("print_event");
    // What is left are arguments by their names.
    kwargs.extend(fields);
    Ok(RunnerJob {
        fun,
        args,
        kwargs,
        jid: None::<Jid>,
        timeout: None,
    })
}

/// A word as on a command line: `name=value` is a keyword argument.
fn parsed(word: Value) -> Vec<Value> {
    match word {
        Value::Str(word) => halite_client::args::parse(&[word], &[]),
        other => vec![other],
    }
}

/// Positional arguments, and all the marked maps in one.
fn merged(words: Vec<Value>) -> (Vec<Value>, Map) {
    let mut args = Vec::new();
    let mut kwargs = Map::new();
    for word in words {
        let (positional, named) = halite_client::args::split(vec![word]);
        args.extend(positional);
        kwargs.extend(named);
    }
    (args, kwargs)
}

async fn wheel(client: &LocalClient, mut fields: Map) -> Result<Value, Fault> {
    let fun = text_of(&mut fields, "fun")
        .ok_or_else(|| Fault::bad("wheel takes at least 1 argument (0 given)"))?;
    let patience = client.settings().publish_timeout;
    let reply = client.wheel_reply(&fun, fields, patience).await;
    reply.map_err(|error| fault(&error))
}

fn text_of(fields: &mut Map, name: &str) -> Option<String> {
    match fields.remove(name) {
        Some(Value::Str(text)) => Some(text),
        _ => None,
    }
}

/// Removes the credentials from a chunk.
pub(crate) fn credentials(chunk: &mut Map) -> Credentials {
    let mut take = |name: &str| match chunk.remove(name) {
        Some(Value::Str(text)) => Some(text),
        Some(Value::Nil) | None => None,
        Some(other) => Some(halite_proto::python::str(&other)),
    };
    Credentials {
        key: None,
        token: take("token"),
        eauth: take("eauth"),
        username: take("username"),
        password: take("password"),
    }
}

/// The login method and the user as one text.
pub(crate) fn user_of(eauth: &str, name: &str) -> String {
    format!("{eauth}:{name}")
}

/// Whether a token can be one: it names a file of the master.
pub(crate) fn is_hex(token: &Value) -> bool {
    let text = token.as_str().unwrap_or_default();
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The answer when the master could not be asked, or refuses.
pub(crate) fn fault(error: &ClientError) -> Fault {
    match error {
        ClientError::NotRunning { .. } | ClientError::Bus { .. } => Fault::no_master(),
        ClientError::Hidden { .. } => {
            tracing::error!("{error}");
            Fault::no_master()
        }
        ClientError::Denied(why) => Fault::denied(why.clone()),
        ClientError::Nothing => Fault::denied("Authentication error occurred."),
        ClientError::Unanswered(_)
        | ClientError::Lost
        | ClientError::Gone { .. }
        | ClientError::RunnersMaster => Fault {
            is_unanswered: matches!(error, ClientError::Unanswered(_)),
            ..Fault::new(StatusCode::SERVICE_UNAVAILABLE, error.to_string())
        },
        ClientError::Refused(_)
        | ClientError::Nodegroup(_)
        | ClientError::Range(_)
        | ClientError::RangeWithin(_)
        | ClientError::TooLarge(_) => Fault::bad(halite_proto::chain(error)),
        ClientError::TrimmedOnly
        | ClientError::Reply(_)
        | ClientError::ReplyFields(_)
        | ClientError::RunnerLost => {
            tracing::error!("{}", halite_proto::chain(error));
            Fault::new(StatusCode::INTERNAL_SERVER_ERROR, error.to_string())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_runner_takes_arguments_in_every_form() {
        let fields = Map::from([
            ("fun", Value::from("test.arg")),
            ("arg", Value::List(vec!["a".into(), "b=1".into(), 5.into()])),
            ("kwarg", Map::from([("c", 2)]).into()),
            ("d", 3.into()),
            ("jid", "20260101000000000000".into()),
        ]);
        let job = runner_job(fields).unwrap();
        assert_eq!(job.args, ["a".into(), Value::from(5)]);
        let named: Vec<_> = job.kwargs.keys().filter_map(Value::as_str).collect();
        assert_eq!(named, ["b", "c", "d", "jid"]);
        assert!(runner_job(Map::new()).is_err());
    }

    #[test]
    fn a_token_names_no_path() {
        for bad in ["", "../../x", "abc/def", "zz", "0x12"] {
            assert!(!is_hex(&bad.into()), "{bad}");
        }
        assert!(!is_hex(&Value::from(5)));
        assert!(is_hex(&"c4858e799c9c9ac6".into()));
    }
}
