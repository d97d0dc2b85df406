//! What single options mean, where that takes more than a field.

use std::time::Duration;

use halite_config::{IpcMode, MasterConfig};
use halite_crypto::{HashType, SigAlgo};
use halite_fileserver::{FileServerOptions, RootsOptions};
use halite_key::AutosignOptions;
use halite_modules::extensions::Engine;
use halite_proto::Value;
use halite_transport::fleet::KeepAlive;

use super::{ExternalAuth, KeySigning, LocalPorts};
use crate::access::logins;
use crate::core::rules::Rules;
use crate::error::StartError;
use crate::pillar::tops::Tops;

pub(super) fn clamped(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

pub(super) fn clamped_i32(number: u64) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}

pub(super) fn local_ports(config: &MasterConfig) -> Option<LocalPorts> {
    const PUBLICATIONS_IN_DEFAULT: u16 = 4514;
    let publications_in = config
        .opts()
        .get("tcp_master_publish_pull")
        .and_then(Value::as_i64)
        .and_then(|port| u16::try_from(port).ok());
    (config.ipc_mode == IpcMode::Tcp).then(|| LocalPorts {
        events_out: config.tcp_master_pub_port.0,
        events_in: config.tcp_master_pull_port.0,
        publications_in: publications_in.unwrap_or(PUBLICATIONS_IN_DEFAULT),
    })
}

pub(super) fn keep_alive(config: &MasterConfig) -> KeepAlive {
    let whole = |number: i64| i32::try_from(number).unwrap_or(-1);
    KeepAlive {
        on: config.tcp_keepalive,
        idle_s: i32::try_from(config.tcp_keepalive_idle.duration().as_secs()).unwrap_or(-1),
        count: whole(config.tcp_keepalive_cnt),
        interval_s: whole(config.tcp_keepalive_intvl),
    }
}

pub(super) fn key_signing(config: &MasterConfig) -> KeySigning {
    if !config.master_sign_pubkey {
        KeySigning::Off
    } else if config.master_use_pubkey_signature {
        KeySigning::Stored(config.master_pubkey_signature.clone())
    } else {
        KeySigning::Key(config.master_sign_key_name.clone())
    }
}

pub(super) fn publish_signing(config: &MasterConfig) -> Result<Option<SigAlgo>, StartError> {
    if !config.sign_pub_messages {
        return Ok(None);
    }
    SigAlgo::parse(&config.publish_signing_algorithm)
        .map(Some)
        .map_err(|error| StartError::Option {
            option: "publish_signing_algorithm",
            why: error.to_string(),
        })
}

pub(super) fn hash_type(config: &MasterConfig) -> Result<HashType, StartError> {
    HashType::parse(&config.hash_type.0).map_err(|error| StartError::Option {
        option: "hash_type",
        why: error.to_string(),
    })
}

pub(super) fn autosign(config: &MasterConfig) -> AutosignOptions {
    const MINUTE_S: u64 = 60;
    let lifetime = config.autosign_timeout.saturating_mul(MINUTE_S);
    AutosignOptions {
        auto_accept: config.auto_accept,
        autosign_file: config.autosign_file.clone(),
        autoreject_file: config.autoreject_file.clone(),
        autosign_grains_dir: config.autosign_grains_dir.clone(),
        stub_lifetime: (lifetime > 0).then(|| Duration::from_secs(lifetime)),
        permissive_pki_access: config.permissive_pki_access,
    }
}

pub(super) fn files(config: &MasterConfig) -> Result<FileServerOptions, StartError> {
    // Where Salt has it.
    let times = || config.cachedir.join("roots").join("mtime_map");
    let roots = RootsOptions {
        file_roots: config
            .file_roots
            .iter()
            .map(|(env, dirs)| (env.clone(), dirs.clone()))
            .collect(),
        hash_type: hash_type(config)?,
        follow_symlinks: config.fileserver_followsymlinks,
        ignore_symlinks: config.fileserver_ignoresymlinks,
        ignore_regex: config.file_ignore_regex.0.clone(),
        ignore_glob: config.file_ignore_glob.0.clone(),
        times_file: config.fileserver_events.then(times),
    };
    Ok(FileServerOptions {
        backends: config.fileserver_backend.0.clone(),
        buffer_bytes: clamped(config.file_buffer_size),
        roots,
    })
}

pub(super) fn external_auth(config: &MasterConfig) -> Result<ExternalAuth, StartError> {
    let wrong = |why| StartError::Option {
        option: "external_auth",
        why,
    };
    let rules = config.external_auth.0.clone();
    logins::check(&rules).map_err(wrong)?;
    Ok(ExternalAuth {
        directory: logins::directory(&rules, config.opts()).map_err(wrong)?,
        rules,
        token_expire_s: config.token_expire,
        token_expire_override: config.token_expire_user_override.0.clone(),
        keep_acl: config.keep_acl_in_token,
        acl_module: config.eauth_acl_module.clone(),
        is_permissive: config.permissive_acl,
    })
}

pub(super) fn engines(config: &MasterConfig) -> Result<Vec<Engine>, StartError> {
    crate::daemon::engines::read(&config.engines.0).map_err(|why| StartError::Option {
        option: "engines",
        why,
    })
}

pub(super) fn tops(config: &MasterConfig) -> Result<Tops, StartError> {
    Tops::read(&config.master_tops.0).map_err(|why| StartError::Option {
        option: "master_tops",
        why,
    })
}

pub(super) fn reactor_rules(config: &MasterConfig) -> Rules {
    let rules = config.reactor.0.iter().cloned();
    Rules::new(rules.map(|rule| (rule.tag, rule.files)))
}

pub(super) fn texts(value: Option<&Value>) -> Vec<String> {
    value
        .and_then(Value::as_list)
        .unwrap_or_default()
        .iter()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect()
}
