//! The paths that a program imports.

/// Whether what comes before a `use` makes it public to anybody.
pub(super) fn is_public(before: &str) -> bool {
    let before = before.trim_end();
    before.ends_with("pub")
        || before.rsplit_once("pub(").is_some_and(|(_, inside)| {
            inside.ends_with(')') && !inside[..inside.len() - 1].contains(')')
        })
}

/// The paths that begin with `crate` or `super`, with where they stand.
pub(super) fn imports(program: &str) -> Vec<(usize, Vec<String>)> {
    let mut found = Vec::new();
    for word in ["crate::", "super::"] {
        for (at, _) in program.match_indices(word) {
            // `super::super::x` is read from its first word.
            let before = program[..at].trim_end();
            let is_inner = program[..at].ends_with(is_word) || before.ends_with("::");
            if is_inner {
                continue;
            }
            let paths = Reader::new(&program[at..]).tree();
            found.extend(paths.into_iter().map(|(path, _)| (at, path)));
        }
    }
    found
}

fn is_word(char: char) -> bool {
    char.is_alphanumeric() || char == '_'
}

/// Reads the paths of a `use`, braces included.
pub(super) struct Reader<'t> {
    rest: &'t str,
}

impl<'t> Reader<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self { rest: text }
    }

    /// The paths, each with the name that it has here.
    pub(super) fn tree(&mut self) -> Vec<(Vec<String>, String)> {
        let mut path = Vec::new();
        loop {
            let word = self.word();
            if word.is_empty() {
                break;
            }
            path.push(word);
            if !self.take("::") {
                break;
            }
            if self.take("{") {
                return self.branches(&path);
            }
        }
        let mut name = path.last().cloned().unwrap_or_default();
        if self.take("as ") {
            name = self.word();
        }
        if path.last().is_some_and(|last| last == "self") {
            path.pop();
            name = path.last().cloned().unwrap_or_default();
        }
        vec![(path, name)]
    }

    fn branches(&mut self, path: &[String]) -> Vec<(Vec<String>, String)> {
        let mut found = Vec::new();
        while !self.take("}") {
            let before = self.rest.len();
            for (inner, name) in self.tree() {
                let mut whole = path.to_vec();
                let name = match inner.is_empty() {
                    true => path.last().cloned().unwrap_or_default(),
                    false => name,
                };
                whole.extend(inner);
                found.push((whole, name));
            }
            let _ = self.take("*");
            let _ = self.take(",");
            if self.rest.len() == before {
                break;
            }
        }
        found
    }

    fn word(&mut self) -> String {
        self.rest = self.rest.trim_start();
        let end = self.rest.find(|char| !is_word(char));
        let (word, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest;
        word.to_owned()
    }

    fn take(&mut self, what: &str) -> bool {
        let rest = self.rest.trim_start().strip_prefix(what);
        if let Some(rest) = rest {
            self.rest = rest;
        }
        rest.is_some()
    }
}
