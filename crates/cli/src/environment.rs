//! The environment variables that the programs read.

use std::path::PathBuf;

/// What the environment says.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    /// `NO_COLOR`.
    pub no_color: Option<String>,
    /// `SUDO_USER`: who became root.
    pub sudo_user: Option<String>,
    /// `SALT_NO_PARSE`: names of arguments that stay text.
    pub no_parse: Option<String>,
    /// `SALT_SALTFILE`: a file with options.
    pub saltfile: Option<PathBuf>,
    /// `SALT_CONFIG_DIR`.
    pub config_dir: Option<PathBuf>,
    /// `SALT_MASTER_CONFIG`: the master's configuration file.
    pub master_config: Option<PathBuf>,
    /// `SALT_MINION_CONFIG`: the minion's configuration file.
    pub minion_config: Option<PathBuf>,
    /// `SALT_CLIENT_CONFIG`: options of who calls a program beside the master.
    pub client_config: Option<PathBuf>,
    /// The directory the program was started in.
    pub current_dir: Option<PathBuf>,
    /// `HOME`.
    pub home: Option<PathBuf>,
}

impl Environment {
    /// The environment of this process.
    pub fn of_process() -> Self {
        let text = |name| std::env::var(name).ok();
        let path = |name| std::env::var_os(name).map(PathBuf::from);
        Self {
            no_color: text("NO_COLOR"),
            sudo_user: text("SUDO_USER"),
            no_parse: text("SALT_NO_PARSE"),
            saltfile: path("SALT_SALTFILE"),
            config_dir: path("SALT_CONFIG_DIR"),
            master_config: path("SALT_MASTER_CONFIG"),
            minion_config: path("SALT_MINION_CONFIG"),
            client_config: path("SALT_CLIENT_CONFIG"),
            current_dir: std::env::current_dir().ok(),
            home: path("HOME"),
        }
    }
}
