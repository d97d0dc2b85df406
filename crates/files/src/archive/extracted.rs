//! `archive.extracted`: what is asked, and what is to be done about it.

use std::fs;
use std::path::{Path, PathBuf};

use halite_call::addresses::redacted;
use halite_call::{Call, CallError, CallResult, StateReturn, paths, python, run_state_function};
use halite_proto::{Map, Value};

use super::exec;
use super::extraction::{self, Plan};
use super::format::Format;
use super::read::Contents;
use crate::core::{owner, path};
use crate::sources::sums::{self, Names, Sum};
use crate::sources::{Scheme, fetch, list, local_path, scheme};

fn failed(ret: StateReturn, comment: impl Into<Value>) -> CallResult {
    Ok(ret.failed(comment).into())
}

pub(super) fn extracted(call: &Call<'_>) -> CallResult {
    let given = path::expand_user(&call.text("name"));
    let ret = StateReturn::new(call.text("name"));
    if let Some(wrong) = crate::state::unchecked_signature(call) {
        return failed(ret, wrong);
    }
    if !path::is_absolute(&given) {
        return failed(ret, format!("{given} is not an absolute path"));
    }
    let bare = given.trim_end_matches('/');
    if Path::new(bare).is_file() {
        return failed(ret, format!("{bare} exists and is not a directory"));
    }
    let name = format!("{bare}/");
    for missing in if_missing(call) {
        if path::is_there(&missing) {
            return Ok(ret.ok(format!("Path {missing} exists")).into());
        }
    }
    let (user, group) = (call.arg("user").clone(), call.arg("group").clone());
    if user.is_true() && owner::uid(&user).is_none() {
        return failed(ret, format!("User {} does not exist", python::str(&user)));
    }
    if group.is_true() && owner::gid(&group).is_none() {
        return failed(ret, format!("Group {} does not exist", python::str(&group)));
    }
    if let Some(only) = call.text_opt("enforce_ownership_on")
        && !Path::new(&only).starts_with(&name)
    {
        let text = format!("Value for 'enforce_ownership_on' must be within {name}");
        return failed(ret, text);
    }
    if !call.flag("source") {
        return failed(ret, "Invalid source \"\"");
    }
    let saltenv = fetch::state_env(call, call.kwargs());
    let chosen = match list::choose(call, call.arg("source"), call.arg("source_hash"), &saltenv) {
        Ok(chosen) => chosen,
        Err(error) => return failed(ret, error.to_string()),
    };
    let source = python::str(&chosen.source);
    let local = matches!(scheme(&source), Scheme::Local | Scheme::Other);
    if local && !Path::new(local_path(&source)).is_file() {
        return failed(
            ret,
            format!("Source file '{}' does not exist", local_path(&source)),
        );
    }
    let format = match format_of(call, &source) {
        Ok(format) => format,
        Err(wrong) => return failed(ret, wrong),
    };
    if format == Format::Zip && call.kwargs().contains_key("tar_options") && !call.is_test() {
        return Err(CallError::wrong_type(
            "unzip() got an unexpected keyword argument 'tar_options'",
        ));
    }
    if call.text_opt("password").is_some() && format != Format::Zip {
        return failed(
            ret,
            "The 'password' argument is only supported for zip archives",
        );
    }
    if call.is_test() && !local {
        let text = format!(
            "Archive {source} would be cached (if necessary) and checked to discover if extraction \
             is needed"
        );
        return Ok(ret.pending(text).into());
    }
    let hash = chosen.hash.is_true().then(|| python::str(&chosen.hash));
    let sum = match checksum(call, &name, &source, hash.as_deref(), &saltenv) {
        Ok(sum) => sum,
        Err(error) => return failed(ret, error.to_string()),
    };
    let archive = match here(
        call,
        &source,
        hash.as_deref(),
        sum.as_ref(),
        local,
        &saltenv,
    )? {
        Ok(archive) => archive,
        Err(Value::Str(comment)) => return failed(ret, comment),
        Err(result) => return Ok(result),
    };
    let strip = strip_components(call);
    let decompress = call.text_opt("list_options");
    let contents = match exec::contents(&archive, format, strip, decompress.as_deref()) {
        Ok(contents) => contents,
        Err(error) => return failed(ret, workarounds(&error, format)),
    };
    if call.flag("enforce_toplevel") && contents.top_count() > 1 {
        let text = format!(
            "Archive does not have a single top-level directory. To allow this archive to be \
             extracted, set 'enforce_toplevel' to False. To avoid a '{}-bomb' it may also be \
             advisable to set a top-level directory by adding it to the 'name' value (for example, \
             setting 'name' to {} instead of {name}).",
            format.name(),
            path::join(&name, &["some_dir"]),
        );
        return failed(ret, text);
    }
    let plan = Plan {
        name,
        source,
        archive,
        format,
        contents,
        user,
        group,
        overwrite: call.flag("overwrite") || is_new_sum(call, sum.as_ref()),
    };
    let done = converge(call, ret, &plan)?;
    let keep = ["keep_source", "keep"]
        .iter()
        .find_map(|key| call.kwargs().get(key));
    if !local && keep.is_some_and(|keep| !keep.is_true()) {
        // A source that is not kept is fetched again when it is needed.
        let _ = paths::remove_file(&plan.archive);
    }
    if !call.is_test() && done.result == Some(true) {
        remember_sum(call, sum.as_ref());
    }
    Ok(done.into())
}

