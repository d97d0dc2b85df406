//! `key.*`: fingerprints of the keys that the minion trusts.

use std::fs;

use halite_crypto::{HashType, fingerprint_path};

use halite_call::{Call, CallError, CallResult, Function, Module};

pub(super) const MODULE: Module = Module {
    name: "key",
    functions: &[
        Function::new(
            "key.finger",
            "(hash_type=None)",
            finger,
            "The fingerprint of the minion's public key.",
        ),
        Function::new(
            "key.finger_master",
            "(hash_type=None)",
            finger_master,
            "The fingerprint of the master's public key, as the minion has it.",
        ),
    ],
};

fn finger(call: &Call<'_>) -> CallResult {
    of_file(call, "minion.pub")
}

fn finger_master(call: &Call<'_>) -> CallResult {
    of_file(call, "minion_master.pub")
}

fn of_file(call: &Call<'_>, name: &str) -> CallResult {
    let hash = call
        .text_opt("hash_type")
        .or_else(|| call.opt_text("hash_type"))
        .unwrap_or_else(|| "sha256".to_owned());
    let hash_type = HashType::parse(&hash).map_err(|_| {
        CallError::exception(
            "AttributeError",
            format!("module 'hashlib' has no attribute '{hash}'"),
        )
    })?;
    let directory = call
        .opt_text("pki_dir")
        .unwrap_or_else(|| "/etc/salt/pki/minion".to_owned());
    // A key that is not there has no fingerprint, as in Salt.
    Ok(match fs::read(format!("{directory}/{name}")) {
        Ok(bytes) => fingerprint_path(&bytes, hash_type).into(),
        Err(_) => "".into(),
    })
}
