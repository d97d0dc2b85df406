//! `archive.extracted`: its arguments, and the decision what to do.

use std::fs;
use std::path::Path;

use halite_call::{Call, CallError, CallResult, StateReturn, paths, python};
use halite_proto::Value;

use super::exec;
use super::extraction::{self, Plan};
use super::format::Format;
use super::last_sum::{is_new_sum, remember_sum};
use super::read::Contents;
use super::source::{Fetched, Source};
use crate::core::{owner, path};

fn failed(ret: StateReturn, comment: impl Into<Value>) -> CallResult {
    Ok(ret.failed(comment).into())
}

pub(super) fn extracted(call: &Call<'_>) -> CallResult {
    let ret = StateReturn::new(call.text("name"));
    let name = match destination(call) {
        Ok(name) => name,
        Err(wrong) => return failed(ret, wrong),
    };
    for missing in if_missing(call) {
        if path::is_there(&missing) {
            return Ok(ret.ok(format!("Path {missing} exists")).into());
        }
    }
    let chosen = check_owners(call, &name).and_then(|()| Source::choose(call));
    let source = match chosen {
        Ok(source) => source,
        Err(wrong) => return failed(ret, wrong),
    };
    if let Some(wrong) = unusable_options(call, source.format)? {
        return failed(ret, wrong);
    }
    if call.is_test() && !source.is_local {
        let text = format!(
            "Archive {} would be cached (if necessary) and checked to discover if extraction is \
             needed",
            source.url
        );
        return Ok(ret.pending(text).into());
    }
    let sum = match source.checksum(call, &name) {
        Ok(sum) => sum,
        Err(error) => return failed(ret, error.to_string()),
    };
    let archive = match source.fetch(call, sum.as_ref())? {
        Fetched::File(archive) => archive,
        Fetched::Failed(comment) => return failed(ret, comment),
        Fetched::Answer(answer) => return Ok(answer),
    };
    let contents = match contents(call, &archive, source.format, &name) {
        Ok(contents) => contents,
        Err(wrong) => return failed(ret, wrong),
    };
    let plan = Plan {
        name,
        source: source.url,
        archive,
        format: source.format,
        contents,
        user: call.arg("user").clone(),
        group: call.arg("group").clone(),
        overwrite: call.flag("overwrite") || is_new_sum(call, sum.as_ref()),
    };
    let done = converge(call, ret, &plan)?;
    if !source.is_local && !is_kept(call) {
        // A source that is not kept is fetched again when it is needed.
        let _ = paths::remove_file(&plan.archive);
    }
    if !call.is_test() && done.result == Some(true) {
        remember_sum(call, sum.as_ref());
    }
    Ok(done.into())
}

/// The directory of the files, with a slash behind it.
fn destination(call: &Call<'_>) -> Result<String, String> {
    if let Some(wrong) = crate::state::unchecked_signature(call) {
        return Err(wrong);
    }
    let given = path::expand_user(&call.text("name"));
    if !path::is_absolute(&given) {
        return Err(format!("{given} is not an absolute path"));
    }
    let bare = given.trim_end_matches('/');
    if Path::new(bare).is_file() {
        return Err(format!("{bare} exists and is not a directory"));
    }
    Ok(format!("{bare}/"))
}

/// Checks whom the files are to belong to, and that this is asked only of files
/// below `name`.
fn check_owners(call: &Call<'_>, name: &str) -> Result<(), String> {
    let (user, group) = (call.arg("user"), call.arg("group"));
    if user.is_true() && owner::uid(user).is_none() {
        return Err(format!("User {} does not exist", python::str(user)));
    }
    if group.is_true() && owner::gid(group).is_none() {
        return Err(format!("Group {} does not exist", python::str(group)));
    }
    match call.text_opt("enforce_ownership_on") {
        Some(only) if !Path::new(&only).starts_with(name) => Err(format!(
            "Value for 'enforce_ownership_on' must be within {name}"
        )),
        _ => Ok(()),
    }
}

/// What is wrong with options that only archives of some formats have.
fn unusable_options(call: &Call<'_>, format: Format) -> Result<Option<&'static str>, CallError> {
    if format == Format::Zip && call.kwargs().contains_key("tar_options") && !call.is_test() {
        return Err(CallError::wrong_type(
            "unzip() got an unexpected keyword argument 'tar_options'",
        ));
    }
    let is_wrong = call.text_opt("password").is_some() && format != Format::Zip;
    Ok(is_wrong.then_some("The 'password' argument is only supported for zip archives"))
}

/// What is in the archive, if that may be extracted to `name`.
fn contents(
    call: &Call<'_>,
    archive: &Path,
    format: Format,
    name: &str,
) -> Result<Contents, String> {
    let strip = strip_components(call);
    let decompress = call.text_opt("list_options");
    let contents = exec::contents(archive, format, strip, decompress.as_deref())
        .map_err(|error| workarounds(&error, format))?;
    if call.flag("enforce_toplevel") && contents.top_count() > 1 {
        return Err(format!(
            "Archive does not have a single top-level directory. To allow this archive to be \
             extracted, set 'enforce_toplevel' to False. To avoid a '{}-bomb' it may also be \
             advisable to set a top-level directory by adding it to the 'name' value (for example, \
             setting 'name' to {} instead of {name}).",
            format.name(),
            path::join(name, &["some_dir"]),
        ));
    }
    Ok(contents)
}

fn is_kept(call: &Call<'_>) -> bool {
    let mut keys = ["keep_source", "keep"].iter();
    keys.find_map(|key| call.kwargs().get(key))
        .is_none_or(Value::is_true)
}

fn if_missing(call: &Call<'_>) -> Vec<String> {
    match call.arg("if_missing") {
        Value::Nil => Vec::new(),
        Value::List(paths) => paths.iter().map(python::str).collect(),
        one => vec![python::str(one)],
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
