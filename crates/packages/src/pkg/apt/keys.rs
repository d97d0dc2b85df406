//! Keys that sign apt's repositories: fetches them, removes their armour, installs
//! them.

use std::path::Path;

use halite_call::host::{Program, replace_file};
use halite_call::{Call, CallError, os_error, paths, python};
use halite_proto::{Map, Value};

use super::known_keys;
use super::sources::Line;
use crate::pkg::error::PkgError;

/// Where keys go when nothing says where.
pub(super) const KEYRINGS: &str = "/etc/apt/keyrings";

/// Takes over the key that the arguments of a repository name.
pub(crate) fn of_repo(
    call: &Call<'_>,
    wanted: &Line,
    kwargs: &mut Map,
    aptkey: bool,
) -> Result<(), PkgError> {
    let key_file = Some(Path::new(&wanted.signedby)).filter(|_| !wanted.signedby.is_empty());
    let directory = key_file
        .and_then(Path::parent)
        .map(|path| path.display().to_string());
    if let Some(ids) = kwargs.remove("keyid") {
        let server = kwargs.remove("keyserver").unwrap_or_default();
        if !ids.is_true() || !server.is_true() {
            return Err(CallError::exception(
                "NameError",
                "both keyserver and keyid options required.",
            )
            .into());
        }
        let ids = match ids {
            Value::List(items) => items,
            one => vec![one],
        };
        for id in ids {
            // YAML reads an id of digits alone, or after 0x, as a number.
            let id = match id {
                Value::Int(int) => format!("{int:#x}"),
                other => python::str(&other),
            };
            receive(call, &id, &python::str(&server), aptkey, key_file)?;
        }
    } else if let Some(url) = kwargs.get("key_url").map(python::str) {
        let saltenv = kwargs
            .get("saltenv")
            .map_or_else(|| "base".to_owned(), python::str);
        let cached = call.salt(
            "cp.cache_file",
            &[url.as_str().into(), saltenv.into()],
            Map::new(),
        )?;
        if !cached.is_true() {
            return Err(PkgError::command(format!("Error: file not found: {url}")));
        }
        let cached = python::str(&cached);
        if aptkey {
            let ran = Program::new(call, &["apt-key", "add", &cached]).run()?;
            if !ran.stdout.to_uppercase().starts_with("OK") {
                return Err(PkgError::command(format!(
                    "Error: failed to add key from {url}"
                )));
            }
        } else {
            let name = key_file.and_then(Path::file_name);
            let name = name.map(|name| name.to_string_lossy().into_owned());
            install(call, &cached, directory.as_deref(), name.as_deref())?;
        }
    } else if let Some(text) = kwargs.get("key_text").map(python::str) {
        let ran = Program::new(call, &["apt-key", "add", "-"])
            .stdin(text.as_str())
            .run()?;
        if !ran.stdout.to_uppercase().starts_with("OK") {
            return Err(PkgError::command(format!(
                "Error: failed to add key:\n{text}"
            )));
        }
    }
    Ok(())
}

fn receive(
    call: &Call<'_>,
    id: &str,
    server: &str,
    aptkey: bool,
    key_file: Option<&Path>,
) -> Result<(), PkgError> {
    if aptkey {
        return receive_with_apt_key(call, id, server);
    }
    let Some(file) = key_file else {
        return Err(PkgError::command(format!("Error: Could not add key: {id}")));
    };
    let real = call.host().path(file);
    if let Some(parent) = real.parent() {
        paths::create_dir_all(parent).map_err(|error| PkgError::from(os_error(&error, parent)))?;
    }
    let known = known_keys::shown(call, &real)?;
    let file = real.display().to_string();
    if known.lines().any(|line| {
        let field = line.split(':').nth(4).unwrap_or_default();
        line.starts_with("pub:")
            && !field.is_empty()
            && (field.ends_with(id) || id.ends_with(field))
    }) {
        return Ok(());
    }
    let ran = Program::new(
        call,
        &[
            "gpg",
            "--no-default-keyring",
            "--keyring",
            &file,
            "--keyserver",
            server,
            "--recv-keys",
            id,
        ],
    )
    .run()?;
    if !ran.ok() {
        return Err(PkgError::command(format!("Error: Could not add key: {id}")));
    }
    set_readable(&real)
}

/// Fetches a key into the keyring of `apt-key`, unless it is there already.
fn receive_with_apt_key(call: &Call<'_>, id: &str, server: &str) -> Result<(), PkgError> {
    let known = Program::new(call, &["apt-key", "export", id])
        .may_fail()
        .run()?;
    if known.stdout.starts_with("-----BEGIN PGP") {
        return Ok(());
    }
    let ran = Program::new(
        call,
        &[
            "apt-key",
            "adv",
            "--batch",
            "--keyserver",
            server,
            "--logger-fd",
            "1",
            "--recv-keys",
            id,
        ],
    )
    .run()?;
    if !ran.ok() {
        return Err(PkgError::command(format!(
            "Error: key retrieval failed: {}",
            ran.stdout
        )));
    }
    Ok(())
}

/// Copies a key to where apt looks for it; an armoured one is unarmoured
/// unless its name ends in `.asc`.
pub(crate) fn install(
    call: &Call<'_>,
    cached: &str,
    directory: Option<&str>,
    name: Option<&str>,
) -> Result<(), PkgError> {
    let failed =
        |why: String| PkgError::command(format!("Error: Could not add key: {cached} ({why})"));
    let host = call.host();
    let directory = host.path(directory.unwrap_or(KEYRINGS));
    paths::create_dir_all(&directory).map_err(|error| failed(error.to_string()))?;
    let own_name = Path::new(cached)
        .file_name()
        .map(|name| name.to_string_lossy().into_owned());
    let name = name.map(str::to_owned).or(own_name).unwrap_or_default();
    let target = directory.join(&name);
    let bytes = paths::read(cached).map_err(|error| failed(error.to_string()))?;
    let text = String::from_utf8_lossy(&bytes);
    let armoured = text.trim_start_matches('-').starts_with("BEGIN PGP");
    if armoured && !name.ends_with(".asc") {
        if !host.has("gpg") {
            return Err(failed("gpg is not installed".to_owned()));
        }
        let target = target.display().to_string();
        let ran = Program::new(
            call,
            &["gpg", "--yes", "--output", &target, "--dearmor", cached],
        )
        .run()?;
        if !ran.ok() {
            return Err(failed(ran.stderr));
        }
    } else {
        replace_file(&target, &bytes).map_err(|error| failed(error.to_string()))?;
    }
    set_readable(&target)
}

fn set_readable(path: &Path) -> Result<(), PkgError> {
    use std::os::unix::fs::PermissionsExt;
    paths::set_permissions(path, &std::fs::Permissions::from_mode(0o644))
        .map_err(|error| PkgError::from(os_error(&error, path)))
}
