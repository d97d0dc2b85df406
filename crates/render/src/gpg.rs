//! Decrypts texts by the `gpg` program.
//!
//! Invariant: no plain text leaves through an error or a log, and `gpg` never
//! prompts.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::mpsc;
use std::time::Duration;

use halite_process::child;
use halite_proto::python;
use halite_proto::{Map, Value};

use crate::error::{ErrorKind, RenderError};
use crate::filters::find_program;
use crate::limits::{GPG_OUTPUT_BYTES_MAX, GPG_SECONDS_MAX};
use crate::render_context::RenderContext;

const BEGIN: &str = "-----BEGIN PGP MESSAGE-----";
const END: &str = "-----END PGP MESSAGE-----";

/// Decrypts the texts of some data.
pub(crate) struct Gpg {
    program: PathBuf,
    keydir: PathBuf,
    must_succeed: bool,
    translate_newlines: bool,
    /// What was decrypted already: the same text often stands in many places.
    known: HashMap<String, Vec<u8>>,
}

impl Gpg {
    /// With `translate_newlines`, `\n` written as two characters is a newline.
    pub(crate) fn new(
        ctx: &dyn RenderContext,
        translate_newlines: bool,
    ) -> Result<Self, RenderError> {
        let program = find_program("gpg")
            .ok_or_else(|| RenderError::new(ErrorKind::Renderer, "GPG unavailable"))?;
        Ok(Self {
            program,
            keydir: keydir(ctx),
            must_succeed: ctx
                .opts()
                .get("gpg_decrypt_must_succeed")
                .is_none_or(Value::is_true),
            translate_newlines,
            known: HashMap::new(),
        })
    }

    /// The data with every text decrypted that holds an encrypted message;
    /// keys of maps stay as they are.
    pub(crate) fn data(&mut self, value: Value) -> Result<Value, RenderError> {
        Ok(match value {
            Value::Str(text) => self.text(text)?,
            Value::Bytes(bytes) => match String::from_utf8(bytes) {
                Ok(text) => self.text(text)?,
                Err(error) => Value::Bytes(error.into_bytes()),
            },
            Value::List(items) => {
                let items: Result<Vec<Value>, _> =
                    items.into_iter().map(|item| self.data(item)).collect();
                items?.into()
            }
            Value::Map(map) => {
                let mut plain = Map::with_capacity(map.len());
                for (key, value) in map {
                    plain.insert(key, self.data(value)?);
                }
                plain.into()
            }
            other => other,
        })
    }

    /// A text with its encrypted messages decrypted.
    pub(crate) fn text(&mut self, text: String) -> Result<Value, RenderError> {
        let text = if self.translate_newlines {
            text.replace("\\n", "\n")
        } else {
            text
        };
        let mut plain = Vec::new();
        let mut rest = text.as_str();
        let mut found = false;
        while let Some(start) = rest.find(BEGIN) {
            let Some(end) = rest[start..].find(END) else {
                break;
            };
            let end = start + end + END.len();
            plain.extend_from_slice(&rest.as_bytes()[..start]);
            plain.extend(self.message(&rest[start..end])?);
            rest = &rest[end..];
            found = true;
        }
        if !found {
            return Ok(text.into());
        }
        plain.extend_from_slice(rest.as_bytes());
        // A text that was written over several lines in YAML ends with one.
        while plain.last() == Some(&b'\n') {
            plain.pop();
        }
        Ok(Value::text_or_bytes(plain))
    }

    fn message(&mut self, message: &str) -> Result<Vec<u8>, RenderError> {
        let message = message.replace("\\n", "\n");
        if let Some(plain) = self.known.get(&message) {
            return Ok(plain.clone());
        }
        let (plain, said) = self.run(&message)?;
        if plain.is_empty() {
            let text = format!(
                "Could not decrypt cipher {}, received: {}",
                python::repr(&Value::Bytes(message.clone().into_bytes())),
                python::repr(&Value::Bytes(said)),
            );
            if self.must_succeed {
                return Err(RenderError::new(ErrorKind::Decrypt, text));
            }
            tracing::warn!("{text}");
            return Ok(message.into_bytes());
        }
        self.known.insert(message, plain.clone());
        Ok(plain)
    }

    /// What `gpg` gives, and what it says.
    fn run(&self, message: &str) -> Result<(Vec<u8>, Vec<u8>), RenderError> {
        let failed = |what: &str| {
            let message = format!("{}: {what}", self.program.display());
            RenderError::new(ErrorKind::Decrypt, message)
        };
        let mut child = child::command(&self.program)
            .arg("--homedir")
            .arg(&self.keydir)
            .args(["--status-fd", "2", "--no-tty", "--batch", "-d"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| failed(&error.to_string()))?;
        let (stdin, stdout, stderr) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (done, finished) = mpsc::channel();
        let input = message.as_bytes().to_vec();
        std::thread::spawn(move || {
            if let Some(mut stdin) = stdin {
                // A program that ends early says why on its own.
                let _ = stdin.write_all(&input);
            }
        });
        let said = std::thread::spawn(move || read(stderr));
        std::thread::spawn(move || done.send(read(stdout)));
        let plain = finished.recv_timeout(Duration::from_secs(GPG_SECONDS_MAX));
        if plain.is_err() {
            let _ = child.kill();
        }
        let status = child.wait().map_err(|error| failed(&error.to_string()))?;
        let Ok(plain) = plain else {
            return Err(failed(&format!("no answer within {GPG_SECONDS_MAX} s")));
        };
        let said = said.join().unwrap_or_default();
        tracing::debug!(%status, "gpg is done");
        Ok((plain, said))
    }
}

fn read(from: Option<impl Read>) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(from) = from {
        let _ = from.take(GPG_OUTPUT_BYTES_MAX).read_to_end(&mut bytes);
    }
    bytes
}

/// `gpg_keydir`, which may be set anywhere that `config.get` looks, else
/// `gpgkeys` beside the configuration.
fn keydir(ctx: &dyn RenderContext) -> PathBuf {
    const OPTION: &str = "gpg_keydir";
    let opts = ctx.opts();
    let text = |value: &Value| {
        value
            .as_str()
            .filter(|text| !text.is_empty())
            .map(PathBuf::from)
    };
    let set = opts.get(OPTION).and_then(text).or_else(|| {
        if !ctx.has_function("config.get") {
            return None;
        }
        let found = ctx.call("config.get", &mut vec![OPTION.into()], &mut Map::new());
        found.ok().and_then(|found| text(&found.value))
    });
    set.unwrap_or_else(|| {
        let dir = opts.get("config_dir").and_then(text).or_else(|| {
            let file = opts.get("conf_file").and_then(text)?;
            Some(file.parent()?.to_path_buf())
        });
        dir.unwrap_or_else(|| "/etc/salt".into()).join("gpgkeys")
    })
}
