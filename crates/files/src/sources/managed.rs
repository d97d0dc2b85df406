//! The wanted content of a managed file: found, checked, rendered.

use std::fs;
use std::path::{Path, PathBuf};

use halite_call::{Call, CallError, python};
use halite_proto::{Map, Value};

use super::sums::{Names, Sum};
use super::template::{Template, TemplateError};
use super::{Scheme, fetch, local_path, scheme, sums, template};
use crate::core::write::Body;
use halite_call::os_error;

/// What is known of the file and where its content comes from.
#[derive(Clone, Debug, Default)]
pub(crate) struct Request<'a> {
    /// The file.
    pub(crate) name: &'a str,
    /// The template language, if the source is a template.
    pub(crate) template: Option<String>,
    /// The source, none or a text.
    pub(crate) source: Value,
    /// Its hash, none or a text.
    pub(crate) source_hash: Value,
    /// Its name in a file of hashes.
    pub(crate) source_hash_name: Option<String>,
    /// The environment of `salt://`.
    pub(crate) saltenv: &'a str,
    /// `user`, `group`, `mode` and `attrs`, which templates see.
    pub(crate) about: Map,
    /// The variables of the template.
    pub(crate) context: Value,
    /// Their defaults.
    pub(crate) defaults: Value,
    /// Take what a server gives without a hash.
    pub(crate) skip_verify: bool,
    /// Check certificates.
    pub(crate) verify_ssl: bool,
    /// Ask servers whether a cached file is still theirs.
    pub(crate) use_etag: bool,
}

/// The content, or why there is none.
#[derive(Clone, Debug, Default)]
pub(crate) struct Prepared {
    /// Where it comes from.
    pub(crate) source: Option<String>,
    /// The content, once it is here.
    pub(crate) body: Option<Body>,
    /// What the source's hash is.
    pub(crate) sum: Option<Sum>,
    /// The mode of the source.
    pub(crate) mode: Option<u32>,
    /// Why there is no content.
    pub(crate) complaint: Option<String>,
}

impl Prepared {
    fn complaint(source: &str, text: impl Into<String>) -> Self {
        Self {
            source: Some(source.to_owned()),
            complaint: Some(text.into()),
            ..Self::default()
        }
    }
}

/// Finds the source, checks what can be checked without fetching it, and
/// renders templates.
///
/// # Errors
/// When hashes are senseless or templates wrong.
pub(crate) fn prepare(call: &Call<'_>, request: &Request<'_>) -> Result<Prepared, CallError> {
    if !request.source.is_true() {
        return Ok(Prepared::default());
    }
    let source = python::str(&request.source);
    let mut prepared = match scheme(&source) {
        Scheme::Salt => {
            // Without either, the file may be right as it is.
            let to_use = request.template.is_some() || !Path::new(request.name).exists();
            let found = fetch::hash_of(call, &source, request.saltenv, to_use)?;
            let Some((sum, mode)) = found else {
                let text = format!(
                    "Source file {source} not found in saltenv '{}'",
                    request.saltenv
                );
                return Ok(Prepared::complaint(&source, text));
            };
            Prepared {
                sum: Some(sum),
                mode,
                ..Prepared::default()
            }
        }
        Scheme::Local => local(call, request, &source)?,
        Scheme::Remote => remote(call, request, &source)?,
        Scheme::Other => {
            let text = format!("Local file source {source} does not exist");
            return Ok(Prepared::complaint(&source, text));
        }
    };
    prepared.source = Some(source);
    if prepared.complaint.is_none() && request.template.is_some() {
        rendered(call, request, &mut prepared)?;
    }
    Ok(prepared)
}

fn local(call: &Call<'_>, request: &Request<'_>, source: &str) -> Result<Prepared, CallError> {
    let path = PathBuf::from(local_path(source));
    if !path.exists() {
        let text = format!("Local file source {} does not exist", path.display());
        return Ok(Prepared::complaint(source, text));
    }
    if path.is_dir() {
        let error = std::io::Error::from_raw_os_error(nix::libc::EISDIR);
        return Err(os_error(&error, &path));
    }
    let sum = match given_hash(request) {
        _ if request.skip_verify => None,
        Some(hash) => match sum_of(call, request, source, &hash)? {
            Ok(sum) => Some(sum),
            Err(complaint) => return Ok(complaint),
        },
        None => None,
    };
    let data = fs::metadata(&path).map_err(|error| os_error(&error, &path))?;
    Ok(Prepared {
        sum,
        mode: Some(std::os::unix::fs::PermissionsExt::mode(&data.permissions()) & 0o7777),
        body: Some(Body::File(path)),
        ..Prepared::default()
    })
}

