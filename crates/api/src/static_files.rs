//! The administrator's files: `static`, `app` and `favicon`.
//!
//! Invariant: a path of a request never leaves the directory, also not by a link.

use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Component, Path, PathBuf};
use std::time::SystemTime;

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimePrinter;
use nix::fcntl::OFlag;
use tokio::task::spawn_blocking;

use crate::fault::Fault;
use crate::limits::{FILE_BYTES_MAX, FILE_PIECE};

/// The types of files, by the ends of their names.
const TYPES: [(&str, &str); 19] = [
    ("css", "text/css"),
    ("csv", "text/csv"),
    ("gif", "image/gif"),
    ("htm", "text/html"),
    ("html", "text/html"),
    ("ico", "image/vnd.microsoft.icon"),
    ("jpeg", "image/jpeg"),
    ("jpg", "image/jpeg"),
    ("js", "text/javascript"),
    ("json", "application/json"),
    ("map", "application/json"),
    ("mjs", "text/javascript"),
    ("png", "image/png"),
    ("svg", "image/svg+xml"),
    ("txt", "text/plain"),
    ("wasm", "application/wasm"),
    ("webp", "image/webp"),
    ("woff", "font/woff"),
    ("woff2", "font/woff2"),
];

/// The file below `root` for the path of a request.
///
/// # Errors
/// With 403 for a path that leads out, and 404 where there is no file.
pub(crate) async fn below(root: &Path, path: String, shown: &str) -> Result<PathBuf, Fault> {
    let (root, shown) = (root.to_owned(), shown.to_owned());
    blocking(move || found_below(&root, &path, &shown)).await?
}

fn found_below(root: &Path, path: &str, shown: &str) -> Result<PathBuf, Fault> {
    let forbidden = || {
        Fault::new(
            StatusCode::FORBIDDEN,
            "Request forbidden -- authorization will not help",
        )
    };
    let relative = Path::new(path);
    let is_plain = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
    if path.contains('\0') || !relative.components().all(is_plain) {
        return Err(forbidden());
    }
    let missing = |_| Fault::no_page(shown);
    let root = fs::canonicalize(root).map_err(missing)?;
    let found = fs::canonicalize(root.join(relative)).map_err(missing)?;
    match found.starts_with(&root) {
        true => Ok(found),
        false => Err(forbidden()),
    }
}

/// The answer with a file; `headers` are those of the request.
///
/// # Errors
/// With 404 where there is no file that can be read.
pub(crate) async fn answer(
    path: &Path,
    shown: &str,
    headers: &HeaderMap,
) -> Result<Response, Fault> {
    let missing = |_| Fault::no_page(shown);
    let opened = path.to_owned();
    let (file, meta) = blocking(move || open(&opened)).await?.map_err(missing)?;
    if !meta.is_file() || meta.len() > FILE_BYTES_MAX {
        return Err(Fault::no_page(shown));
    }
    let modified = meta.modified().ok().and_then(http_date);
    let asked = headers.get(header::IF_MODIFIED_SINCE);
    let is_known = asked.is_some() && asked == modified.as_ref();
    let mut response = if is_known {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        let pieces = stream::try_unfold((file, meta.len()), piece);
        let mut response = Body::from_stream(pieces).into_response();
        let length = HeaderValue::from(meta.len());
        response
            .headers_mut()
            .insert(header::CONTENT_LENGTH, length);
        response
    };
    let answered = response.headers_mut();
    answered.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind(path)));
    if let Some(modified) = modified {
        answered.insert(header::LAST_MODIFIED, modified);
    }
    Ok(response)
}

fn open(path: &Path) -> io::Result<(File, Metadata)> {
    // What is no file must not be waited for.
    let flags = OFlag::O_NONBLOCK.bits();
    let file = File::options().read(true).custom_flags(flags).open(path)?;
    let meta = file.metadata()?;
    Ok((file, meta))
}

/// A file, and how much of it is to be sent yet.
type Rest = (File, u64);

