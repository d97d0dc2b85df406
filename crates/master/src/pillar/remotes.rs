//! Finds invalid options of git remotes, for files and for pillars.

use halite_config::{ConfigError, MasterConfig};
use halite_git::{OptionsError, Remote};
use halite_pillar::unusable_git_remotes;

use crate::files::settings::GITFS;

/// The options of git remotes that cannot be used, each with its place.
pub fn unusable_remotes(config: &MasterConfig) -> Vec<ConfigError> {
    let opts = config.opts();
    let serves = config.fileserver_backend.0.iter().any(|name| name == GITFS);
    let files = serves.then(|| Remote::gitfs(opts).err()).flatten();
    let files = files.map(|error| ("gitfs_remotes", error.index, error));
    let pillars = unusable_git_remotes(opts).into_iter();
    let pillars = pillars.map(|(at, error)| ("ext_pillar", Some(at), error));
    let all = files.into_iter().chain(pillars);
    let fault = |(list, item, error): (&str, Option<usize>, OptionsError)| {
        // An option of all remotes stands by itself.
        let is_of_all =
            error.option.starts_with("gitfs_") || error.option.starts_with("git_pillar_");
        let option = if is_of_all {
            error.option.as_str()
        } else {
            list
        };
        config.unusable(option, item, &error.option, error.to_string())
    };
    all.map(fault).collect()
}
