//! Keys that may sign in as a user, and hosts that are known: the execution
//! module `ssh`.

mod authorized;
mod files;
mod key;
pub(crate) mod known_hosts;

use halite_call::{Function, Module};

pub(crate) use authorized::{check, remove, set};
pub(crate) use key::{Key, kind, options_of, parse, split_line};

const CHECK: &str = "(user, key, enc, comment, options, config='.ssh/authorized_keys', cache_keys=None, fingerprint_hash_type=None)";
const SET: &str = "(user, key, enc='ssh-rsa', comment='', options=None, config='.ssh/authorized_keys', cache_keys=None, fingerprint_hash_type=None)";

pub(crate) const MODULE: Module = Module {
    name: "ssh",
    functions: &[
        Function::new(
            "ssh.auth_keys",
            "(user=None, config='.ssh/authorized_keys', fingerprint_hash_type=None)",
            authorized::auth_keys,
            "The keys that may sign in as a user.",
        ),
        Function::new(
            "ssh.check_key",
            CHECK,
            authorized::check_key,
            "Whether a key is to be added, updated or there.",
        ),
        Function::new(
            "ssh.check_key_file",
            "(user, source, config='.ssh/authorized_keys', saltenv='base', fingerprint_hash_type=None)",
            files::check_key_file,
            "Whether the keys of a file are to be added, updated or there.",
        ),
        Function::new(
            "ssh.check_known_host",
            "(user=None, hostname=None, key=None, fingerprint=None, config=None, port=None, fingerprint_hash_type=None)",
            known_hosts::check_known_host,
            "Whether a host is to be added to those that are known, updated or there.",
        ),
        Function::new(
            "ssh.get_known_host_entries",
            "(user, hostname, config=None, port=None, fingerprint_hash_type=None)",
            known_hosts::get_known_host_entries,
            "The keys by which a host is known.",
        ),
        Function::new(
            "ssh.hash_known_hosts",
            "(user=None, config=None)",
            known_hosts::hash_known_hosts,
            "Hashes the names of the hosts that are known.",
        ),
        Function::new(
            "ssh.host_keys",
            "(keydir=None, private=True, certs=True)",
            files::host_keys,
            "The keys of this host.",
        ),
        Function::new(
            "ssh.key_is_encrypted",
            "(key)",
            files::key_is_encrypted,
            "Whether a private key needs a passphrase.",
        ),
        Function::new(
            "ssh.recv_known_host_entries",
            "(hostname, enc=None, port=None, hash_known_hosts=True, timeout=5, fingerprint_hash_type=None)",
            known_hosts::recv_known_host_entries,
            "Asks a host for its keys.",
        ),
        Function::new(
            "ssh.rm_auth_key",
            "(user, key, config='.ssh/authorized_keys', fingerprint_hash_type=None)",
            authorized::rm_auth_key,
            "Removes a key of a user.",
        ),
        Function::new(
            "ssh.rm_auth_key_from_file",
            "(user, source, config='.ssh/authorized_keys', saltenv='base', fingerprint_hash_type=None)",
            files::rm_auth_key_from_file,
            "Removes the keys of a file from those of a user.",
        ),
        Function::new(
            "ssh.rm_known_host",
            "(user=None, hostname=None, config=None, port=None)",
            known_hosts::rm_known_host,
            "Removes a host from those that are known.",
        ),
        Function::new(
            "ssh.set_auth_key",
            SET,
            authorized::set_auth_key,
            "Adds a key of a user, or changes it.",
        ),
        Function::new(
            "ssh.set_auth_key_from_file",
            "(user, source, config='.ssh/authorized_keys', saltenv='base', fingerprint_hash_type=None, **kwargs)",
            files::set_auth_key_from_file,
            "Adds the keys of a file to those of a user.",
        ),
        Function::new(
            "ssh.set_known_host",
            "(user=None, hostname=None, fingerprint=None, key=None, port=None, enc=None, config=None, hash_known_hosts=True, timeout=5, fingerprint_hash_type=None)",
            known_hosts::set_known_host,
            "Makes a host known by a key, or by those it has if asked for them.",
        ),
        Function::new(
            "ssh.user_keys",
            "(user=None, pubfile=None, prvfile=None)",
            files::user_keys,
            "The keys of users.",
        ),
    ],
};
