//! YAML that is read on another thread before its turn comes.
//!
//! Texts without a tag of a template are read as they lie on disk. Whoever
//! comes to such a text takes what was read of it, or reads it itself if nobody
//! has begun to. The thread starts with the last of them, so that both meet.
//!
//! Invariant: a result is only given for the very text that it was read from,
//! so that nothing but time depends on any of this.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use halite_yaml::{Data, YamlError};

use crate::limits::{AHEAD_BYTES_MAX, AHEAD_BYTES_MIN};

/// What YAML gives.
type Read = Result<Data, YamlError>;

/// Texts to read, and those that have been.
#[derive(Default)]
pub(crate) struct Ahead {
    desk: Arc<Desk>,
}

#[derive(Default)]
struct Desk {
    texts: Mutex<Vec<Text>>,
    /// A text has been read.
    read: Condvar,
}

/// A text to read.
struct Text {
    /// What errors call it.
    name: String,
    bytes: Arc<[u8]>,
    state: State,
}

#[derive(Default)]
enum State {
    #[default]
    Waiting,
    BeingRead,
    Done(Box<Read>),
}

impl Ahead {
    /// Begins to read these texts, each with its name, if that is worth a
    /// thread.
    pub(crate) fn begin(&self, texts: Vec<(String, Arc<[u8]>)>) {
        let plain = texts.into_iter().filter(|(_, bytes)| is_plain(bytes));
        let mut size = 0_usize;
        let texts: Vec<Text> = plain
            .take_while(|(_, bytes)| {
                size = size.saturating_add(bytes.len());
                size <= AHEAD_BYTES_MAX
            })
            .map(|(name, bytes)| Text {
                name,
                bytes,
                state: State::Waiting,
            })
            .collect();
        let is_alone = thread::available_parallelism().is_ok_and(|threads| threads.get() < 2);
        if texts.len() < 2 || size < AHEAD_BYTES_MIN || is_alone {
            return;
        }
        let mut waiting = self.desk.lock();
        let is_running = waiting
            .iter()
            .any(|text| matches!(text.state, State::Waiting | State::BeingRead));
        waiting.extend(texts);
        if !is_running {
            let desk = Arc::clone(&self.desk);
            let reader = thread::Builder::new().name("yaml".to_owned());
            // Without a thread, they wait for their turn.
            if let Err(error) = reader.spawn(move || desk.work()) {
                tracing::debug!("nothing is read ahead: {error}");
            }
        }
    }

    /// What was read of `text`. Nothing if it is to be read now.
    pub(crate) fn take(&self, name: &str, text: &str) -> Option<Read> {
        let mut texts = self.desk.lock();
        loop {
            let same = |own: &Text| own.name == name && *own.bytes == *text.as_bytes();
            let at = texts.iter().position(same)?;
            match texts.get(at)?.state {
                State::BeingRead => {
                    let read = self.desk.read.wait(texts);
                    texts = read.unwrap_or_else(PoisonError::into_inner);
                }
                State::Waiting => {
                    texts.remove(at);
                    return None;
                }
                State::Done(_) => match texts.remove(at).state {
                    State::Done(read) => return Some(*read),
                    _ => return None,
                },
            }
        }
    }
}

/// What nobody will ask for is not read any more.
impl Drop for Ahead {
    fn drop(&mut self) {
        self.desk.lock().clear();
    }
}

impl Desk {
    fn lock(&self) -> MutexGuard<'_, Vec<Text>> {
        self.texts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads until nothing waits.
    fn work(&self) {
        while let Some(mut reading) = self.next() {
            if let Ok(text) = std::str::from_utf8(&reading.bytes) {
                let read = halite_yaml::load_data(text, &reading.name);
                reading.read = Some(Box::new(read));
            }
        }
    }

    fn next(&self) -> Option<Reading<'_>> {
        let mut texts = self.lock();
        let waiting = |text: &&mut Text| matches!(text.state, State::Waiting);
        let text = texts.iter_mut().rev().find(waiting)?;
        text.state = State::BeingRead;
        Some(Reading {
            desk: self,
            name: text.name.clone(),
            bytes: Arc::clone(&text.bytes),
            read: None,
        })
    }
}

/// A text that is being read. However that ends, who waits for it goes on.
struct Reading<'d> {
    desk: &'d Desk,
    name: String,
    bytes: Arc<[u8]>,
    read: Option<Box<Read>>,
}

impl Drop for Reading<'_> {
    fn drop(&mut self) {
        let mut texts = self.desk.lock();
        let own = |text: &Text| Arc::ptr_eq(&text.bytes, &self.bytes) && text.name == self.name;
        if let Some(at) = texts.iter().position(own) {
            match (self.read.take(), texts.get_mut(at)) {
                (Some(read), Some(text)) => text.state = State::Done(read),
                _ => drop(texts.remove(at)),
            }
        }
        self.desk.read.notify_all();
    }
}

/// Whether the text is most likely YAML and nothing else.
fn is_plain(bytes: &[u8]) -> bool {
    let is_tag = |pair: &[u8]| matches!(pair, [b'{', b'{' | b'%' | b'#']);
    !bytes.starts_with(b"#!") && !bytes.windows(2).any(is_tag)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Enough of it that a thread is worth it.
    fn texts(count: usize) -> Vec<(String, Arc<[u8]>)> {
        let text = |number| format!("a{number}:\n{}", "  - b: [c, d]\n".repeat(2000));
        (0..count)
            .map(|number| (number.to_string(), text(number).into_bytes().into()))
            .collect()
    }

    #[test]
    fn each_text_is_read_once_by_one_or_the_other() {
        let ahead = Ahead::default();
        ahead.begin(texts(20));
        for (name, bytes) in texts(20) {
            let text = std::str::from_utf8(&bytes).unwrap();
            let itself = halite_yaml::load_data(text, &name);
            if let Some(read) = ahead.take(&name, text) {
                assert_eq!(read, itself);
            }
            assert!(ahead.take(&name, text).is_none(), "it is given once");
        }
        assert!(ahead.desk.lock().is_empty());
    }

    #[test]
    fn only_the_very_text_is_given() {
        let ahead = Ahead::default();
        ahead.begin(texts(2));
        assert!(ahead.take("0", "a0: other\n").is_none());
        assert!(ahead.take("1", "").is_none());
        assert_eq!(ahead.desk.lock().len(), 2);
    }

    #[test]
    fn templates_and_a_few_bytes_are_left_alone() {
        let ahead = Ahead::default();
        let tags = ["{{ a }}", "{% a %}", "{# a #}", "#!py"];
        let tags = tags.map(|tag| (tag.to_owned(), tag.repeat(20_000).into_bytes().into()));
        ahead.begin(tags.into());
        ahead.begin(vec![
            ("a".to_owned(), Arc::from(*b"a: 1")),
            ("b".to_owned(), Arc::from(*b"b: 1")),
        ]);
        ahead.begin(texts(1));
        assert!(ahead.desk.lock().is_empty());
    }
}
