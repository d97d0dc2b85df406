//! The pieces of managed files as functions, and differences of files.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use halite_call::{Call, CallError, CallResult, StateReturn, python};
use halite_proto::{Map, Value};

use crate::core::compare::{self, Ignore};
use crate::core::perms::{self, DesiredPerms};
use crate::core::write::{self, Body};
use crate::core::{mode, owner};
use crate::manage::{self, Plan};
use crate::sources::managed::{self as source, Prepared, Request};
use crate::sources::sums::Sum;
use crate::sources::template::{self, Template, TemplateError};
use crate::sources::{Scheme, fetch, list, scheme};

fn value(call: &Call<'_>, name: &str) -> Value {
    call.get(name).cloned().unwrap_or_default()
}

fn text(call: &Call<'_>, name: &str) -> Option<String> {
    call.get(name)
        .filter(|value| value.is_true())
        .map(python::str)
}

fn flag(call: &Call<'_>, name: &str) -> bool {
    call.get(name).is_some_and(Value::is_true)
}

fn ignore(call: &Call<'_>) -> Ignore {
    let comments = match value(call, "ignore_comment_characters") {
        Value::Nil => Vec::new(),
        Value::List(items) => items.iter().map(python::str).collect(),
        one => vec![python::str(&one)],
    };
    Ignore {
        ordering: flag(call, "ignore_ordering"),
        whitespace: flag(call, "ignore_whitespace"),
        comments,
    }
}

fn wanted(call: &Call<'_>, follow: bool) -> DesiredPerms {
    DesiredPerms {
        user: value(call, "user"),
        group: value(call, "group"),
        mode: mode::normalize(&value(call, "mode")),
        attrs: text(call, "attrs"),
        follow,
    }
}

fn request<'a>(call: &Call<'_>, name: &'a str, saltenv: &'a str) -> Request<'a> {
    let about = ["user", "group", "mode", "attrs"].map(|key| (key, value(call, key)));
    Request {
        name,
        template: text(call, "template"),
        source: value(call, "source"),
        source_hash: value(call, "source_hash"),
        source_hash_name: text(call, "source_hash_name"),
        saltenv,
        about: Map::from(about),
        context: value(call, "context"),
        defaults: value(call, "defaults"),
        skip_verify: flag(call, "skip_verify"),
        verify_ssl: call.get("verify_ssl").is_none_or(Value::is_true),
        use_etag: flag(call, "use_etag"),
    }
}

fn saltenv(call: &Call<'_>) -> String {
    text(call, "saltenv").unwrap_or_else(|| "base".to_owned())
}

pub(super) fn source_list(call: &Call<'_>) -> CallResult {
    let env = saltenv(call);
    let chosen = list::choose(call, call.arg("source"), call.arg("source_hash"), &env)?;
    Ok(vec![chosen.source, chosen.hash].into())
}

pub(super) fn get_managed(call: &Call<'_>) -> CallResult {
    let (name, env) = (call.text("name"), saltenv(call));
    let request = request(call, &name, &env);
    let prepared = source::prepare(call, &request)?;
    if let Some(complaint) = prepared.complaint {
        return Ok(vec!["".into(), Map::new().into(), complaint.into()].into());
    }
    let (file, sum) = match &prepared.body {
        Some(Body::Bytes(bytes)) => {
            let file = keep_rendered(bytes)?;
            let sum = fetch::local_sum(&file, "sha256").map(|hsum| Sum {
                hash_type: "sha256".to_owned(),
                hsum,
            });
            (file.display().to_string(), sum)
        }
        _ => (String::new(), prepared.sum),
    };
    let sum = sum.map_or_else(|| Map::new().into(), |sum| sum.to_value());
    Ok(vec![file.into(), sum, "".into()].into())
}

