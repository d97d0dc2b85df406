//! `auth.*`: tokens.

use halite_proto::Value;
use halite_proto::clear::{Credentials, TokenRequest};

use super::Call;
use super::error::{Ran, RunnerError};
use super::table::Function;

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("auth.del_token", "(token)", del_token, "Deletes a token."),
    Function::new(
        "auth.mk_token",
        "(**load)",
        mk_token,
        "Makes a token for a user who can log in.\n\nIt takes `username`, `password` and `eauth`, and `token_expire` where the user may choose it.",
    ),
];

fn mk_token(call: &Call<'_>) -> Ran {
    let mut fields = call.bound.kwargs.clone();
    let mut text = |name: &str| {
        fields
            .remove(name)
            .map(|value| halite_proto::python::str(&value))
    };
    let credentials = Credentials {
        eauth: text("eauth"),
        username: text("username"),
        password: text("password"),
        ..Credentials::default()
    };
    let request = TokenRequest {
        credentials,
        token_expire: fields.remove("token_expire"),
        fields,
    };
    call.runners
        .access
        .make_token(&request)
        .map(Value::from)
        .or_else(|_| Ok(Value::Map(halite_proto::Map::new())))
}

fn del_token(call: &Call<'_>) -> Ran {
    let Some(token) = call.text("token") else {
        return Err(RunnerError::Failed("the token must be text".to_owned()));
    };
    Ok(call.runners.access.tokens.remove(token).into())
}
