//! Commands in the clear: signing in, and requests of programs on the master's own
//! host.
//!
//! Described in `docs/protocol.md`, "Clear commands".
//!
//! Invariant: the commands are a closed set, and keys and passwords never show in
//! debug output.

pub mod batch;
pub mod comparison;
mod credentials;
pub mod log_out;
mod low;
mod publish;
pub mod standing;

pub use batch::BatchRequest;
pub use comparison::{ComparisonReply, ComparisonRequest, Promotion};
pub use credentials::Credentials;
pub use log_out::LogOutRequest;
pub use low::{LowRequest, TokenRequest};
pub use publish::{ErrorReply, PublishReply, PublishRequest};
pub use standing::{Connection, Standing, StandingReply, StandingRequest};

use crate::auth::AuthRequest;
use crate::envelope::SIG_ALGO_DEFAULT;
use crate::fields::{Fields, MessageError};
use crate::{IdError, Map, MinionId, Nonce, Value};

/// Every command that is handled without a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClearCommand {
    /// `_auth`: a minion signs in.
    Auth(Box<AuthRequest>),
    /// `_auth` of something that cannot be a minion: refused, but signed like
    /// every other decision.
    AuthBadId(AuthBadId),
    /// `ping`: answered with the load itself.
    Ping(Map),
    /// `publish`: a command for minions.
    Publish(Box<PublishRequest>),
    /// `halite.batch`: a command for a few minions at a time.
    Batch(Box<BatchRequest>),
    /// `runner`: a runner.
    Runner(LowRequest),
    /// `wheel`: a wheel function.
    Wheel(LowRequest),
    /// `mk_token`: a token for a user who can prove who they are.
    MkToken(TokenRequest),
    /// `get_token`: what a token stands for.
    GetToken {
        /// The token.
        token: Option<String>,
    },
    /// `halite.log_out`: the end of a token.
    LogOut(LogOutRequest),
    /// `halite.standing`: what is known of single minions.
    Standing(StandingRequest),
    /// `halite.compare`: another master compares itself with this one.
    Compare(ComparisonRequest),
    /// Anything else, also nothing: answered with an empty map.
    Unknown {
        /// The command, if it is text.
        cmd: Option<String>,
    },
}

/// A sign-in request whose id is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthBadId {
    /// What is wrong with the id.
    pub why: IdError,
    /// To be given back in the answer.
    pub nonce: Option<Nonce>,
    /// How the answer is to be signed.
    pub sig_algo: String,
}

impl ClearCommand {
    /// The command in the load of a clear envelope.
    ///
    /// # Errors
    /// When a field of a known command is missing or of a wrong type.
    pub fn from_map(load: Map) -> Result<Self, MessageError> {
        let cmd = load.get("cmd").and_then(Value::as_str).map(str::to_owned);
        Ok(match cmd.as_deref() {
            Some("_auth") => Self::auth(load)?,
            Some("ping") => Self::Ping(load),
            Some("publish") => Self::Publish(Box::new(PublishRequest::from_map(load)?)),
            Some(batch::CMD) => Self::Batch(Box::new(BatchRequest::from_map(load)?)),
            Some("runner") => Self::Runner(LowRequest::from_map(load)?),
            Some("wheel") => Self::Wheel(LowRequest::from_map(load)?),
            Some("mk_token") => Self::MkToken(TokenRequest::from_map(load)?),
            Some("get_token") => Self::GetToken {
                token: Fields::new("the token request", load).text("token")?,
            },
            Some(log_out::CMD) => Self::LogOut(LogOutRequest::from_map(load)?),
            Some(comparison::CMD) => Self::Compare(ComparisonRequest::from_map(load)?),
            Some(standing::CMD) => Self::Standing(StandingRequest::from_map(load)?),
            _ => Self::Unknown { cmd },
        })
    }

    /// Whether a name and a password have to be judged for it, which may take
    /// long.
    pub fn logs_in(&self) -> bool {
        match self {
            Self::MkToken(request) => request.credentials.eauth.is_some(),
            command => command
                .credentials()
                .is_some_and(|shown| shown.token.is_none() && shown.eauth.is_some()),
        }
    }

    /// The token that is to be looked up for it.
    pub fn token(&self) -> Option<&str> {
        match self {
            Self::GetToken { token } => token.as_deref(),
            Self::LogOut(request) => request.token.as_deref(),
            command => command.credentials()?.token.as_deref(),
        }
    }

    /// What proves who may have it done.
    fn credentials(&self) -> Option<&Credentials> {
        match self {
            Self::Publish(request) => Some(&request.credentials),
            Self::Batch(request) => Some(&request.publish.credentials),
            Self::Runner(request) | Self::Wheel(request) => Some(&request.credentials),
            Self::Standing(request) => Some(&request.credentials),
            Self::Auth(_)
            | Self::AuthBadId(_)
            | Self::Ping(_)
            | Self::MkToken(_)
            | Self::GetToken { .. }
            | Self::LogOut(_)
            | Self::Compare(_)
            | Self::Unknown { .. } => None,
        }
    }

    /// The name of the command, as it travels.
    pub fn cmd(&self) -> &str {
        match self {
            Self::Auth(_) | Self::AuthBadId(_) => "_auth",
            Self::Ping(_) => "ping",
            Self::Publish(_) => "publish",
            Self::Batch(_) => batch::CMD,
            Self::Runner(_) => "runner",
            Self::Wheel(_) => "wheel",
            Self::MkToken(_) => "mk_token",
            Self::GetToken { .. } => "get_token",
            Self::LogOut(_) => log_out::CMD,
            Self::Compare(_) => comparison::CMD,
            Self::Standing(_) => standing::CMD,
            Self::Unknown { cmd } => cmd.as_deref().unwrap_or_default(),
        }
    }

    fn auth(load: Map) -> Result<Self, MessageError> {
        let id = load.get("id").and_then(Value::as_str).unwrap_or_default();
        match MinionId::parse(id) {
            Ok(_) => Ok(Self::Auth(Box::new(AuthRequest::from_map(load)?))),
            Err(why) => {
                let mut fields = Fields::new("the sign-in request", load);
                let sig_algo = fields.text("sig_algo")?;
                Ok(Self::AuthBadId(AuthBadId {
                    why,
                    nonce: fields.name("nonce")?,
                    sig_algo: sig_algo.unwrap_or_else(|| SIG_ALGO_DEFAULT.to_owned()),
                }))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_that_leaves_its_directory_is_refused_with_its_nonce() {
        let nonce = Nonce::from_random([3; 16]);
        let load = Map::from([
            ("cmd", Value::from("_auth")),
            ("id", "../master".into()),
            ("nonce", (&nonce).into()),
            ("pub", "PEM".into()),
        ]);
        let Ok(ClearCommand::AuthBadId(bad)) = ClearCommand::from_map(load) else {
            panic!("the id passed");
        };
        assert_eq!(bad.nonce, Some(nonce));
        assert_eq!(bad.sig_algo, SIG_ALGO_DEFAULT);
    }

    #[test]
    fn what_is_no_command_is_unknown() {
        for cmd in [Value::Nil, 5.into(), "_return".into(), "__init__".into()] {
            let command = ClearCommand::from_map([("cmd", cmd)].into()).unwrap();
            assert!(
                matches!(command, ClearCommand::Unknown { .. }),
                "{command:?}"
            );
        }
    }

    #[test]
    fn a_ping_is_given_back() {
        let load = Map::from([("cmd", "ping"), ("x", "y")]);
        assert_eq!(
            ClearCommand::from_map(load.clone()),
            Ok(ClearCommand::Ping(load))
        );
    }
}