/// The next piece of a file, once the one before it is on its way.
async fn piece((mut file, left): Rest) -> io::Result<Option<(Bytes, Rest)>> {
    let size = usize::try_from(left).unwrap_or(FILE_PIECE).min(FILE_PIECE);
    if size == 0 {
        return Ok(None);
    }
    let read = move || {
        let mut bytes = vec![0; size];
        // A file that has become shorter breaks the answer off.
        file.read_exact(&mut bytes).map(|()| (bytes, file))
    };
    let (bytes, file) = spawn_blocking(read).await.map_err(io::Error::other)??;
    Ok(Some((bytes.into(), (file, left - size as u64))))
}

/// Does what waits for a disk where it holds up nobody else.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Fault> {
    spawn_blocking(work).await.map_err(|error| {
        tracing::error!("could not look for a file: {error}");
        let why = "The file could not be looked for.";
        Fault::new(StatusCode::INTERNAL_SERVER_ERROR, why)
    })
}

fn kind(path: &Path) -> &'static str {
    let end = path.extension().and_then(|end| end.to_str());
    let end = end.unwrap_or_default().to_ascii_lowercase();
    let known = TYPES.iter().find(|(known, _)| *known == end);
    known.map_or("application/octet-stream", |(_, kind)| kind)
}

/// A time as HTTP writes it.
pub(crate) fn http_date(time: SystemTime) -> Option<HeaderValue> {
    let time = Timestamp::try_from(time).ok()?;
    let mut text = String::new();
    let printer = DateTimePrinter::new();
    printer.print_timestamp_rfc9110(&time, &mut text).ok()?;
    HeaderValue::from_str(&text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    use http_body_util::BodyExt;

    #[tokio::test]
    async fn nothing_outside_of_the_directory_is_served() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("static");
        fs::create_dir_all(root.join("sub")).unwrap();
        fs::write(root.join("sub/a.js"), "1").unwrap();
        fs::write(dir.path().join("secret"), "x").unwrap();
        std::os::unix::fs::symlink(dir.path().join("secret"), root.join("link")).unwrap();
        let status =
            |path: &str| found_below(&root, path, path).map_err(|fault| fault.status.as_u16());
        assert!(status("sub/a.js").is_ok());
        assert_eq!(status("nope"), Err(404));
        for path in [
            "../secret",
            "sub/../../secret",
            "/etc/passwd",
            "link",
            "a\0b",
        ] {
            assert_eq!(status(path), Err(403), "{path}");
        }
        let file = status("sub/a.js").unwrap();
        let served = answer(&file, "/static/sub/a.js", &HeaderMap::new()).await;
        let served = served.unwrap();
        assert_eq!(served.headers()["content-type"], "text/javascript");
        let since = served.headers()["last-modified"].clone();
        let again = HeaderMap::from_iter([(header::IF_MODIFIED_SINCE, since)]);
        let again = answer(&file, "/static/sub/a.js", &again).await.unwrap();
        assert_eq!(again.status(), StatusCode::NOT_MODIFIED);
        let none = HeaderMap::new();
        assert!(answer(&root, "/static/", &none).await.is_err());
    }

    #[tokio::test]
    async fn a_file_is_read_in_pieces_and_whole() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("large.txt");
        let bytes: Vec<u8> = (0..=250).cycle().take(FILE_PIECE * 2 + 7).collect();
        fs::write(&path, &bytes).unwrap();
        let served = answer(&path, "/large", &HeaderMap::new()).await.unwrap();
        let length = served.headers()["content-length"].to_str().unwrap();
        assert_eq!(length, bytes.len().to_string());
        let mut body = served.into_body();
        let first = body.frame().await.unwrap().unwrap().into_data().unwrap();
        assert_eq!(first.len(), FILE_PIECE);
        let rest = body.collect().await.unwrap().to_bytes();
        assert_eq!([first, rest].concat(), bytes);

        let served = answer(&path, "/large", &HeaderMap::new()).await.unwrap();
        fs::write(&path, "short").unwrap();
        assert!(served.into_body().collect().await.is_err());
    }
}
