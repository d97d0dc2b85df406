//! Files of `KEY=value` lines.

use crate::files::Root;

/// A read file of `KEY=value` lines.
#[derive(Debug, Default)]
pub(super) struct Settings(pub(super) Vec<(String, String)>);

impl Settings {
    pub(super) fn get(&self, key: &str) -> Option<&str> {
        let found = self.0.iter().rev().find(|(known, _)| known == key);
        found.map(|(_, value)| value.as_str())
    }

    /// `/etc/os-release`, or its default elsewhere.
    pub(super) fn os_release(root: &Root) -> Option<Self> {
        let file = ["/etc/os-release", "/usr/lib/os-release"]
            .iter()
            .find_map(|path| root.text(path))?;
        let mut settings = Self(
            [("NAME", "Linux"), ("ID", "linux"), ("PRETTY_NAME", "Linux")]
                .map(|(key, value)| (key.to_owned(), value.to_owned()))
                .to_vec(),
        );
        for line in file
            .lines()
            .map(str::trim)
            .filter(|line| !line.starts_with('#'))
        {
            if let Some((key, value)) = line.split_once('=') {
                settings.0.push((key.to_owned(), unquote(value)));
            }
        }
        Some(settings)
    }

    /// The four settings of `/etc/lsb-release`, as grains call them.
    pub(super) fn lsb_release(root: &Root) -> Self {
        let file = root.text("/etc/lsb-release").unwrap_or_default();
        let good = |c: &char| c.is_alphanumeric() || c.is_whitespace() || "._-".contains(*c);
        let settings = file.lines().filter_map(|line| {
            let (key, value) = line.split_once('=')?;
            let name = key.strip_prefix("DISTRIB_")?;
            if !["ID", "RELEASE", "CODENAME", "DESCRIPTION"].contains(&name) {
                return None;
            }
            let value = value.strip_prefix(['"', '\'']).unwrap_or(value);
            let value: String = value.chars().take_while(good).collect();
            let key = format!("lsb_distrib_{}", name.to_lowercase());
            (!value.is_empty()).then(|| (key, value.trim_end().to_owned()))
        });
        Self(settings.collect())
    }
}

fn unquote(value: &str) -> String {
    let inner = ['"', '\'']
        .iter()
        .find_map(|quote| value.strip_prefix(*quote)?.strip_suffix(*quote));
    let Some(inner) = inner else {
        return value.to_owned();
    };
    let mut text = String::new();
    let mut chars = inner.chars();
    while let Some(char) = chars.next() {
        text.push(match char {
            '\\' => chars.next().unwrap_or('\\'),
            other => other,
        });
    }
    text
}
