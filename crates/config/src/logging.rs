//! The options about logs, for daemons and the programs beside them.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::setting::LevelName;
use crate::{MasterConfig, MinionConfig};

/// The options about logs, as far as they are given.
#[derive(Clone, Debug)]
pub struct Logging {
    /// `log_level`.
    pub level: LevelName,
    /// `log_file`.
    pub file: PathBuf,
    /// `log_level_logfile`.
    pub file_level: Option<LevelName>,
    /// `log_fmt_console`, `log_datefmt_console` or `log_datefmt`.
    pub console: LineForm,
    /// `log_fmt_logfile`, `log_datefmt_logfile`.
    pub lines: LineForm,
    /// `log_rotate_max_bytes` and `log_rotate_backup_count`, where both are set.
    pub rotation: Option<(u64, u64)>,
    /// `log_granular_levels`.
    pub granular: BTreeMap<String, LevelName>,
}

/// The form of lines; what is missing is Salt's.
#[derive(Clone, Debug, Default)]
pub struct LineForm {
    /// The line.
    pub format: Option<String>,
    /// The time in it.
    pub date: Option<String>,
}

/// Both sides have the same options.
macro_rules! logging_of {
    ($config:ty) => {
        impl $config {
            /// What the options say about logs.
            pub fn logging(&self) -> Logging {
                let rotation = (self.log_rotate_max_bytes, self.log_rotate_backup_count);
                let date = self.log_datefmt_console.as_ref();
                Logging {
                    level: self.log_level.clone(),
                    file: self.log_file.clone(),
                    file_level: self.log_level_logfile.clone(),
                    console: LineForm {
                        format: self.log_fmt_console.clone(),
                        date: date.or(self.log_datefmt.as_ref()).cloned(),
                    },
                    lines: LineForm {
                        format: self.log_fmt_logfile.clone(),
                        date: self.log_datefmt_logfile.clone(),
                    },
                    rotation: Some(rotation).filter(|(bytes, files)| *bytes > 0 && *files > 0),
                    granular: self.log_granular_levels.clone(),
                }
            }
        }
    };
}

logging_of!(MasterConfig);
logging_of!(MinionConfig);
