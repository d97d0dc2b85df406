//! Files that a minion holds: it asks in one request whether the master still has
//! the same ones.

use crate::commits::Commits;
use crate::fields::{Fields, MessageError, Put};
use crate::{Map, SaltEnv, Value};

/// A file that a minion holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldFile {
    /// The path within the environment; not checked.
    pub path: String,
    /// The environment.
    pub saltenv: SaltEnv,
    /// The type of its hash.
    pub hash_type: String,
    /// Its hash, in hexadecimal digits.
    pub hsum: String,
}

/// The files of one request.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HeldFiles {
    /// The files; what is no file keeps its place.
    pub files: Vec<Option<HeldFile>>,
    /// The commits that the run began with, which the files are compared with.
    pub commits: Commits,
}

/// Files in one request at most; what is beyond is not looked at.
pub const HELD_FILES_MAX: usize = 1024;

impl HeldFiles {
    pub(super) fn take(fields: &mut Fields) -> Result<Self, MessageError> {
        Ok(Self {
            files: take(fields)?,
            commits: Commits::take(fields),
        })
    }

    pub(super) fn put(&self, map: &mut Map) {
        map.put("files", to_value(&self.files));
        self.commits.put(map);
    }
}

/// The list as it travels.
fn to_value(files: &[Option<HeldFile>]) -> Value {
    let file = |file: &Option<HeldFile>| {
        let Some(file) = file else { return Value::Nil };
        let mut map = Map::with_capacity(4);
        map.put("path", file.path.as_str());
        map.put("saltenv", &file.saltenv);
        map.put("hash_type", file.hash_type.as_str());
        map.put("hsum", file.hsum.as_str());
        Value::Map(map)
    };
    Value::List(files.iter().map(file).collect())
}

/// Reads the list; what is no such file has no place in the answer but `None`.
fn take(fields: &mut Fields) -> Result<Vec<Option<HeldFile>>, MessageError> {
    let files = fields.list("files")?.unwrap_or_default();
    let file = |file: &Value| {
        let text = |field| file.get(field).and_then(Value::as_str);
        Some(HeldFile {
            path: text("path")?.to_owned(),
            saltenv: SaltEnv::parse(text("saltenv")?).ok()?,
            hash_type: text("hash_type")?.to_owned(),
            hsum: text("hsum")?.to_owned(),
        })
    };
    Ok(files.iter().take(HELD_FILES_MAX).map(file).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MinionId;
    use crate::request::MinionRequest;

    #[test]
    fn a_list_comes_back_as_it_was_and_what_is_odd_in_it_keeps_its_place() {
        let file = HeldFile {
            path: "web/init.sls".to_owned(),
            saltenv: SaltEnv::parse("base").unwrap(),
            hash_type: "sha256".to_owned(),
            hsum: "00".to_owned(),
        };
        let id = MinionId::parse("web1").unwrap();
        let request = MinionRequest::HeldFiles(HeldFiles {
            files: vec![Some(file.clone())],
            commits: Commits::default(),
        });
        let mut map = request.to_map(&id);
        map.remove("id");
        assert_eq!(MinionRequest::from_map(map.clone()), Ok(request));
        let mut odd = to_value(&[Some(file.clone()), Some(file)]);
        if let Value::List(files) = &mut odd {
            files[0] = 7.into();
        }
        map.insert("files", odd);
        let read = MinionRequest::from_map(map.clone());
        assert!(
            matches!(read, Ok(MinionRequest::HeldFiles(HeldFiles { files, .. }))
            if files.len() == 2 && files[0].is_none() && files[1].is_some())
        );
        map.insert("files", Value::List(vec![Value::Nil; HELD_FILES_MAX + 1]));
        let read = MinionRequest::from_map(map);
        assert!(
            matches!(read, Ok(MinionRequest::HeldFiles(HeldFiles { files, .. })) if files.len() == HELD_FILES_MAX)
        );
    }
}
