//! Convenience pages over commands: `/minions`, `/jobs`, `/keys`, `/history`,
//! `/connections`.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use halite_proto::{Map, MinionId, Value};

use super::commands::{low, returned};
use super::{App, Asked, NO_STORE};
use crate::decode::{self, Body};
use crate::encode::Format;
use crate::fault::Fault;
use crate::low::answer;
use crate::masters::{self, OfOthers, merged, minion_rows};
use crate::slots::Holder;

/// Changes of each minion where all are asked about.
const HISTORY_OF_EACH: i64 = 10;

/// A tar file is filled up to a multiple of this.
const TAR_RECORD: usize = 10_240;

async fn one(app: &App, asked: &Asked, chunk: Map) -> Result<Value, Fault> {
    let returns = low(app, asked, vec![chunk], true).await?;
    Ok(returns.into_iter().next().unwrap_or_default())
}

fn format_of(asked: &Asked) -> Result<Format, Fault> {
    Format::accepted(asked.header(header::ACCEPT))
}

/// `GET /minions`, `GET /minions/ID`
pub(super) async fn minions(app: &App, asked: &Asked) -> Result<Response, Fault> {
    let format = format_of(asked)?;
    let id = asked.parameter("mid")?.unwrap_or_else(|| "*".to_owned());
    let chunk = Map::from([
        ("client", "local"),
        ("tgt", id.as_str()),
        ("fun", "grains.items"),
    ]);
    let grains = one(app, asked, chunk).await?;
    format.answer(&Map::from([("return", Value::List(vec![grains]))]).into())
}

/// `POST /minions`
pub(super) async fn start(app: &App, asked: &Asked, body: Body) -> Result<Response, Fault> {
    asked.bare()?;
    let format = format_of(asked)?;
    let mut chunks = decode::low_data(body.data)?;
    for chunk in &mut chunks {
        chunk.insert("client", "local_async");
    }
    let started = low(app, asked, chunks, true).await?;
    let jids = started.iter().filter_map(|job| job.get("jid")?.as_str());
    let links = jids.map(|jid| Map::from([("href", format!("/jobs/{jid}"))]).into());
    let jobs = Map::from([("jobs", Value::List(links.collect()))]);
    let words = Map::from([("return", Value::List(started)), ("_links", jobs.into())]);
    let mut response = format.answer(&words.into())?;
    *response.status_mut() = StatusCode::ACCEPTED;
    Ok(response)
}

/// `GET /jobs`, `GET /jobs/JID`
pub(super) async fn jobs(app: &App, asked: &Asked) -> Result<Response, Fault> {
    let format = format_of(asked)?;
    if let Some(count) = count(asked)? {
        return newest_jobs(app, asked, format, count).await;
    }
    let Some(jid) = asked.parameter("jid")? else {
        let chunk = Map::from([("client", "runner"), ("fun", "jobs.list_jobs")]);
        if !app.has_others(asked.peer) {
            return answer(format, returned(app, asked, vec![chunk], true).await?);
        }
        let all = of_all(app, asked, chunk).await?;
        let jobs = merged::jobs(all.answers);
        let words = Map::from([("return", Value::List(vec![jobs]))]);
        let mut response = format.answer_with(words.into())?;
        name_left_out(&mut response, &all.left_out);
        return Ok(response);
    };
    let chunk = Map::from([
        ("client", "runner"),
        ("fun", "jobs.list_job"),
        ("jid", jid.as_str()),
    ]);
    let all = of_all(app, asked, chunk).await?;
    let job = merged::job(all.answers);
    let results = job.get("Result").and_then(Value::as_map);
    let returns: Map = results
        .into_iter()
        .flatten()
        .map(|(id, result)| {
            (
                id.clone(),
                result.get("return").cloned().unwrap_or_default(),
            )
        })
        .collect();
    let words = Map::from([
        ("info", Value::List(vec![job])),
        ("return", Value::List(vec![returns.into()])),
    ]);
    let mut response = format.answer(&words.into())?;
    name_left_out(&mut response, &all.left_out);
    Ok(response)
}

/// How many of the newest jobs are asked for, if not for all.
fn count(asked: &Asked) -> Result<Option<u32>, Fault> {
    match (asked.rest.as_slice(), asked.query.as_slice()) {
        ([], [(name, count)]) if name == "count" => {
            let count = count.parse().ok().filter(|count| *count > 0);
            let wrong = || Fault::bad("count: not a positive number");
            count.map(Some).ok_or_else(wrong)
        }
        _ => Ok(None),
    }
}

