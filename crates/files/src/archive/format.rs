//! Kinds of archives, by name.

/// A kind of archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// Tar, however compressed.
    Tar,
    /// Rar.
    Rar,
    /// Zip.
    Zip,
}

impl Format {
    /// The kind of this name.
    pub(super) fn parse(name: &str) -> Option<Self> {
        match name {
            "tar" => Some(Self::Tar),
            "rar" => Some(Self::Rar),
            "zip" => Some(Self::Zip),
            _ => None,
        }
    }

    /// The kind that a file's name speaks of.
    pub(super) fn guess(name: &str) -> Option<Self> {
        let name = name.to_lowercase();
        let name = name.split('?').next().unwrap_or(&name);
        let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
        match extension {
            "zip" => Some(Self::Zip),
            "rar" => Some(Self::Rar),
            "tar" | "tgz" | "tbz" | "tbz2" | "txz" | "tzst" | "tlz" => Some(Self::Tar),
            _ => {
                let stem = name.rsplit_once('.').map_or("", |(stem, _)| stem);
                stem.ends_with(".tar").then_some(Self::Tar)
            }
        }
    }

    /// Its name.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Tar => "tar",
            Self::Rar => "rar",
            Self::Zip => "zip",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_speak_of_kinds() {
        for (name, want) in [
            ("a.tar", Some(Format::Tar)),
            ("a.TGZ", Some(Format::Tar)),
            ("salt://x/a.tar.xz?saltenv=dev", Some(Format::Tar)),
            ("a.zip", Some(Format::Zip)),
            ("a.rar", Some(Format::Rar)),
            ("a.gz", None),
            ("noext", None),
        ] {
            assert_eq!(Format::guess(name), want, "{name}");
        }
    }
}
