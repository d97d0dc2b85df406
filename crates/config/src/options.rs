//! One table per program: each option's name, type and default, once.

/// Makes a configuration struct from a table of options. Each option is a
/// field of the same name; the table is the list of what is honoured.
macro_rules! options {
    (
        $(#[$doc:meta])*
        $name:ident {
            $($(#[doc = $option_doc:literal])* $option:ident: $type:ty = $default:expr,)*
        }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Debug)]
        pub struct $name {
            $($(#[doc = $option_doc])* pub $option: $type,)*
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
                faults: &mut crate::error::Faults,
            ) -> Self {
                Self {
                    $($option: match faults.check(raw.setting::<$type>(stringify!($option))) {
                        Some(Some(value)) => value,
                        _ => $default,
                    },)*
                    conf_file,
                    raw,
                }
            }

            /// All options with their values: those of the files, and Salt's
            /// defaults for the rest. What `config.get` and `__opts__` show.
            pub fn opts(&self) -> &halite_proto::Map {
                use crate::setting::Setting;
                self.raw.opts(&[
                    $((stringify!($option), &|| self.$option.to_value()),)*
                ])
            }

            /// Where an option stands in the files, if one has it.
            pub fn place_of(&self, option: &str) -> Option<halite_yaml::place::SourceLocation> {
                self.raw.place_of(option)
            }

            /// The error about the option `inner` of one item of the list
            /// `option`, which code outside this crate has found.
            pub fn unusable(
                &self,
                option: &str,
                item: Option<usize>,
                inner: &str,
                why: String,
            ) -> crate::error::ConfigError {
                self.raw.unusable(option, item, inner, why)
            }

            /// What the table says, for the sample files and their tests.
            #[cfg(test)]
            pub(crate) fn table() -> Vec<crate::options::Row> {
                use crate::setting::Setting;
                vec![$(crate::options::Row {
                    name: stringify!($option),
                    doc: concat!($($option_doc, "\n",)*),
                    default: {
                        let default: $type = $default;
                        default.to_value()
                    },
                },)*]
            }

            /// The directory of the configuration file.
            pub fn config_dir(&self) -> &std::path::Path {
                self.conf_file.parent().unwrap_or_else(|| std::path::Path::new("/"))
            }
        }
    };
}

pub(crate) use options;

/// An option of the table.
#[cfg(test)]
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) doc: &'static str,
    pub(crate) default: halite_proto::Value,
}
