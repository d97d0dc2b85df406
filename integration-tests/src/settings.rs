//! Settings of a daemon, written as the YAML file an administrator would keep.

use std::fmt::Write as _;

use serde_json::Value;

/// Options by name, in the order they were first set.
#[derive(Clone, Debug, Default)]
pub struct Settings(Vec<(String, Value)>);

impl Settings {
    /// Sets an option, in the place of its earlier value if it had one.
    pub fn set(&mut self, name: &str, value: impl Into<Value>) {
        let value = value.into();
        match self.0.iter_mut().find(|(known, _)| known == name) {
            Some((_, old)) => *old = value,
            None => self.0.push((name.to_owned(), value)),
        }
    }

    /// The options in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// One line per option; structures in YAML's flow style, which JSON is.
    pub fn to_yaml(&self) -> String {
        let mut text = String::new();
        for (name, value) in &self.0 {
            // Writing to a String cannot fail.
            writeln!(text, "{name}: {value}").ok();
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Settings;

    #[test]
    fn the_last_value_of_an_option_stands_in_the_first_place() {
        let mut settings = Settings::default();
        settings.set("timeout", 5);
        settings.set("master", json!(["127.0.0.1", "127.0.0.2"]));
        settings.set("timeout", 1);
        assert_eq!(
            settings.to_yaml(),
            "timeout: 1\nmaster: [\"127.0.0.1\",\"127.0.0.2\"]\n"
        );
    }
}