/// Puts a rendered text where the caller finds it; he removes it.
fn keep_rendered(bytes: &[u8]) -> Result<PathBuf, CallError> {
    let random: String = halite_crypto::random_bytes::<6>()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let file = std::env::temp_dir().join(format!("__salt.tmp.{random}"));
    write::replace(&file, &Body::Bytes(bytes.to_vec()), 0o600)
        .map_err(|error| halite_call::os_error(&error, &file))?;
    Ok(file)
}

fn plan<'a>(call: &Call<'_>, request: Request<'a>, follow: bool) -> Plan<'a> {
    let given = value(call, "contents");
    let contents = match &given {
        Value::Nil => None,
        Value::Bytes(bytes) => Some(bytes.clone()),
        other => Some(python::str(other).into_bytes()),
    };
    Plan {
        name: request.name,
        contents,
        wanted: wanted(call, follow),
        backup: text(call, "backup").unwrap_or_default(),
        makedirs: flag(call, "makedirs"),
        dir_mode: mode::normalize(&value(call, "dir_mode")),
        show_changes: call.get("show_changes").is_none_or(Value::is_true),
        keep_mode: flag(call, "keep_mode"),
        skip_verify: flag(call, "skip_verify"),
        new_file_diff: flag(call, "new_file_diff"),
        ignore: ignore(call),
        prepared: Prepared::default(),
        request,
    }
}

/// What a caller who has the source at hand (`sfn`, `source_sum`) means.
fn prepared_by_caller(call: &Call<'_>) -> Prepared {
    let source = text(call, "source");
    let file = text(call, "sfn").map(PathBuf::from);
    let local = source
        .as_deref()
        .filter(|source| scheme(source) == Scheme::Local)
        .map(|source| PathBuf::from(crate::sources::local_path(source)));
    let source = source.or_else(|| file.as_ref().map(|file| file.display().to_string()));
    Prepared {
        source,
        body: file.or(local).map(Body::File),
        sum: Sum::from_value(&value(call, "source_sum")),
        ..Prepared::default()
    }
}

pub(super) fn manage_file(call: &Call<'_>) -> CallResult {
    let (name, env) = (call.text("name"), saltenv(call));
    let mut ret = match call.arg("ret") {
        Value::Map(map) if !map.is_empty() => ret_from(map, &name),
        _ => StateReturn::new(name.as_str()),
    };
    let mut plan = plan(
        call,
        request(call, &name, &env),
        flag(call, "follow_symlinks"),
    );
    plan.prepared = prepared_by_caller(call);
    manage::manage(call, &mut ret, plan)?;
    Ok(ret.into())
}

fn ret_from(map: &Map, name: &str) -> StateReturn {
    let mut ret = StateReturn::new(name);
    for (key, value) in map {
        match key.as_str() {
            Some("name") => ret.name = value.clone(),
            Some("changes") => ret.changes = value.as_map().cloned().unwrap_or_default(),
            Some("result") => ret.result = value.as_bool(),
            Some("comment") => ret.comment = value.clone(),
            _ => {
                ret.more.insert(key.clone(), value.clone());
            }
        }
    }
    ret
}

pub(super) fn check_perms(call: &Call<'_>) -> CallResult {
    let name = call.text("name");
    let mut ret = match call.arg("ret") {
        Value::Map(map) if !map.is_empty() => ret_from(map, &name),
        _ => StateReturn::new(name.as_str()),
    };
    let wanted = wanted(call, call.flag("follow_symlinks"));
    let at = Path::new(&name);
    let before = std::fs::metadata(at).ok();
    let mut found = Map::new();
    if let Some(before) = before {
        found.insert("luser", owner::user_name(before.uid()));
        found.insert("lgroup", owner::group_name(before.gid()));
    }
    found.extend(perms::check(&mut ret, at, &wanted, call.is_test())?);
    Ok(vec![ret.into(), found.into()].into())
}

