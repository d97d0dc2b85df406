//! Makes key pairs and signatures.

use std::fs;
use std::path::Path;

use halite_crypto::{SigAlgo, fingerprint_path};
use halite_key::signing::{SIGN_KEY_NAME, signature_file_name};
use halite_key::{KeyStoreError, PkiDir, SignatureRequest, gen_keys, gen_signature};
use halite_proto::{Map, Value};

use super::{ActionError, Program};
use crate::{Exit, Screen};

impl Program<'_> {
    pub(super) fn gen_keys(
        &mut self,
        name: &str,
        screen: &mut Screen,
    ) -> Result<Exit, ActionError> {
        let dir = &self.options.gen_keys_dir;
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| ActionError::Io { path, source }
        };
        fs::create_dir_all(dir).map_err(failed(dir))?;
        let pair = gen_keys(dir, name, self.options.keysize, self.settings.owner, None)?;
        let public = fs::read(&pair.public_path).map_err(failed(&pair.public_path))?;
        let finger = fingerprint_path(&public, self.settings.hash_type);
        self.show_return(screen, finger.into());
        Ok(Exit::Ok)
    }

    pub(super) fn gen_signature(&mut self, screen: &mut Screen) -> Result<Exit, KeyStoreError> {
        let settings = &self.settings;
        let pki = PkiDir::open(&settings.pki_dir, settings.owner)?;
        let dir = self.options.signature_path.as_deref();
        let path = dir.map(|dir| dir.join(signature_file_name(&settings.master_id)));
        let request = SignatureRequest {
            private_path: self.options.r#priv.as_deref(),
            key_name: settings.sign_key_name.as_deref().unwrap_or(SIGN_KEY_NAME),
            public_path: self.options.r#pub.as_deref(),
            signature_path: path.as_deref(),
            id: &settings.master_id,
            auto_create: self.options.auto_create,
            bits: self.options.keysize,
            algorithm: SigAlgo::Pkcs1v15Sha1,
            passphrase: None,
        };
        gen_signature(&pki, &request)?;
        self.show_return(screen, true.into());
        Ok(Exit::Ok)
    }

    fn show_return(&mut self, screen: &mut Screen, value: Value) {
        let data = Map::from([("return", value)]).into();
        self.display.show(screen, &data, None, 0);
    }
}