/// `GET /jobs?count=N`: the newest jobs. Those that only ask about other jobs are left
/// out.
async fn newest_jobs(
    app: &App,
    asked: &Asked,
    format: Format,
    count: u32,
) -> Result<Response, Fault> {
    let chunk = Map::from([
        ("client", Value::from("runner")),
        ("fun", "jobs.list_jobs_filter".into()),
        ("kwarg", Map::from([("count", i64::from(count))]).into()),
    ]);
    let all = of_all(app, asked, chunk).await?;
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    let jobs = merged::newest(all.answers, count);
    let words = Map::from([("return", Value::List(vec![jobs]))]);
    let mut response = format.answer_with(words.into())?;
    name_left_out(&mut response, &all.left_out);
    Ok(response)
}

/// `GET /history`, `GET /history/ID`: what has become of minions' connections.
pub(super) async fn history(app: &App, asked: &Asked) -> Result<Response, Fault> {
    let format = format_of(asked)?;
    let mut chunk = Map::from([("client", "runner"), ("fun", "minions.history")]);
    if let Some(id) = asked.parameter("mid")? {
        let id = MinionId::parse(id).map_err(|error| Fault::bad(format!("mid: {error}")))?;
        let ids = Value::List(vec![Value::from(&id)]);
        let kwarg = Map::from([("tgt", ids), ("tgt_type", "list".into())]);
        chunk.insert("kwarg", kwarg);
    } else {
        chunk.insert("kwarg", Map::from([("count", HISTORY_OF_EACH)]));
    }
    let all = of_all(app, asked, chunk).await?;
    let history = merged::history(all.answers);
    let mut response =
        format.answer(&Map::from([("return", Value::List(vec![history]))]).into())?;
    name_left_out(&mut response, &all.left_out);
    Ok(response)
}

/// What may be asked of `/connections`: a target, and whether highstates are read.
const CONNECTION_PARAMETERS: [&str; 3] = ["tgt", "tgt_type", "highstates"];

/// `GET /connections`: by which masters minions are connected, and what else the masters
/// know of them.
pub(super) async fn connections(app: &App, asked: &Asked) -> Result<Response, Fault> {
    let format = format_of(asked)?;
    if !asked.rest.is_empty() {
        return Err(Fault::no_match());
    }
    let mut kwarg = Map::new();
    for (name, value) in &asked.query {
        let known = CONNECTION_PARAMETERS
            .into_iter()
            .find(|known| known == name);
        let value = match (known, value.as_str()) {
            (Some("highstates"), "true") => Value::from(true),
            (Some("highstates"), "false") => Value::from(false),
            (Some("tgt" | "tgt_type"), text) => Value::from(text),
            _ => return Err(Fault::no_match()),
        };
        kwarg.insert(name.as_str(), value);
    }
    let chunk = Map::from([
        ("client", Value::from("runner")),
        ("fun", "minions.status".into()),
        ("kwarg", kwarg.into()),
    ]);
    let all = of_all(app, asked, chunk).await?;
    let rows = minion_rows::merge(all.answers);
    let mut response = format.answer(&Map::from([("return", Value::List(vec![rows]))]).into())?;
    name_left_out(&mut response, &all.left_out);
    Ok(response)
}

/// What all masters return for a chunk that only asks; the master of this machine
/// first.
async fn of_all(app: &App, asked: &Asked, chunk: Map) -> Result<OfOthers, Fault> {
    if !app.has_others(asked.peer) {
        return Ok(OfOthers {
            answers: vec![one(app, asked, chunk).await?],
            left_out: Vec::new(),
        });
    }
    let mut low = chunk.clone();
    if let Some(token) = &asked.token {
        low.insert("token", token.as_str());
    }
    // Others are asked once it is known that the caller may ask.
    let own = one(app, asked, chunk).await?;
    let user = asked.user.as_deref().ok_or_else(Fault::no_session)?;
    let _place = app.commands.take(&Holder::user(user)).await?;
    let mut all = app.masters.ask_all(low).await?;
    all.answers.insert(0, own);
    Ok(all)
}

