//! `POST /masters`: runners and wheel functions at each master.
//!
//! Invariant: a chunk is run at most once at each master, with the rights that the caller
//! has there.

use axum::http::header;
use axum::response::Response;
use halite_proto::{Map, Value};

use super::commands::low;
use super::{App, Asked};
use crate::decode::{self, Body};
use crate::encode::Format;
use crate::fault::Fault;
use crate::slots::Holder;

/// The clients of functions that a master runs itself. Minions are reached through any
/// master that they are connected to.
const CLIENTS: [&str; 2] = ["runner", "wheel"];

/// `POST /masters`
pub(super) async fn run(app: &App, asked: &Asked, body: Body) -> Result<Response, Fault> {
    let format = Format::accepted(asked.header(header::ACCEPT))?;
    let names: Vec<String> = app.masters.standing().into_iter().map(|at| at.0).collect();
    let wanted = wanted(asked, &names)?;
    let chunks = decode::low_data(body.data)?;
    for chunk in &chunks {
        let client = chunk.get("client").and_then(Value::as_str);
        if !client.is_some_and(|client| CLIENTS.contains(&client)) {
            return Err(Fault::bad("The client must be 'runner' or 'wheel'"));
        }
    }
    let mut returns = Vec::new();
    for chunk in chunks {
        returns.push(at_each(app, asked, chunk, &wanted).await?.into());
    }
    format.answer(&Map::from([("return", Value::List(returns))]).into())
}

/// The masters that the query names, of those of this API; all if it names none.
fn wanted(asked: &Asked, names: &[String]) -> Result<Vec<String>, Fault> {
    if !asked.rest.is_empty() {
        return Err(Fault::no_match());
    }
    let [(parameter, wanted)] = asked.query.as_slice() else {
        return match asked.query.is_empty() {
            true => Ok(names.to_vec()),
            false => Err(Fault::no_match()),
        };
    };
    if parameter != "masters" {
        return Err(Fault::no_match());
    }
    let wanted: Vec<String> = wanted.split(',').map(str::to_owned).collect();
    match wanted.iter().find(|name| !names.contains(name)) {
        Some(name) => Err(Fault::bad(format!("This API has no master '{name}'"))),
        None => Ok(wanted),
    }
}

/// What a chunk returns at each of these masters, or why it has not run there.
async fn at_each(
    app: &App,
    asked: &Asked,
    mut chunk: Map,
    wanted: &[String],
) -> Result<Map, Fault> {
    let has_others = app.has_others(asked.peer);
    let own_name = &app.settings.own_name;
    let mut all = Map::new();
    if wanted.contains(own_name) {
        let own = asked.of_own_master();
        match low(app, &own, vec![chunk.clone()], true).await {
            Ok(returns) => all.insert(own_name.as_str(), entry(Ok(returns))),
            Err(fault) if has_others && fault.is_untouched() => {
                all.insert(own_name.as_str(), entry(Err(fault.message)))
            }
            // Others are asked once it is known that the caller may ask.
            Err(fault) => return Err(fault),
        };
    }
    if has_others {
        if let Some(token) = &asked.token {
            chunk.insert("token", token.as_str());
        }
        let user = asked.user.as_deref().ok_or_else(Fault::no_session)?;
        let _place = app.commands.take(&Holder::user(user)).await?;
        for (name, answer) in app.masters.ask_each(chunk, Some(wanted)).await? {
            all.insert(name, entry(answer.map(|returned| vec![returned])));
        }
    }
    Ok(all)
}

fn entry(ran: Result<Vec<Value>, String>) -> Value {
    let entry = match ran {
        Ok(returns) => ("return", returns.into_iter().next().unwrap_or_default()),
        Err(why) => ("error", why.into()),
    };
    Map::from([entry]).into()
}
