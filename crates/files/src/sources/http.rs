//! Files of web servers.

use std::path::PathBuf;

use halite_call::addresses::redacted;
use halite_call::{Call, CallError, FileClient, WebFile};

use super::fetch::{FetchRequest, local_sum};

/// Has a file of the web in the cache; one that is the file wanted is not
/// fetched again.
///
/// # Errors
/// When the server does not give it.
pub(crate) fn cache(call: &Call<'_>, wanted: &FetchRequest<'_>) -> Result<PathBuf, CallError> {
    if !WebFile::is_web(wanted.url) {
        return Err(CallError::command(format!(
            "Failed to cache {}: sources of this kind are not supported by this minion",
            redacted(wanted.url)
        )));
    }
    let client = FileClient::new(call.ctx);
    let to = client.web_path(wanted.url, wanted.saltenv);
    if let Some(sum) = wanted.sum
        && to.is_file()
        && local_sum(&to, &sum.hash_type).as_deref() == Some(sum.hsum.as_str())
    {
        return Ok(to);
    }
    let file = WebFile {
        url: wanted.url,
        saltenv: wanted.saltenv,
        use_etag: wanted.use_etag,
        verify_ssl: wanted.verify_ssl,
    };
    Ok(client.cache_web(&file, call.cancel())?)
}
