//! `--renew-master-key`: a new key pair for the master, signed by the old one.

use std::io::BufRead;

use halite_crypto::fingerprint_path;
use halite_key::{PkiDir, renew_master_key};

use super::{ActionError, Program};
use crate::{Exit, Screen};

impl Program<'_> {
    pub(super) fn renew_master_key(
        &self,
        screen: &mut Screen<'_>,
        mut input: impl BufRead,
    ) -> Result<Exit, ActionError> {
        let settings = &self.settings;
        if !self.options.yes {
            screen.text(
                "The master gets a new key pair, signed by the old one. Minions of Halite \
                 follow; those of Salt need the new minion_master.pub first.\nProceed? [N/y] ",
            );
            let mut answer = String::new();
            let read = input.read_line(&mut answer);
            let agreed = answer.trim().to_lowercase().starts_with('y');
            if !matches!(read, Ok(count) if count > 0) || !agreed {
                screen.line("Nothing was changed");
                return Ok(Exit::Failure);
            }
        }
        let pki = PkiDir::open(&settings.pki_dir, settings.owner)?;
        let (id, bits) = (&settings.master_id, self.options.keysize);
        let renewed = renew_master_key(&pki, id, bits, settings.key_pass.as_ref())?;
        let finger = |pem: &str| fingerprint_path(pem.as_bytes(), settings.hash_type);
        screen.line(&format!("The old key: {}", finger(&renewed.old_pem)));
        screen.line(&format!("The new key: {}", finger(&renewed.new_pem)));
        screen.line(&format!(
            "The old pair's private key is kept in {}",
            renewed.kept.display()
        ));
        screen.line("Restart the master. Other masters with the same key need these files first:");
        for file in &renewed.files {
            screen.line(&format!("    {}", file.display()));
        }
        if settings.stored_signature {
            screen.line("The stored signature is of the old key: make it anew (--gen-signature)");
        }
        Ok(Exit::Ok)
    }
}
