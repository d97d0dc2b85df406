//! Credentials of NATS as `nsc` makes them: an operator who vouches for an account,
//! which vouches for a user.

use std::path::{Path, PathBuf};

use anyhow::Result;
use nkeys::KeyPair;
use openssl::base64::encode_block;

use crate::server::write_file;

/// What a server is told, and what a client shows.
pub(crate) struct Credentials {
    /// Lines of the server's configuration.
    pub(crate) config: String,
    /// The file of a user.
    pub(crate) file: PathBuf,
}

impl Credentials {
    /// Makes an operator with an account that may use JetStream, and a user of it.
    pub(crate) fn make(dir: &Path) -> Result<Self> {
        let (operator, system) = (KeyPair::new_operator(), KeyPair::new_account());
        let (account, user) = (KeyPair::new_account(), KeyPair::new_user());
        let vouched = operator_claims(&system.public_key());
        let operator_jwt = jwt(&operator, &operator.public_key(), "operator", &vouched)?;
        let system_jwt = jwt(
            &operator,
            &system.public_key(),
            "system",
            &account_claims(0),
        )?;
        let account_jwt = jwt(
            &operator,
            &account.public_key(),
            "halite",
            &account_claims(-1),
        )?;
        let user_jwt = jwt(&account, &user.public_key(), "master", USER)?;
        let config = format!(
            "operator: {operator_jwt}\nsystem_account: {system}\nresolver: MEMORY\n\
             resolver_preload: {{ {system}: {system_jwt}, {account}: {account_jwt} }}\n",
            system = system.public_key(),
            account = account.public_key(),
        );
        let file = dir.join("master.creds");
        let text = format!(
            "-----BEGIN NATS USER JWT-----\n{user_jwt}\n------END NATS USER JWT------\n\n\
             -----BEGIN USER NKEY SEED-----\n{}\n------END USER NKEY SEED------\n",
            user.seed()?
        );
        write_file(&file, &text)?;
        Ok(Self { config, file })
    }
}

const USER: &str = r#"{"type":"user","version":2,"subs":-1,"data":-1,"payload":-1}"#;

fn operator_claims(system: &str) -> String {
    format!(r#"{{"type":"operator","version":2,"system_account":"{system}"}}"#)
}

/// Claims of an account with so much room for streams, -1 for any.
fn account_claims(streams: i32) -> String {
    format!(
        r#"{{"type":"account","version":2,"limits":{{"subs":-1,"data":-1,"payload":-1,"imports":-1,"exports":-1,"wildcards":true,"conn":-1,"leaf":-1,"mem_storage":{streams},"disk_storage":{streams},"streams":{streams},"consumer":{streams}}}}}"#
    )
}

/// A token in which one key says something of another one.
fn jwt(issuer: &KeyPair, subject: &str, name: &str, nats: &str) -> Result<String> {
    let head = url_safe(br#"{"typ":"JWT","alg":"ed25519-nkey"}"#);
    let claims = format!(
        r#"{{"jti":"{name}","iat":1700000000,"iss":"{}","name":"{name}","sub":"{subject}","nats":{nats}}}"#,
        issuer.public_key()
    );
    let signed = format!("{head}.{}", url_safe(claims.as_bytes()));
    let signature = url_safe(&issuer.sign(signed.as_bytes())?);
    Ok(format!("{signed}.{signature}"))
}

fn url_safe(bytes: &[u8]) -> String {
    let text = encode_block(bytes).replace('+', "-").replace('/', "_");
    text.trim_end_matches('=').to_owned()
}