/// Names in an answer the masters that are missing from it.
fn name_left_out(response: &mut Response, left_out: &[String]) {
    if let Some(names) = masters::names(left_out) {
        response.headers_mut().insert(masters::AWAY, names);
    }
}

/// `GET /keys`, `GET /keys/ID`
pub(super) async fn keys(app: &App, asked: &Asked) -> Result<Response, Fault> {
    let format = format_of(asked)?;
    let id = asked.parameter("mid")?;
    let mut chunk = Map::from([("client", "wheel"), ("fun", "key.list_all")]);
    if let Some(id) = id {
        chunk = Map::from([
            ("client", "wheel"),
            ("fun", "key.finger"),
            ("match", id.as_str()),
        ]);
    }
    let reply = one(app, asked, chunk).await?;
    format.answer(&Map::from([("return", return_of(&reply))]).into())
}

/// The return of a wheel function.
fn return_of(reply: &Value) -> Value {
    let ret = reply.get("data").and_then(|data| data.get("return"));
    ret.cloned().unwrap_or_default()
}

/// `POST /keys`: a key pair for a new minion, accepted already, in a tar file.
pub(super) async fn make_key(app: &App, asked: &Asked, body: Body) -> Result<Response, Fault> {
    asked.bare()?;
    let mut chunks = decode::low_data(body.data)?.into_iter();
    let mut chunk = chunks
        .next()
        .ok_or_else(|| Fault::bad("Lowstates must be a list"))?;
    let id = chunk
        .remove("mid")
        .or_else(|| chunk.remove("id_"))
        .unwrap_or_default();
    let id = id
        .as_str()
        .ok_or_else(|| Fault::bad("Require the \"mid\" param"))?;
    let id = MinionId::parse(id).map_err(|error| Fault::bad(format!("mid: {error}")))?;
    chunk.insert("id_", &id);
    chunk.insert("client", "wheel");
    chunk.insert("fun", "key.gen_accept");
    let returns = low(app, asked, vec![chunk], false).await?;
    let made = return_of(&returns.into_iter().next().unwrap_or_default());
    let text = |name: &str| made.get(name).and_then(Value::as_str);
    let (Some(public), Some(private)) = (text("pub"), text("priv")) else {
        let why = format!("There is already a key of {id}");
        return Err(Fault::new(StatusCode::CONFLICT, why));
    };
    let tar = key_pair(public, private).map_err(|error| {
        let why = format!("could not pack the keys: {error}");
        Fault::new(StatusCode::INTERNAL_SERVER_ERROR, why)
    })?;
    let mut response = tar.into_response();
    let headers = response.headers_mut();
    let name = format!("attachment; filename=\"saltkeys-{id}.tar\"");
    if let Ok(name) = HeaderValue::from_str(&name) {
        headers.insert(header::CONTENT_DISPOSITION, name);
    }
    let kind = HeaderValue::from_static("application/x-tar");
    headers.insert(header::CONTENT_TYPE, kind);
    headers.insert(header::CACHE_CONTROL, NO_STORE);
    Ok(response)
}

fn key_pair(public: &str, private: &str) -> std::io::Result<Vec<u8>> {
    let mut tar = tar::Builder::new(Vec::new());
    for (name, mode, text) in [
        ("minion.pub", 0o644, public),
        ("minion.pem", 0o400, private),
    ] {
        let mut head = tar::Header::new_ustar();
        head.set_size(text.len() as u64);
        head.set_mode(mode);
        head.set_uid(0);
        head.set_gid(0);
        head.set_mtime(0);
        tar.append_data(&mut head, name, text.as_bytes())?;
    }
    let mut bytes = tar.into_inner()?;
    bytes.resize(bytes.len().next_multiple_of(TAR_RECORD), 0);
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_pair_is_a_tar_file_of_whole_records() {
        let bytes = key_pair("PUBLIC", "PRIVATE").unwrap();
        assert_eq!(bytes.len(), TAR_RECORD);
        let mut archive = tar::Archive::new(&bytes[..]);
        let entries = archive.entries().unwrap().map(|entry| {
            let entry = entry.unwrap();
            let name = entry.path().unwrap().display().to_string();
            (name, entry.header().mode().unwrap(), entry.size())
        });
        let expected = [
            ("minion.pub".to_owned(), 0o644, 6),
            ("minion.pem".to_owned(), 0o400, 7),
        ];
        assert_eq!(entries.collect::<Vec<_>>(), expected);
    }
}
