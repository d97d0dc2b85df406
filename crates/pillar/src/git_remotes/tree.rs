//! The files of a commit, for the compiler.

use std::fmt;

use halite_git::{GitError, Tree};
use halite_proto::chain;

use crate::repository::FileTree;

/// The root directory of a remote at one commit.
pub(super) struct GitTree {
    pub(super) name: String,
    pub(super) tree: Tree,
}

impl fmt::Debug for GitTree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("GitTree").field(&self.name).finish()
    }
}

impl FileTree for GitTree {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn has_file(&self, path: &str) -> Result<bool, String> {
        let found = self.tree.find(path);
        let found = found.map_err(|error| format!("{}/{path}: {}", self.name, chain(&error)));
        Ok(found?.is_some())
    }

    fn read(&self, path: &str, bytes_max: u64) -> Result<Vec<u8>, String> {
        let failed = |why: &dyn fmt::Display| format!("{}/{path}: {why}", self.name);
        let told = |error: GitError| failed(&chain(&error));
        let found = self.tree.find(path).map_err(told)?;
        let file = found.ok_or_else(|| failed(&"there is no such file"))?;
        if self.tree.size(&file).map_err(told)? > bytes_max {
            return Err(failed(&format_args!("larger than {bytes_max} bytes")));
        }
        let content = self.tree.content(&file).map_err(told)?;
        let bytes = usize::try_from(bytes_max).unwrap_or(usize::MAX);
        content.read_at(0, bytes).map_err(|error| failed(&error))
    }

    fn files(&self, max: usize) -> Vec<String> {
        let mut files = Vec::new();
        let walked = self.tree.walk(&mut |path, entry| {
            let is_file = match entry {
                halite_git::Entry::File(_) => true,
                // Who asks for it learns why it cannot be read.
                halite_git::Entry::Link(_) => self.has_file(path).unwrap_or(true),
                halite_git::Entry::Directory => false,
            };
            if is_file && files.len() < max {
                files.push(path.to_owned());
            }
        });
        if let Err(error) = walked {
            tracing::error!(tree = self.name, "git_pillar: {}", chain(&error));
        }
        files
    }
}