fn if_missing(call: &Call<'_>) -> Vec<String> {
    match call.arg("if_missing") {
        Value::Nil => Vec::new(),
        Value::List(paths) => paths.iter().map(python::str).collect(),
        one => vec![python::str(one)],
    }
}

fn format_of(call: &Call<'_>, source: &str) -> Result<Format, String> {
    match call.text_opt("archive_format") {
        Some(name) => Format::parse(&name.to_lowercase()).ok_or_else(|| {
            format!(
                "Invalid archive_format '{name}'. Either set it to a supported value (tar, rar, \
                 zip) or remove this argument and the archive format will be guessed based on file \
                 extension."
            )
        }),
        None => Format::guess(source).ok_or_else(|| {
            "Could not guess archive_format from the value of the 'source' argument. Please set \
             this archive_format to one of the following: tar, rar, zip"
                .to_owned()
        }),
    }
}

fn checksum(
    call: &Call<'_>,
    name: &str,
    source: &str,
    hash: Option<&str>,
    saltenv: &str,
) -> Result<Option<Sum>, CallError> {
    let Some(hash) = hash.filter(|_| !call.flag("skip_verify")) else {
        return Ok(None);
    };
    let hash_name = call.text_opt("source_hash_name");
    let names = Names {
        file_name: name,
        source,
        source_hash_name: hash_name.as_deref(),
    };
    sums::of_source(call, names, hash, saltenv).map(Some)
}

/// The archive as a file of this machine; else the comment, or the whole
/// result of `file.cached`.
fn here(
    call: &Call<'_>,
    source: &str,
    hash: Option<&str>,
    sum: Option<&Sum>,
    local: bool,
    saltenv: &str,
) -> Result<Result<PathBuf, Value>, CallError> {
    if local {
        let archive = PathBuf::from(local_path(source));
        if let Some(sum) = sum
            && fetch::local_sum(&archive, &sum.hash_type).as_deref() != Some(sum.hsum.as_str())
        {
            let text = format!(
                "{source} does not match the desired source_hash {}",
                sum.hsum
            );
            return Ok(Err(text.into()));
        }
        return Ok(Ok(archive));
    }
    let mut kwargs = Map::from([
        ("name", Value::from(source)),
        ("saltenv", saltenv.into()),
        ("skip_verify", call.arg("skip_verify").clone()),
        ("use_etag", call.arg("use_etag").clone()),
        ("source_hash_name", call.arg("source_hash_name").clone()),
    ]);
    if let Some(hash) = hash {
        kwargs.insert("source_hash", hash);
    }
    let result = run_state_function(call.ctx, "file.cached", Vec::new(), kwargs, call.job)?;
    if result.get("result") != Some(&Value::Bool(true)) {
        return Ok(Err(result));
    }
    match fetch::cached_at(call, source, saltenv) {
        Some(archive) => Ok(Ok(archive)),
        None => Ok(Err(format!("Failed to cache {}", redacted(source)).into())),
    }
}

/// `--strip-components=1` and `--strip 1` of the options.
fn strip_components(call: &Call<'_>) -> usize {
    let options = call.text_opt("options").unwrap_or_default();
    let mut words = options.split_whitespace();
    while let Some(word) = words.next() {
        let Some(rest) = word.strip_prefix("--strip") else {
            continue;
        };
        let rest = rest.strip_prefix("-components").unwrap_or(rest);
        let number = rest.strip_prefix('=').or_else(|| words.next());
        if let Some(count) = number.and_then(|number| number.parse().ok()) {
            return count;
        }
    }
    0
}