fn remote(call: &Call<'_>, request: &Request<'_>, source: &str) -> Result<Prepared, CallError> {
    let sum = match given_hash(request) {
        _ if request.skip_verify => None,
        Some(hash) => match sum_of(call, request, source, &hash)? {
            Ok(sum) => Some(sum),
            Err(complaint) => return Ok(complaint),
        },
        None if request.use_etag => None,
        None => {
            let text = format!(
                "Unable to verify upstream hash of source file {source}, please set source_hash or \
                 set skip_verify to True"
            );
            return Ok(Prepared::complaint(source, text));
        }
    };
    Ok(Prepared {
        sum,
        ..Prepared::default()
    })
}

/// The hash that the source should have, or what is wrong with it.
fn sum_of(
    call: &Call<'_>,
    request: &Request<'_>,
    source: &str,
    hash: &str,
) -> Result<Result<Sum, Prepared>, CallError> {
    match sums::of_source(call, names(request, source), hash, request.saltenv) {
        Ok(sum) => Ok(Ok(sum)),
        Err(CallError::Command(why)) => Ok(Err(Prepared::complaint(
            source,
            format!("Unable to manage file: {why}"),
        ))),
        Err(error) => Err(error),
    }
}

fn given_hash(request: &Request<'_>) -> Option<String> {
    request
        .source_hash
        .is_true()
        .then(|| python::str(&request.source_hash))
}

fn names<'a>(request: &'a Request<'_>, source: &'a str) -> Names<'a> {
    Names {
        file_name: request.name,
        source,
        source_hash_name: request.source_hash_name.as_deref(),
    }
}

fn rendered(
    call: &Call<'_>,
    request: &Request<'_>,
    prepared: &mut Prepared,
) -> Result<(), CallError> {
    let source = prepared.source.clone().unwrap_or_default();
    bring(call, request, prepared)?;
    let Some(body) = prepared.body.take() else {
        prepared.complaint = Some(format!("Source file '{source}' not found"));
        return Ok(());
    };
    let path = match &body {
        Body::File(path) => Some(path.clone()),
        Body::Bytes(_) => None,
    };
    let checked = !request.skip_verify && scheme(&source) != Scheme::Salt;
    if checked && let Some(wrong) = mismatch(request.name, prepared.sum.as_ref(), &body, &source) {
        prepared.complaint = Some(wrong);
        return Ok(());
    }
    let bytes = body
        .read()
        .map_err(|error| os_error(&error, path.as_deref().unwrap_or_else(|| "".as_ref())))?;
    let template = Template {
        engine: request.template.as_deref().unwrap_or_default(),
        name: Some(request.name),
        source: Some(&source),
        path: path.as_deref(),
        saltenv: request.saltenv,
        about: request.about.clone(),
        context: template::variables(&request.defaults, &request.context),
    };
    match template::render(call, &bytes, &template) {
        Ok(text) => {
            prepared.body = Some(Body::Bytes(text));
            prepared.sum = None;
            Ok(())
        }
        Err(error @ TemplateError::Unsupported(_)) => {
            prepared.complaint = Some(error.text());
            Ok(())
        }
        Err(error) => Err(CallError::exception("SaltRenderError", error.text())),
    }
}

/// Fetches the content if it is not here yet.
///
/// # Errors
/// When the master or server cannot be asked.
pub(crate) fn bring(
    call: &Call<'_>,
    request: &Request<'_>,
    prepared: &mut Prepared,
) -> Result<(), CallError> {
    let Some(source) = prepared
        .source
        .as_deref()
        .filter(|_| prepared.body.is_none())
    else {
        return Ok(());
    };
    let wanted = fetch::FetchRequest {
        url: source,
        saltenv: request.saltenv,
        sum: prepared.sum.as_ref(),
        use_etag: request.use_etag,
        verify_ssl: request.verify_ssl,
    };
    prepared.body = fetch::cache(call, &wanted)?.map(Body::File);
    Ok(())
}

/// What is wrong with content that is not what its hash says. `name` is what
/// that is of: a file that is new, or else the source.
pub(crate) fn mismatch(name: &str, sum: Option<&Sum>, body: &Body, source: &str) -> Option<String> {
    let sum = sum?;
    let Body::File(path) = body else { return None };
    let actual = fetch::local_sum(path, &sum.hash_type)?;
    if actual == sum.hsum {
        return None;
    }
    let text = format!(
        "Specified {} checksum for {name} ({}) does not match actual checksum ({actual})",
        sum.hash_type, sum.hsum
    );
    Some(if scheme(source) == Scheme::Local && name != source {
        text
    } else {
        format!(
            "{text}. If the 'source_hash' value refers to a remote file with multiple possible \
             matches, then it may be necessary to set 'source_hash_name'."
        )
    })
}
