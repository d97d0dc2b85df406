//! `file.cached` and `file.not_cached`.

use std::path::Path;

use halite_call::addresses::redacted;
use halite_call::{Call, CallResult, StateReturn, paths};
use halite_proto::{Map, Value};

use super::common;
use crate::core::path;
use crate::sources::fetch::{self, FetchRequest, local_sum};
use crate::sources::sums::{self, Names, Sum};
use crate::sources::{Scheme, local_path, scheme};

pub(super) fn cached(call: &Call<'_>) -> CallResult {
    let name = call.text("name");
    let ret = StateReturn::new(name.as_str());
    if let Some(wrong) = common::unchecked_signature(call) {
        return common::failed(ret, wrong);
    }
    let kind = scheme(&name);
    let saltenv = saltenv(call);
    let sum = match desired_sum(call, &name, &saltenv) {
        Ok(sum) => sum,
        Err(wrong) => return common::failed(ret, wrong),
    };
    let hash_type = sum.as_ref().map_or("sha256", |sum| sum.hash_type.as_str());
    let before =
        fetch::cached_at(call, &name, &saltenv).and_then(|place| local_sum(&place, hash_type));
    if call.is_test() {
        return Ok(predict(&name, ret, sum.as_ref(), before.as_deref()).into());
    }
    if kind == Scheme::Other && name.contains("://") {
        return common::failed(ret, format!("Unsupported url scheme: {name}"));
    }
    if matches!(kind, Scheme::Local | Scheme::Other) {
        return Ok(local(&name, ret, sum.as_ref()).into());
    }
    let wanted = FetchRequest {
        url: &name,
        saltenv: &saltenv,
        sum: sum.as_ref(),
        use_etag: call.flag("use_etag"),
        verify_ssl: true,
    };
    let got = match fetch::cache(call, &wanted) {
        Ok(Some(path)) => path,
        Ok(None) => {
            let text = format!(
                "Failed to cache {}, check minion log for more information",
                redacted(&name)
            );
            return common::failed(ret, text);
        }
        Err(error) => return common::failed(ret, error.to_string()),
    };
    let now = local_sum(&got, hash_type);
    if let (Some(sum), Some(now)) = (&sum, &now)
        && sum.hsum != *now
    {
        let text = format!(
            "File is cached to {}, but the hash ({now}) does not match the specified hash ({})",
            got.display(),
            sum.hsum
        );
        return common::failed(ret, text);
    }
    let mut ret = ret.ok(format!("File is cached to {}", got.display()));
    if before != now {
        let change = Map::from([("old", Value::from(before)), ("new", Value::from(now))]);
        ret.changes.insert("hash", change);
    }
    Ok(ret.into())
}

fn saltenv(call: &Call<'_>) -> String {
    call.text_opt("saltenv")
        .unwrap_or_else(|| "base".to_owned())
}

/// The checksum that the file must have, if one is asked for; or why that cannot
/// be said.
fn desired_sum(call: &Call<'_>, name: &str, saltenv: &str) -> Result<Option<Sum>, String> {
    let hash = call.text_opt("source_hash");
    let is_free = call.flag("skip_verify") || call.flag("use_etag");
    if scheme(name) == Scheme::Remote && hash.is_none() && !is_free {
        return Err(format!(
            "Unable to verify upstream hash of source file {name}, please set source_hash or set \
             skip_verify or use_etag to True"
        ));
    }
    let Some(hash) = hash.filter(|_| !call.flag("skip_verify")) else {
        return Ok(None);
    };
    let hash_name = call.text_opt("source_hash_name");
    let names = Names {
        file_name: "",
        source: name,
        source_hash_name: hash_name.as_deref(),
    };
    sums::of_source(call, names, &hash, saltenv)
        .map(Some)
        .map_err(|error| error.to_string())
}

/// What test mode says of a file that has the hash `now` in the cache.
fn predict(name: &str, ret: StateReturn, sum: Option<&Sum>, now: Option<&str>) -> StateReturn {
    let text = match (sum, now, scheme(name)) {
        (Some(sum), Some(now), _) if sum.hsum == now => {
            return ret.ok(format!("File already cached: {name}"));
        }
        (Some(_), Some(_), _) => format!("Hashes don't match.\nFile will be cached: {name}"),
        (None, Some(_), Scheme::Salt | Scheme::Remote) => {
            format!("No hash found. File will be cached: {name}")
        }
        _ => format!("File will be cached: {name}"),
    };
    ret.pending(text)
}

/// A file of this machine stays where it is.
fn local(name: &str, ret: StateReturn, sum: Option<&Sum>) -> StateReturn {
    let full = path::absolute(local_path(name));
    let at = Path::new(&full);
    if !at.exists() {
        return ret.failed(format!("File {full} is not present on the minion"));
    }
    if let Some(sum) = sum {
        let now = local_sum(at, &sum.hash_type).unwrap_or_default();
        if now != sum.hsum {
            return ret.failed(format!(
                "File {full} is present on the minion, but the hash ({now}) does not match the \
                 specified hash ({})",
                sum.hsum
            ));
        }
        return ret.ok(format!(
            "File {full} is present on the minion and has hash {now}"
        ));
    }
    ret.ok(format!("File {full} is present on the minion"))
}

pub(super) fn not_cached(call: &Call<'_>) -> CallResult {
    let name = call.text("name");
    let ret = StateReturn::new(name.as_str());
    if matches!(scheme(&name), Scheme::Local | Scheme::Other) {
        let full = path::absolute(local_path(&name));
        return Ok(ret
            .ok(format!("File {full} is a local path, no action taken"))
            .into());
    }
    let Some(place) = fetch::cached_at(call, &name, &saltenv(call)).filter(|place| place.exists())
    else {
        return Ok(ret.ok(format!("{name} is not cached")).into());
    };
    let shown = place.display().to_string();
    if call.is_test() {
        let text = format!("{shown} is set for removal");
        return Ok(ret.change("deleted", shown).pending(text).into());
    }
    match paths::remove_file(&place) {
        Ok(()) => Ok(ret
            .change("deleted", true)
            .ok(format!("{shown} was deleted"))
            .into()),
        Err(error) => {
            tracing::error!(shown, %error, "could not remove a cached file");
            common::failed(ret, format!("Failed to delete {shown}"))
        }
    }
}
