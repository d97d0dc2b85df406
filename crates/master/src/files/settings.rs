//! Options about the files for minions and from them.

use std::time::Duration;

use halite_config::MasterConfig;
use halite_crypto::HashType;
use halite_fileserver::{
    FileServerOptions, GitfsOptions, InboxOptions, MinionFsOptions, RootsOptions,
};

use crate::error::StartError;
use crate::settings::{clamped, hash_type};

/// What is read of the configuration.
pub(crate) struct FileSettings {
    pub(crate) server: FileServerOptions,
    pub(crate) inbox: InboxOptions,
    /// `fileserver_events`.
    pub(crate) fires_changes: bool,
    /// `roots_update_interval`.
    pub(crate) update_interval: Duration,
}

impl FileSettings {
    /// Reads the options.
    ///
    /// # Errors
    /// When `hash_type` names no hash.
    pub(crate) fn from_config(config: &MasterConfig) -> Result<Self, StartError> {
        Ok(Self {
            server: server(config)?,
            inbox: InboxOptions {
                on: config.file_recv,
                bytes_max: config.file_recv_max_size.saturating_mul(1024 * 1024),
                ..InboxOptions::new(&config.cachedir)
            },
            fires_changes: config.fileserver_events,
            update_interval: Duration::from_secs(config.roots_update_interval.max(1)),
        })
    }
}

fn server(config: &MasterConfig) -> Result<FileServerOptions, StartError> {
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
    let mut backends = config.fileserver_backend.0.clone();
    let is_served = |name: &String| config.file_recv || name != MINIONFS;
    if !backends.iter().all(is_served) {
        tracing::warn!("minionfs serves nothing while file_recv is off");
        backends.retain(is_served);
    }
    let gitfs = match backends.iter().any(|name| name == GITFS) {
        true => {
            GitfsOptions::from_opts(config.opts(), roots.hash_type).map_err(StartError::Files)?
        }
        false => GitfsOptions::default(),
    };
    Ok(FileServerOptions {
        backends,
        gitfs,
        buffer_bytes: clamped(config.file_buffer_size),
        minionfs: minionfs(config, roots.hash_type),
        roots,
    })
}

/// The source of files from git.
pub(crate) const GITFS: &str = "gitfs";

/// The source of the files that minions have pushed. As in Salt, it is missing if pushing
/// is disabled.
const MINIONFS: &str = "minionfs";

fn minionfs(config: &MasterConfig, hash_type: HashType) -> MinionFsOptions {
    MinionFsOptions {
        cachedir: config.cachedir.clone(),
        env: config.minionfs_env.clone(),
        mountpoint: config.minionfs_mountpoint.clone(),
        whitelist: config.minionfs_whitelist.0.clone(),
        blacklist: config.minionfs_blacklist.0.clone(),
        hash_type,
        ignore_regex: config.file_ignore_regex.0.clone(),
        ignore_glob: config.file_ignore_glob.0.clone(),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use halite_config::{LoadOptions, load_master};
    use halite_fileserver::{Backends, FileServer};
    use halite_proto::SaltEnv;

    use super::*;

    /// The files of all environments that a master with these lines in its file serves of
    /// what `web1` and `db1` have pushed, each with its environment.
    fn served(lines: &str) -> Vec<String> {
        let dir = tempfile::tempdir().unwrap();
        let cache = dir.path().join("cache");
        for id in ["web1", "db1"] {
            let pushed = cache.join("minions").join(id).join("files");
            fs::create_dir_all(&pushed).unwrap();
            fs::write(pushed.join("motd"), id).unwrap();
        }
        let text = format!(
            "cachedir: {}\nfileserver_backend: [minionfs]\n{lines}",
            cache.display()
        );
        fs::write(dir.path().join("master"), text).unwrap();
        let options = LoadOptions {
            config_dir: Some(dir.path().to_owned()),
            ..LoadOptions::default()
        };
        let config = load_master(&options).unwrap().config;
        let settings = FileSettings::from_config(&config).unwrap();
        let server = FileServer::open(&settings.server).unwrap();
        let of_env = |env: String| {
            let lists = server.lists(&SaltEnv::parse(env.as_str()).unwrap(), &Backends::All);
            let name = |file: &String| format!("{env}:{file}");
            lists.files.iter().map(name).collect::<Vec<_>>()
        };
        server
            .envs(&Backends::All)
            .into_iter()
            .flat_map(of_env)
            .collect()
    }

    #[test]
    fn each_option_of_minionfs_counts() {
        let both = ["base:db1/motd", "base:web1/motd"];
        assert_eq!(served("file_recv: True\n"), both);
        for (option, expected) in [
            (
                "minionfs_env: pushed",
                &["pushed:db1/motd", "pushed:web1/motd"][..],
            ),
            ("minionfs_whitelist: ['web*']", &["base:web1/motd"]),
            ("minionfs_whitelist: db1", &["base:db1/motd"]),
            ("minionfs_blacklist: ['web*']", &["base:db1/motd"]),
            (
                "minionfs_mountpoint: salt://m",
                &["base:m/db1/motd", "base:m/web1/motd"],
            ),
        ] {
            let served = served(&format!("file_recv: True\n{option}\n"));
            assert_eq!(served, expected, "{option}");
        }
        assert!(served("file_recv: False\n").is_empty());
    }
}
