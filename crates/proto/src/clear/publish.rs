//! A client's request for a command, and the master's answer.

use crate::clear::Credentials;
use crate::fields::{Fields, MessageError, Put};
use crate::publish::{FunSpec, TGT_TYPE_DEFAULT, take_tgt};
use crate::refusal::Refusal;
use crate::{Jid, Map, MinionId, Value};

const REQUEST: &str = "the publish request";
const REPLY: &str = "the publish reply";

/// The field of a reply by which a master says that it is one of Halite.
const OURS: &str = "halite";

/// By which such a master says what is wrong with its store.
const TROUBLE: &str = "halite_trouble";

/// The field by which a client says that it hears the master's events already.
const LISTENS: &str = "halite_listens";

/// A client's request for a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublishRequest {
    /// Who is meant.
    pub tgt: Value,
    /// How `tgt` is meant; `glob` where it does not say.
    pub tgt_type: String,
    /// What to run.
    pub fun: FunSpec,
    /// Its arguments; for several functions a list for each.
    pub arg: Vec<Value>,
    /// The proof: the key of the request; token, name and password among the
    /// options.
    pub credentials: Credentials,
    /// Returners, separated by commas.
    pub ret: String,
    /// The job id to use; `None` where the master is to allocate one.
    pub jid: Option<Jid>,
    /// Options: those that are published, and the client's own.
    pub kwargs: Map,
    /// Who asks, as they say.
    pub user: Option<String>,
    /// How long to wait, for syndics.
    pub to: Option<Value>,
    /// Everything else.
    pub extra: Map,
}

impl PublishRequest {
    /// Takes the request out of the load of a clear envelope.
    ///
    /// # Errors
    /// When a field is missing, of a wrong type or not a valid name.
    pub fn from_map(load: Map) -> Result<Self, MessageError> {
        let mut fields = Fields::new(REQUEST, load);
        fields.take("cmd");
        let key = fields.text("key")?;
        let kwargs = fields.map("kwargs")?.unwrap_or_default();
        let mut options = Fields::new(REQUEST, kwargs);
        let credentials = Credentials {
            key,
            ..Credentials::take(&mut options)?
        };
        let jid = match fields.text("jid")? {
            Some(jid) if !jid.is_empty() => {
                Some(Jid::parse(jid).map_err(|source| MessageError::BadName {
                    message: REQUEST,
                    field: "jid",
                    source,
                })?)
            }
            _ => None,
        };
        Ok(Self {
            tgt: take_tgt(&mut fields)?,
            tgt_type: fields
                .text("tgt_type")?
                .unwrap_or_else(|| TGT_TYPE_DEFAULT.to_owned()),
            fun: fields.need("fun", FunSpec::take)?,
            arg: fields.list("arg")?.unwrap_or_default(),
            credentials,
            ret: fields.text("ret")?.unwrap_or_default(),
            jid,
            kwargs: options.rest(),
            user: fields.text("user")?,
            to: fields.value("to"),
            extra: fields.rest(),
        })
    }

    /// The load of the clear envelope, in the order of Salt's client.
    pub fn to_map(&self) -> Map {
        let mut map = Map::with_capacity(12);
        map.put("cmd", "publish");
        map.put("tgt", self.tgt.clone());
        map.put("fun", self.fun.to_value());
        map.put("arg", self.arg.clone());
        map.put("key", self.credentials.key.as_deref().unwrap_or_default());
        map.put("tgt_type", self.tgt_type.as_str());
        map.put("ret", self.ret.as_str());
        map.put("jid", self.jid.as_ref().map_or("", Jid::as_str));
        let mut kwargs = self.kwargs.clone();
        self.credentials.put_external(&mut kwargs);
        if !kwargs.is_empty() {
            map.put("kwargs", kwargs);
        }
        map.put_some("user", self.user.as_deref());
        map.put_some("to", self.to.clone());
        map.extend(self.extra.clone());
        map
    }

    /// Says that who asks hears the master's events already. Only a Halite
    /// master is told.
    pub fn say_listens(&mut self) {
        self.extra.insert(LISTENS, true);
    }

    /// Whether the caller has said so; minions are not told.
    pub fn take_listens(&mut self) -> bool {
        let said = self.extra.remove(LISTENS);
        said.is_some_and(|said| said.is_true())
    }

    /// What separates the parts of a grain or pillar target.
    pub fn delimiter(&self) -> Option<&str> {
        self.kwargs.get("delimiter").and_then(Value::as_str)
    }
}

/// What a master says to a [`PublishRequest`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PublishReply {
    /// The command is on its way.
    Accepted {
        /// The job.
        jid: Jid,
        /// Who should answer.
        minions: Vec<MinionId>,
        /// Who was named but is not known.
        missing: Vec<String>,
        /// Whether the master is one of Halite. It says so only to who has said
        /// the like ([`PublishRequest::say_listens`]).
        is_ours: bool,
        /// What is wrong with the master's store, for people; said to whom
        /// `is_ours` is said.
        trouble: Option<String>,
    },
    /// Nobody is meant, and nothing was sent.
    NoMinions {
        /// Why, for people.
        error: String,
    },
    /// The caller is not who they say, or may not do this.
    Denied(ErrorReply),
    /// Something else went wrong.
    Error(String),
    /// The request was not handled.
    Refused(Refusal),
    /// Nothing at all, or what is no reply: some masters say so to a wrong key.
    Nothing,
}

/// An error with a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorReply {
    /// The name, of Salt's exceptions.
    pub name: String,
    /// The message, for people.
    pub message: String,
}

impl ErrorReply {
    /// The caller is not who they say.
    pub fn authentication() -> Self {
        Self {
            name: "AuthenticationError".to_owned(),
            message: "Authentication error occurred.".to_owned(),
        }
    }

