//! `file.decode` and `file.patch`.

use std::path::Path;

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use halite_call::paths::{self, Handed};
use halite_call::{Call, CallError, CallResult, StateReturn, python};
use halite_crypto::HashType;
use halite_proto::{Map, Value, json};

use super::common;
use crate::core::write::{self, Body};
use crate::core::{hash, mode, path};
use crate::sources::managed::{self, Request};
use crate::sources::{fetch, list};
use halite_call::{os_error, os_text};

const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

pub(super) fn decode(call: &Call<'_>) -> CallResult {
    let name = common::name(call);
    let ret = StateReturn::new(name.as_str());
    let (data, from_pillar) = (call.arg("encoded_data"), call.text_opt("contents_pillar"));
    let content = match (data.is_true(), from_pillar) {
        (true, Some(_)) => {
            return Err(CallError::command(
                "Specify only one 'encoded_data' or 'contents_pillar' argument.",
            ));
        }
        (true, None) => python::str(data),
        (false, Some(key)) => {
            let pillar = call.ctx.pillar();
            let found = python::traverse_map(&pillar, &key, ":").filter(|value| value.is_true());
            match found {
                Some(found) => python::str(found),
                None => return Err(CallError::command("Pillar data not found.")),
            }
        }
        (false, None) => {
            return Err(CallError::command(
                "Specify either the 'encoded_data' or 'contents_pillar' argument.",
            ));
        }
    };
    let alphabet = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/');
    let clean: String = content.chars().filter(alphabet).collect();
    let bytes = LENIENT
        .decode(clean)
        .map_err(|error| CallError::exception("binascii.Error", error.to_string()))?;
    let checksum = call.text("checksum");
    if !matches!(checksum.as_str(), "md5" | "sha256" | "sha512") {
        return Err(CallError::command(format!(
            "Hash func '{checksum}' is not supported."
        )));
    }
    let form = HashType::parse(&checksum).map_err(|_| {
        CallError::exception("ValueError", format!("Invalid hash type: {checksum}"))
    })?;
    let at = Path::new(&name);
    let old = hash::of_file(at, form).ok();
    let new = halite_crypto::hash_hex(form, &bytes);
    if old.as_deref() == Some(new.as_str()) {
        return Ok(ret.ok("File is in the correct state.").into());
    }
    if call.is_test() {
        let mut ret = ret.pending("File is set to be updated.");
        if old.is_some() {
            ret.changes = Map::from([("old", Value::from(old)), ("new", new.into())]);
        }
        return Ok(ret.into());
    }
    let written = if at.exists() {
        write::update(at, &bytes)
    } else {
        write::replace(at, &Body::Bytes(bytes), mode::default_mode())
    };
    written.map_err(|error| os_error(&error, at))?;
    Ok(ret
        .change("old", Value::from(old))
        .change("new", new)
        .ok("File was updated.")
        .into())
}

pub(super) fn patch(call: &Call<'_>) -> CallResult {
    let name = common::name(call);
    let mut ret = StateReturn::new(name.as_str());
    if call.kwargs().get("hash").is_some() {
        let text = "The 'hash' argument is no longer used and has been ignored.";
        ret.more.insert("warnings", vec![Value::from(text)]);
    }
    if name.is_empty() {
        return common::failed(ret, "A file/directory to be patched is required");
    }
    if !path::is_absolute(&name) {
        return common::failed(ret, format!("{name} is not an absolute path"));
    }
    let at = Path::new(&name);
    if !at.exists() {
        return common::failed(ret, format!("{name} does not exist"));
    }
    let tool = match Patch::new(call, at, &name)? {
        Ok(tool) => tool,
        Err(why) => return common::failed(ret, why),
    };
    let reject = format!("--reject-file={}", tool.rejects());
    let run = |more: &[&str]| tool.run(call, more);
    let code = |out: &Value| out.get("retcode").and_then(Value::as_i64).unwrap_or(1);
    // What can be taken back has been applied.
    let reversed = run(&["--dry-run", "--force", "--reverse", "--reject-file=-"])?;
    let forward = run(&["--dry-run", "--forward", "--reject-file=-"])?;
    if code(&forward) != 0 {
        if code(&reversed) == 0 {
            return Ok(ret.ok("Patch was already applied").into());
        }
        let said = match call.text_opt("reject_file").filter(|_| !call.is_test()) {
            // The result goes nowhere, what does not fit is kept.
            Some(_) => run(&["--forward", "--output=/dev/null", reject.as_str()])?,
            None => forward,
        };
        let advice = match call.text_opt("reject_file") {
            Some(_) => "",
            None => {
                " Run state again using the reject_file option to save rejects to a persistent file."
            }
        };
        let comment = format!(
            "Patch would not apply cleanly, no changes made. Results of dry-run are below.{advice}\n\n{}",
            shown(&said)
        );
        return common::failed(ret, comment);
    }
    let mut ret = ret;
    if call.is_test() {
        ret.changes = forward.as_map().cloned().unwrap_or_default();
        return Ok(ret.pending("The patch would be applied").into());
    }
    let done = run(&["--forward", reject.as_str()])?;
    ret.changes = done.as_map().cloned().unwrap_or_default();
    if code(&done) == 0 {
        return Ok(ret.ok("Patch successfully applied").into());
    }
    common::failed(ret, "Failed to apply patch")
}

/// The program `patch` with what it is to change, and with what.
struct Patch {
    options: Vec<String>,
    input: String,
    is_dir: bool,
    changed: Handed,
    rejects: Option<Handed>,
}

