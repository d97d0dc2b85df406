//! Sentinels, which say where the server is.

use tokio::time::timeout;

use super::single::Single;
use crate::address::Address;
use crate::error::Failure;
use crate::limits::SENTINEL_TIME;

/// Asks the Sentinels which server is the one that takes writes, and connects to it.
/// User and password are the server's; the Sentinels have a login of their own, or none.
pub(super) async fn connect_to_main(address: &Address, name: &str) -> Result<Single, Failure> {
    let first = (address.host.clone(), address.port);
    let mut failure = None;
    for (host, port) in [first].iter().chain(&address.sentinels) {
        let asked = timeout(SENTINEL_TIME, main_of(address, host, *port, name)).await;
        let limit = SENTINEL_TIME;
        match asked.unwrap_or(Err(Failure::Unreached { limit })) {
            Ok((host, port)) => return connect_as_main(address, host, port).await,
            Err(why) => failure = Some(why),
        }
    }
    Err(failure.unwrap_or_else(|| Failure::Refused("no Sentinel is named".to_owned())))
}

/// Where a Sentinel says that the server is.
async fn main_of(
    address: &Address,
    host: &str,
    port: u16,
    name: &str,
) -> Result<(String, u16), Failure> {
    let mut sentinel = Address::new(address.kind, host);
    sentinel.port = port;
    sentinel.tls.clone_from(&address.tls);
    sentinel.user.clone_from(&address.sentinel_user);
    sentinel.password.clone_from(&address.sentinel_password);
    let mut sentinel = Single::connect(&sentinel).await?;
    let mut ask = redis::cmd("SENTINEL");
    ask.arg("get-master-addr-by-name").arg(name);
    let found: Option<(String, u16)> = ask.query_async(&mut sentinel).await?;
    found.ok_or_else(|| Failure::Refused(format!("the Sentinels know no {name}")))
}

/// Connects, and makes sure that it still takes writes: a Sentinel may not have
/// noticed.
async fn connect_as_main(address: &Address, host: String, port: u16) -> Result<Single, Failure> {
    let mut main = address.clone();
    (main.host, main.port) = (host, port);
    let mut connection = Single::connect(&main).await?;
    let role: Vec<redis::Value> = redis::cmd("ROLE").query_async(&mut connection).await?;
    match role.first() {
        Some(redis::Value::BulkString(role)) if role == b"master" => Ok(connection),
        _ => Err(Failure::broken(format!("{main} takes no writes"))),
    }
}
