//! Where an authority keeps its files, and how they are written.

use std::fs;
use std::path::{Path, PathBuf};

use halite_call::{Call, CallError, CallResult, os_error, paths};
use halite_proto::Value;

use crate::files::{write, write_ours};

/// Where [`set_path`] leaves its word for the rest of a state run.
const CHOSEN: &str = "ca.contextual_cert_base_path";

/// Everybody may read a certificate.
const PUBLIC: u32 = 0o644;

/// The directory below which authorities are.
pub(super) fn base(call: &Call<'_>) -> String {
    let given = call.get("cacert_path").filter(|path| path.is_true());
    if let Some(path) = given {
        return halite_call::python::str(path);
    }
    let chosen = call.job.state.as_ref().and_then(|scope| {
        let memo = scope
            .memo
            .lock()
            .unwrap_or_else(|broken| broken.into_inner());
        memo.get(CHOSEN).and_then(Value::as_str).map(str::to_owned)
    });
    chosen.unwrap_or_else(|| {
        let option = call.salt(
            "config.option",
            &["ca.cert_base_path".into()],
            Default::default(),
        );
        let option = option.ok().filter(Value::is_true);
        option.map_or_else(
            || "/etc/pki".to_owned(),
            |path| halite_call::python::str(&path),
        )
    })
}

pub(super) fn base_path(call: &Call<'_>) -> CallResult {
    Ok(base(call).into())
}

pub(super) fn set_path(call: &Call<'_>) -> CallResult {
    let path = call.arg("cacert_path").clone();
    if let (Some(scope), true) = (&call.job.state, path.is_true()) {
        let mut memo = scope
            .memo
            .lock()
            .unwrap_or_else(|broken| broken.into_inner());
        memo.insert(CHOSEN, path);
    }
    Ok(base(call).into())
}

/// The files of one authority.
pub(super) struct Authority {
    pub(super) base: String,
    pub(super) name: String,
    pub(super) certificate: PathBuf,
    pub(super) key: PathBuf,
}

impl Authority {
    /// The authority that the arguments name.
    pub(super) fn from_call(call: &Call<'_>) -> Self {
        let (base, name) = (base(call), call.text("ca_name"));
        let file = call.get("ca_filename").filter(|file| file.is_true());
        let file = file.map_or_else(|| format!("{name}_ca_cert"), halite_call::python::str);
        let directory = Path::new(&base).join(&name);
        Self {
            certificate: directory.join(format!("{file}.crt")),
            key: directory.join(format!("{file}.key")),
            base,
            name,
        }
    }

    pub(super) fn directory(&self) -> PathBuf {
        Path::new(&self.base).join(&self.name)
    }

    pub(super) fn exists(&self) -> bool {
        self.certificate.exists()
    }

    pub(super) fn certificates(&self) -> PathBuf {
        self.directory().join("certs")
    }

    pub(super) fn missing(&self) -> String {
        format!("There is no CA named \"{}\"", self.name)
    }
}

/// Makes a directory, and those above it.
pub(super) fn ensure(directory: &Path) -> Result<(), CallError> {
    paths::create_dir_all(directory).map_err(|error| os_error(&error, directory))
}

pub(super) fn write_key(path: &Path, pem: &str) -> Result<(), CallError> {
    write(path, pem)
}

/// Writes what everybody may read.
pub(super) fn write_public(path: &Path, data: &[u8]) -> Result<(), CallError> {
    if let Some(parent) = path.parent()
        && let Err(error) = fs::metadata(parent)
    {
        return Err(os_error(&error, path));
    }
    write_ours(path, PUBLIC, data).map_err(|error| os_error(&error, path))
}