impl Patch {
    /// The program for a file or directory, or why there is none.
    fn new(call: &Call<'_>, at: &Path, name: &str) -> Result<Result<Self, String>, CallError> {
        let input = match patch_of(call, name)? {
            Ok(file) => file,
            Err(why) => return Ok(Err(why)),
        };
        let is_dir = at.is_dir();
        let made = options(call, is_dir).and_then(|options| {
            let changed = match is_dir {
                true => Handed::target(at),
                false => Handed::name(at),
            };
            let rejects = call.text_opt("reject_file");
            let rejects = rejects.map(|file| {
                let file = Path::new(&file);
                Handed::name(file).map_err(|error| os_text(&error, file))
            });
            Ok(Self {
                options,
                input,
                is_dir,
                changed: changed.map_err(|error| os_text(&error, at))?,
                rejects: rejects.transpose()?,
            })
        });
        Ok(made)
    }

    /// Where what does not fit is written.
    fn rejects(&self) -> &str {
        self.rejects.as_ref().map_or("-", Handed::word)
    }

    fn run(&self, call: &Call<'_>, more: &[&str]) -> CallResult {
        let mut command: Vec<Value> = vec!["patch".into()];
        let options = self.options.iter().map(String::as_str);
        command.extend(options.chain(more.iter().copied()).map(Value::from));
        command.push(format!("--input={}", self.input).into());
        command.push(match self.is_dir {
            true => format!("--directory={}", self.changed.word()).into(),
            false => self.changed.word().into(),
        });
        let out = call.salt(
            "cmd.run_all",
            &[command.into()],
            Map::from([("python_shell", false)]),
        );
        call.set_retcode(0);
        let out = self.changed.said_in(out?);
        Ok(self.rejects.iter().fold(out, |out, file| file.said_in(out)))
    }
}

/// What a command has answered, to be read.
fn shown(answer: &Value) -> String {
    let fields = ["pid", "retcode", "stdout", "stderr"].map(|key| {
        let value = answer.get(key).cloned().unwrap_or_default();
        let text = match value {
            Value::Str(text) => {
                let mut quoted = String::new();
                json::write_text(&mut quoted, &text, false);
                quoted
            }
            other => python::str(&other),
        };
        format!("    \"{key}\": {text}")
    });
    format!("{{\n{}\n}}", fields.join(",\n"))
}

/// Options that are given, and how many parts of names are cut.
fn options(call: &Call<'_>, is_dir: bool) -> Result<Vec<String>, String> {
    let given = call.text_opt("options").unwrap_or_default();
    let mut options: Vec<String> = given.split_whitespace().map(str::to_owned).collect();
    if let Some(bad) = options.iter().find(|option| {
        ["-r", "--reject-file", "-o", "--output", "-R", "--reverse"]
            .iter()
            .any(|own| option == own || option.starts_with(&format!("{own}=")))
    }) {
        return Err(format!("The option {bad} is not supported here"));
    }
    if let Ok(strip) = call.int("strip") {
        options.push(format!("--strip={strip}"));
    } else if is_dir
        && !options
            .iter()
            .any(|option| option.starts_with("-p") || option.starts_with("--strip"))
    {
        options.push("--strip=0".to_owned());
    }
    options.push("--quiet".to_owned());
    options.retain(|option| option != "--quiet");
    Ok(options)
}

/// Why there is no patch.
fn unable(why: impl std::fmt::Display) -> String {
    format!("Unable to manage file: {why}")
}

/// The patch as a file of this machine.
fn patch_of(call: &Call<'_>, name: &str) -> Result<Result<String, String>, CallError> {
    let saltenv = match call.text_opt("saltenv") {
        Some(env) => env,
        None => fetch::state_env(call, call.kwargs()),
    };
    let chosen = match list::choose(call, call.arg("source"), call.arg("source_hash"), &saltenv) {
        Ok(chosen) => chosen,
        Err(error) => return Ok(Err(unable(super::managed::plain(&error)))),
    };
    let request = Request {
        name,
        template: call.text_opt("template"),
        source: chosen.source,
        source_hash: chosen.hash,
        source_hash_name: call.text_opt("source_hash_name"),
        saltenv: &saltenv,
        context: call.arg("context").clone(),
        defaults: call.arg("defaults").clone(),
        skip_verify: call.flag("skip_verify"),
        verify_ssl: true,
        ..Request::default()
    };
    let mut prepared = match managed::prepare(call, &request) {
        Ok(prepared) => prepared,
        Err(error) => return Ok(Err(unable(super::managed::plain(&error)))),
    };
    if let Some(why) = prepared.complaint {
        return Ok(Err(unable(why)));
    }
    managed::bring(call, &request, &mut prepared)?;
    let source = prepared.source.clone().unwrap_or_default();
    let wrong = prepared
        .body
        .as_ref()
        .filter(|_| !request.skip_verify)
        .and_then(|body| managed::mismatch(&source, prepared.sum.as_ref(), body, &source));
    if let Some(wrong) = wrong {
        return Ok(Err(wrong));
    }
    match prepared.body {
        Some(Body::File(path)) => Ok(Ok(path.display().to_string())),
        Some(body @ Body::Bytes(_)) => {
            let cache = call.ctx.cachedir().join("patches");
            paths::create_dir_all(&cache).map_err(|error| os_error(&error, &cache))?;
            let bytes = body.read().unwrap_or_default();
            let file = cache.join(halite_crypto::hash_hex(HashType::Sha256, &bytes));
            write::replace(&file, &body, 0o600).map_err(|error| os_error(&error, &file))?;
            Ok(Ok(file.display().to_string()))
        }
        None => Ok(Err(unable("there is no patch"))),
    }
}
