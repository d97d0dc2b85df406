//! One table per program: each option's name, type and default, once.

/// Makes a configuration struct from a table of options. Each option is a
/// field of the same name; the table is the list of what is honoured.
macro_rules! options {
    (
        $(#[$doc:meta])*
        $name:ident {
            $($(#[$option_doc:meta])* $option:ident: $type:ty = $default:expr,)*
        }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Debug)]
        pub struct $name {
            $($(#[$option_doc])* pub $option: $type,)*
            /// The configuration file.
            pub conf_file: std::path::PathBuf,
            pub(crate) raw: crate::raw::Raw,
        }

        impl $name {
            /// The options that are honoured.
            pub const HONOURED: &'static [&'static str] = &[$(stringify!($option),)*];

            pub(crate) fn read(
                conf_file: std::path::PathBuf,
                raw: crate::raw::Raw,
            ) -> Result<Self, crate::ConfigError> {
                Ok(Self {
                    $($option: match raw.setting::<$type>(stringify!($option))? {
                        Some(value) => value,
                        None => $default,
                    },)*
                    conf_file,
                    raw,
                })
            }

            /// All options with their values: those of the files, and Salt's
            /// defaults for the rest. What `config.get` and `__opts__` show.
            pub fn opts(&self) -> &halite_proto::Map {
                self.raw.opts()
            }

            /// The directory of the configuration file.
            pub fn config_dir(&self) -> &std::path::Path {
                self.conf_file.parent().unwrap_or_else(|| std::path::Path::new("/"))
            }
        }
    };
}

pub(crate) use options;