    /// The caller may not do this.
    pub fn authorization() -> Self {
        Self {
            name: "AuthorizationError".to_owned(),
            message: "Authorization error occurred.".to_owned(),
        }
    }

    /// The error as the value of `error`.
    pub fn to_map(&self) -> Map {
        Map::from([
            ("name", self.name.as_str()),
            ("message", self.message.as_str()),
        ])
    }
}

impl PublishReply {
    /// The reply as it travels.
    pub fn to_value(&self) -> Value {
        let clear = |load: Map| Map::from([("enc", Value::from("clear")), ("load", load.into())]);
        match self {
            Self::Accepted {
                jid,
                minions,
                missing,
                is_ours,
                trouble,
            } => {
                let minions: Vec<Value> = minions.iter().map(Value::from).collect();
                let missing: Vec<Value> =
                    missing.iter().map(|id| Value::from(id.as_str())).collect();
                let mut load = Map::from([
                    ("jid", Value::from(jid)),
                    ("minions", minions.into()),
                    ("missing", missing.into()),
                ]);
                if *is_ours {
                    load.insert(OURS, true);
                }
                if let Some(trouble) = trouble {
                    load.insert(TROUBLE, trouble.as_str());
                }
                clear(load).into()
            }
            Self::NoMinions { error } => clear(Map::from([
                ("jid", Value::Nil),
                ("minions", Value::List(Vec::new())),
                ("error", error.as_str().into()),
            ]))
            .into(),
            Self::Denied(error) => Map::from([("error", error.to_map())]).into(),
            Self::Error(error) => Map::from([("error", error.as_str())]).into(),
            Self::Refused(refusal) => refusal.to_value(),
            Self::Nothing => Map::new().into(),
        }
    }

    /// Reads the reply.
    ///
    /// # Errors
    /// When the load names no valid job or minions.
    pub fn from_value(value: Value) -> Result<Self, MessageError> {
        if let Some(refusal) = Refusal::from_value(&value) {
            return Ok(Self::Refused(refusal));
        }
        let Value::Map(map) = value else {
            return Ok(match value {
                Value::Str(error) if !error.is_empty() => Self::Error(error),
                _ => Self::Nothing,
            });
        };
        let mut fields = Fields::new(REPLY, map);
        if let Some(error) = fields.value("error") {
            return Ok(match error {
                Value::Map(error) => {
                    let mut error = Fields::new(REPLY, error);
                    Self::Denied(ErrorReply {
                        name: error.text("name")?.unwrap_or_default(),
                        message: error.text("message")?.unwrap_or_default(),
                    })
                }
                Value::Str(error) => Self::Error(error),
                other => return Err(fields.wrong_type("error", "str", &other)),
            });
        }
        match fields.map("load")? {
            Some(load) => Self::from_load(load),
            None => Ok(Self::Nothing),
        }
    }

    fn from_load(load: Map) -> Result<Self, MessageError> {
        let mut fields = Fields::new(REPLY, load);
        let minions = fields.texts("minions")?.unwrap_or_default();
        let missing = fields.texts("missing")?.unwrap_or_default();
        let error = fields.text("error")?;
        let is_ours = fields.value(OURS).is_some_and(|said| said.is_true());
        let trouble = fields.text(TROUBLE).unwrap_or_default();
        let jid = fields.text("jid")?.filter(|jid| !jid.is_empty());
        let (Some(jid), false) = (jid, error.is_some()) else {
            return Ok(match error {
                Some(error) if !minions.is_empty() => Self::Error(error),
                error => Self::NoMinions {
                    error: error.unwrap_or_default(),
                },
            });
        };
        let bad = |field| {
            move |source| MessageError::BadName {
                message: REPLY,
                field,
                source,
            }
        };
        let minions = minions
            .into_iter()
            .map(MinionId::parse)
            .collect::<Result<_, _>>();
        Ok(Self::Accepted {
            jid: Jid::parse(jid).map_err(bad("jid"))?,
            minions: minions.map_err(bad("minions"))?,
            missing,
            is_ours,
            trouble,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reply_survives() {
        let jid = Jid::parse("20240229123456789012").unwrap();
        let replies = [
            PublishReply::Accepted {
                jid,
                minions: vec![MinionId::parse("web1").unwrap()],
                missing: vec!["a/b".to_owned()],
                is_ours: true,
                trouble: Some("the store is away".to_owned()),
            },
            PublishReply::NoMinions {
                error: "nobody".to_owned(),
            },
            PublishReply::Denied(ErrorReply::authorization()),
            PublishReply::Error("disk full".to_owned()),
            PublishReply::Refused(Refusal::HandlerFailed),
            PublishReply::Nothing,
        ];
        for reply in replies {
            assert_eq!(PublishReply::from_value(reply.to_value()), Ok(reply));
        }
    }

    #[test]
    fn a_request_keeps_its_proofs_where_salt_has_them() {
        let load = Map::from([
            ("cmd", Value::from("publish")),
            ("tgt", "*".into()),
            ("fun", "test.ping".into()),
            ("arg", Value::List(Vec::new())),
            ("key", "k".into()),
            ("tgt_type", "glob".into()),
            ("ret", "".into()),
            ("jid", "".into()),
            (
                "kwargs",
                Map::from([("delimiter", ":"), ("token", "t")]).into(),
            ),
            ("user", "root".into()),
        ]);
        let request = PublishRequest::from_map(load.clone()).unwrap();
        assert_eq!(request.credentials.token.as_deref(), Some("t"));
        assert_eq!(request.delimiter(), Some(":"));
        assert_eq!(request.jid, None);
        assert_eq!(request.to_map(), load);
    }
}