/// The changes a managed file needs, or why that cannot be told.
fn changes(call: &Call<'_>) -> Result<Result<Map, String>, CallError> {
    let (name, env) = (call.text("name"), saltenv(call));
    let mut request = request(call, &name, &env);
    let chosen = list::choose(call, &request.source, &request.source_hash, &env)?;
    request.source = chosen.source;
    request.source_hash = chosen.hash;
    let prepared = source::prepare(call, &request)?;
    if let Some(complaint) = prepared.complaint {
        return Ok(Err(complaint));
    }
    let mut plan = plan(call, request, flag(call, "follow_symlinks"));
    plan.prepared = prepared;
    Ok(Ok(manage::predict(call, plan)?.0))
}

pub(super) fn check_managed_changes(call: &Call<'_>) -> CallResult {
    Ok(match changes(call)? {
        Ok(changes) => changes.into(),
        Err(complaint) => vec![false.into(), complaint.into()].into(),
    })
}

pub(super) fn check_managed(call: &Call<'_>) -> CallResult {
    Ok(match changes(call)? {
        Err(complaint) => vec![false.into(), complaint.into()].into(),
        Ok(changes) if changes.is_empty() => {
            let text = format!("The file {} is in the correct state", call.text("name"));
            vec![true.into(), text.into()].into()
        }
        Ok(changes) => {
            let mut text = String::from("The following values are set to be changed:\n");
            for (key, value) in &changes {
                text.push_str(&format!("{}: {}\n", python::str(key), python::str(value)));
            }
            vec![Value::Nil, text.into()].into()
        }
    })
}

pub(super) fn check_file_meta(call: &Call<'_>) -> CallResult {
    let (name, env) = (call.text("name"), saltenv(call));
    let mut plan = plan(
        call,
        request(call, &name, &env),
        flag(call, "follow_symlinks"),
    );
    plan.prepared = prepared_by_caller(call);
    Ok(manage::predict(call, plan)?.0.into())
}

pub(super) fn apply_template_on_contents(call: &Call<'_>) -> CallResult {
    let (engine, env) = (call.text("template"), saltenv(call));
    let template = Template {
        engine: &engine,
        saltenv: &env,
        context: template::variables(call.arg("defaults"), call.arg("context")),
        ..Template::default()
    };
    match template::render(call, call.text("contents").as_bytes(), &template) {
        Ok(bytes) => Ok(Value::text_or_bytes(bytes)),
        Err(error @ TemplateError::Unsupported(_)) => Ok(Map::from([
            ("result", Value::from(false)),
            ("comment", error.text().into()),
        ])
        .into()),
        Err(error) => Err(CallError::exception("SaltRenderError", error.text())),
    }
}

pub(super) fn get_diff(call: &Call<'_>) -> CallResult {
    let env = saltenv(call);
    let mut files = Vec::new();
    let mut errors = Vec::new();
    for name in ["file1", "file2"] {
        let given = call.text(name);
        if scheme(&given) == Scheme::Local || scheme(&given) == Scheme::Other {
            files.push(PathBuf::from(crate::sources::local_path(&given)));
            continue;
        }
        match fetch::cache(call, &fetch::FetchRequest::fresh(&given, &env)) {
            Ok(Some(path)) => files.push(path),
            Ok(None) => errors.push(format!("File {given} not found")),
            Err(error) => errors.push(error.to_string()),
        }
    }
    let [one, two] = files.as_slice() else {
        return Err(CallError::command(format!(
            "Failed to cache one or more files. Additional info follows:\n\n- {}",
            errors.join("\n- ")
        )));
    };
    let shown = (one.display().to_string(), two.display().to_string());
    let names = if call.flag("show_filenames") {
        (shown.0.as_str(), shown.1.as_str())
    } else {
        ("", "")
    };
    let ignore = ignore(call);
    let found = compare::difference(Some(one), &Body::File(two.clone()), names, &ignore)?;
    let text = if found.text.is_empty() {
        ""
    } else if !call.flag("show_changes") {
        "<show_changes=False>"
    } else {
        &found.text
    };
    if ignore.is_set() {
        return Ok(vec![
            Value::from(!found.ignored && !found.text.is_empty()),
            text.into(),
        ]
        .into());
    }
    Ok(text.into())
}
