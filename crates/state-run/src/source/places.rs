//! The places of the parts of SLS and top files, for people.
//!
//! Invariant: a part may be written in another form (`test` for `test.nop`, an
//! argument that another SLS has added); then the place is that of the nearest part
//! that exists.

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::path::Path;

use halite_proto::Value;
use halite_render::{Node, NodeKind, Rendered, SourceLocation, Span};
use halite_state::{About, Mistake};

/// The documents of one compile.
#[derive(Default)]
pub(super) struct Places {
    sls: RefCell<HashMap<(String, String), Document>>,
    tops: RefCell<Vec<Document>>,
}

/// A file and what it has rendered to; the data itself is elsewhere.
struct Document {
    name: String,
    rendered: Rendered,
    /// The places of its parts, read when the first mistake is looked for.
    root: OnceCell<Option<Node>>,
}

impl Places {
    /// Remembers an SLS.
    pub(super) fn keep_sls(&self, env: &str, sls: &str, path: &Path, rendered: Rendered) {
        if let Some(document) = Document::new(path, rendered) {
            let key = (env.to_owned(), sls.to_owned());
            self.sls.borrow_mut().insert(key, document);
        }
    }

    /// Remembers a top file.
    pub(super) fn keep_top(&self, path: &Path, rendered: Rendered) {
        self.tops.borrow_mut().extend(Document::new(path, rendered));
    }

    /// What the mistake is about, each part with its place and line; the
    /// mistake itself stands at the first.
    pub(super) fn report(&self, mistake: &Mistake) -> Option<String> {
        let mut lines: Vec<String> = mistake.report().map(str::to_owned).into_iter().collect();
        for part in mistake.parts() {
            let Some(place) = self.find(part) else {
                continue;
            };
            let words = match (lines.is_empty(), mistake.report()) {
                (true, _) => format!(": {}", mistake.text().lines().next().unwrap_or_default()),
                (false, Some(_)) => ": included here".to_owned(),
                (false, None) => String::new(),
            };
            let mut line = format!("{place}{words}");
            let excerpt = place.excerpt();
            if !excerpt.is_empty() {
                line.push('\n');
                line.push_str(&excerpt);
            }
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
        (!lines.is_empty()).then(|| lines.join("\n"))
    }

    fn find(&self, about: &About) -> Option<SourceLocation> {
        match &about.sls {
            Some(sls) => {
                let key = (about.env.clone(), sls.clone());
                let documents = self.sls.borrow();
                let document = documents.get(&key)?;
                document.place(document.search(&about.path)?.1)
            }
            None => {
                let tops = self.tops.borrow();
                let found = tops
                    .iter()
                    .filter_map(|document| Some((document, document.search(&about.path)?)));
                let (document, (_, span)) = found.max_by_key(|(_, (depth, _))| *depth)?;
                document.place(span)
            }
        }
    }
}

impl Document {
    fn new(path: &Path, rendered: Rendered) -> Option<Self> {
        rendered.text.is_some().then(|| Self {
            name: path.display().to_string(),
            rendered,
            root: OnceCell::new(),
        })
    }

    fn place(&self, span: Span) -> Option<SourceLocation> {
        let written = self.rendered.template_place(span);
        written.or_else(|| {
            let text = self.rendered.text.as_ref()?;
            Some(SourceLocation::new(&self.name, text, span))
        })
    }

    /// How many steps of the path are there, and where they end.
    fn search(&self, path: &[Value]) -> Option<(usize, Span)> {
        let root = self.root.get_or_init(|| self.rendered.node()).as_ref()?;
        let (mut node, mut span) = (root, root.span);
        for (depth, step) in path.iter().enumerate() {
            let Some((place, inner)) = enter(node, step) else {
                // What stands elsewhere than thought is found by its word.
                let word = path.last().and_then(|word| word_in(node, word));
                return Some((depth, word.unwrap_or(span)));
            };
            (node, span) = (inner, place);
        }
        Some((path.len(), span))
    }
}

/// The part of `node` that `step` names: a key, an entry of a list, or the
/// only key of such an entry.
fn enter<'n>(node: &'n Node, step: &Value) -> Option<(Span, &'n Node)> {
    match &node.value {
        NodeKind::Map(entries) => key_of(entries, step),
        NodeKind::List(items) => items.iter().find_map(|item| match &item.value {
            NodeKind::Map(entries) => key_of(entries, step),
            NodeKind::Scalar(value) => means(value, step).then_some((item.span, item)),
            NodeKind::List(_) => None,
        }),
        NodeKind::Scalar(value) => means(value, step).then_some((node.span, node)),
    }
}

fn key_of<'n>(entries: &'n [(Node, Node)], step: &Value) -> Option<(Span, &'n Node)> {
    let is = |key: &Node, test: fn(&Value, &Value) -> bool| match &key.value {
        NodeKind::Scalar(key) => test(key, step),
        _ => false,
    };
    let same = entries
        .iter()
        .find(|(key, _)| is(key, |key, step| key == step));
    let found = same.or_else(|| entries.iter().find(|(key, _)| is(key, means)));
    found.map(|(key, value)| (key.span, value))
}

/// Whether what is written means `step`: itself, or a function of the module
/// `step`.
fn means(written: &Value, step: &Value) -> bool {
    if written == step {
        return true;
    }
    match (written, step) {
        (Value::Str(written), Value::Str(step)) if !step.is_empty() => written
            .strip_prefix(step.as_str())
            .is_some_and(|rest| rest.starts_with('.')),
        _ => false,
    }
}

/// The first place in which a word stands alone.
fn word_in(node: &Node, word: &Value) -> Option<Span> {
    match &node.value {
        NodeKind::Scalar(value) => (value == word).then_some(node.span),
        NodeKind::List(items) => items.iter().find_map(|item| word_in(item, word)),
        NodeKind::Map(entries) => entries
            .iter()
            .find_map(|(key, value)| word_in(key, word).or_else(|| word_in(value, word))),
    }
}