fn workarounds(error: &CallError, format: Format) -> String {
    match format {
        Format::Tar => format!(
            "{error}\n\nIf the source archive is a tar archive compressed using a compression type \
             not natively supported by the tar command, then setting the 'list_options' argument \
             may allow the contents to be listed. Otherwise, if Salt is unable to determine the \
             files/directories in the archive, the following workaround(s) would need to be used \
             for this state to proceed (assuming the source file is a valid tar archive):\n\n- \
             'if_missing' must be set"
        ),
        format => format!(
            "{error}\n\nThe following workarounds must be used for this state to proceed (assuming \
             the source file is a valid {} archive):\n\n- 'if_missing' must be set",
            format.name()
        ),
    }
}

/// Where the hash of what was extracted last is kept.
fn sum_file(call: &Call<'_>) -> PathBuf {
    let name = call.text("name");
    let name = halite_crypto::hash_hex(halite_crypto::HashType::Sha256, name.as_bytes());
    call.ctx.cachedir().join("archive_hash").join(name)
}

/// Whether another archive was extracted last (`source_hash_update`).
fn is_new_sum(call: &Call<'_>, sum: Option<&Sum>) -> bool {
    let Some(sum) = sum.filter(|_| call.flag("source_hash_update")) else {
        return false;
    };
    fs::read_to_string(sum_file(call)).map_or(true, |old| old != sum.hsum)
}

fn remember_sum(call: &Call<'_>, sum: Option<&Sum>) {
    let Some(sum) = sum else { return };
    let file = sum_file(call);
    if let Some(directory) = file.parent() {
        let _ = paths::create_dir_all(directory);
    }
    if let Err(error) = paths::write(&file, &sum.hsum) {
        tracing::warn!(file = %file.display(), %error, "could not remember the hash of an archive");
    }
}

fn converge(call: &Call<'_>, mut ret: StateReturn, plan: &Plan) -> Result<StateReturn, CallError> {
    let found = if call.flag("skip_files_list_verify") && Path::new(&plan.name).is_dir() {
        Found::default()
    } else {
        Found::look(plan)
    };
    let force = call.flag("force");
    if !found.wrong.is_empty() && !force {
        let text = format!(
            "The below paths (relative to {}) exist, but are the incorrect type (file instead of \
             directory, symlink instead of file, etc.). To proceed with extraction, set 'force' to \
             True. Note that this will remove these paths before extracting.\n\n- {}",
            plan.name,
            found.wrong.join("\n- ")
        );
        return Ok(ret.failed(text));
    }
    if !found.missing && found.wrong.is_empty() && !plan.overwrite {
        ret.comment = "All files in archive are already present".into();
        extraction::own(call, &mut ret, plan)?;
        return Ok(ret);
    }
    if call.is_test() {
        let why = if found.missing {
            ", due to absence of one or more files/dirs"
        } else {
            ""
        };
        let cleaning = if call.flag("clean") {
            ", after cleaning destination path(s)"
        } else {
            ""
        };
        let text = format!(
            "Archive {} would be extracted to {}{cleaning}{why}",
            plan.source, plan.name
        );
        return Ok(ret.pending(text));
    }
    extraction::make_room(call, &mut ret, plan, &found.wrong)?;
    extraction::extract(call, ret, plan, found.missing)
}

/// Whether a file is of the kind that the archive has.
type IsRight = fn(&fs::Metadata) -> bool;

/// What of the archive is there already.
#[derive(Default)]
struct Found {
    /// Something is not.
    missing: bool,
    /// These are something else.
    wrong: Vec<String>,
}

impl Found {
    fn look(plan: &Plan) -> Self {
        let mut found = Self::default();
        let Contents { dirs, files, links } = &plan.contents;
        let kinds: [(_, IsRight); 3] = [
            (dirs, |data| data.is_dir()),
            (files, |data| data.is_file()),
            (links, |data| data.is_symlink()),
        ];
        for (names, is_right) in kinds {
            for name in names {
                let bare = name.trim_end_matches('/');
                let at = path::join(&plan.name, &[bare]);
                match fs::symlink_metadata(&at) {
                    Ok(data) if is_right(&data) => {}
                    // A link to a directory is as good as one.
                    Ok(data)
                        if data.is_symlink() && name.ends_with('/') && Path::new(&at).is_dir() => {}
                    Ok(_) => found.wrong.push(name.clone()),
                    Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => {}
                    Err(_) => found.missing = true,
                }
            }
        }
        found.wrong.sort();
        found
    }
}
