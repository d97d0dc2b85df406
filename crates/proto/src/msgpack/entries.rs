//! The entries of a map that is a part of several messages: packed once.

use super::encode::Packing;
use super::error::PackError;
use super::writer::Writer;
use crate::Map;

/// Packed entries of a map, without its head.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entries {
    count: usize,
    packing: Packing,
    packed: Vec<u8>,
}

impl Entries {
    /// The entries of a map, which are packed in the given way.
    ///
    /// # Errors
    /// When they are nested too deeply or hold something too long.
    pub fn of(map: &Map, packing: Packing) -> Result<Self, PackError> {
        let mut entries = Self {
            count: 0,
            packing,
            packed: Vec::new(),
        };
        entries.extend(map)?;
        Ok(entries)
    }

    /// Adds the entries of a map.
    ///
    /// # Errors
    /// When they are nested too deeply or hold something too long.
    pub fn extend(&mut self, map: &Map) -> Result<(), PackError> {
        let mut writer = self.writer();
        let wrote = map.iter().try_for_each(|(key, value)| {
            writer.inner_value(key)?;
            writer.inner_value(value)
        });
        self.packed = writer.into_bytes();
        self.count += map.len();
        wrote
    }

    /// Adds an entry whose value is packed already, in the same way.
    ///
    /// # Errors
    /// When the key is too long.
    pub fn push_packed(&mut self, key: &str, value: &[u8]) -> Result<(), PackError> {
        let mut writer = self.writer();
        let wrote = writer.str(key);
        writer.packed(value);
        self.packed = writer.into_bytes();
        self.count += 1;
        wrote
    }

    /// How many bytes they take.
    pub fn bytes(&self) -> usize {
        self.packed.len()
    }

    /// The packed keys and values.
    pub fn packed(&self) -> &[u8] {
        &self.packed
    }

    /// Writes a map of them, and of `more` entries, which the caller writes next.
    ///
    /// # Errors
    /// When there are more than the format can hold.
    pub fn begin_map(&self, writer: &mut Writer, more: usize) -> Result<(), PackError> {
        writer.begin_map(self.count + more)?;
        writer.packed(&self.packed);
        Ok(())
    }

    fn writer(&mut self) -> Writer {
        Writer::append_to(self.packing, std::mem::take(&mut self.packed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Value;
    use crate::msgpack::{pack_map, pack_modern};

    #[test]
    fn entries_are_those_of_the_map_that_they_are_written_into() {
        let inner = Value::List(vec![1.into(), "a".into()]);
        let mut all = Map::from([("fun", Value::from("x")), ("return", inner.clone())]);
        let mut entries = Entries::of(&Map::from([("fun", "x")]), Packing::Modern).unwrap();
        entries
            .push_packed("return", &pack_modern(&inner).unwrap())
            .unwrap();
        entries.extend(&Map::from([("success", true)])).unwrap();
        all.insert("success", true);
        all.insert("more", 7);
        let mut writer = Writer::with_capacity(Packing::Modern, 0);
        entries.begin_map(&mut writer, 1).unwrap();
        writer.str("more").unwrap();
        writer.int(7);
        assert_eq!(
            writer.into_bytes(),
            pack_map(&all, Packing::Modern).unwrap()
        );
    }
}
