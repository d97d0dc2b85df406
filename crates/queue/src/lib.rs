//! Named queues of texts, each in an sqlite file of its own.
//!
//! Mirrors `salt/queues/sqlite_queue.py` of 3006: `<dir>/<queue>.db` with one
//! table that is named like the queue, so that the files of either serve the
//! other. Invariant: a path and a statement are built only from a checked name,
//! and a text is only ever bound to a statement, never a part of one.

mod error;
mod limits;
mod name;

use std::fs;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior, params};

pub use error::QueueError;
pub use limits::{BUSY_TIME_MAX, ITEM_BYTES_MAX, NAME_BYTES_MAX, QUEUE_BYTES_MAX};
pub use name::QueueName;

/// How files are named.
const SUFFIX: &str = ".db";

/// Items may be secrets of jobs to come.
const MODE: u32 = 0o600;

/// All queues of one directory.
#[derive(Clone, Debug)]
pub struct Queues {
    dir: PathBuf,
}

/// What came of putting items in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Inserted {
    /// All of them are in.
    All,
    /// One was in already; those before it are in now, those after it are not.
    Known {
        /// What sqlite says about it.
        why: String,
    },
}

impl Queues {
    /// The queues in `dir`, which need not be there yet.
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into() }
    }

    /// The names of the queues, sorted.
    ///
    /// # Errors
    /// When the directory cannot be read.
    pub fn names(&self) -> Result<Vec<QueueName>, QueueError> {
        let listed = match fs::read_dir(&self.dir) {
            Ok(listed) => listed,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(source) => return Err(self.unusable(&self.dir, source)),
        };
        let names = listed.flatten().filter_map(|entry| {
            let name = entry.file_name();
            QueueName::parse(name.to_str()?.strip_suffix(SUFFIX)?).ok()
        });
        let mut names: Vec<QueueName> = names.collect();
        names.sort_unstable();
        Ok(names)
    }

    /// What is in a queue, the oldest first; nothing if there is no such queue.
    ///
    /// # Errors
    /// When its file cannot be read.
    pub fn items(&self, queue: &QueueName) -> Result<Vec<String>, QueueError> {
        match self.open(queue, Opening::Existing)? {
            Some(connection) => first(&connection, queue, None),
            None => Ok(Vec::new()),
        }
    }

    /// How many items are in a queue.
    ///
    /// # Errors
    /// When its file cannot be read.
    pub fn length(&self, queue: &QueueName) -> Result<u64, QueueError> {
        let Some(connection) = self.open(queue, Opening::Existing)? else {
            return Ok(0);
        };
        let count = format!("SELECT count(*) FROM {}", queue.quoted());
        let count: i64 = connection
            .query_row(&count, [], |row| row.get(0))
            .map_err(|source| failed(queue, source))?;
        Ok(count.unsigned_abs())
    }

    /// Puts items at the end of a queue, in their order, until one is in it
    /// already.
    ///
    /// # Errors
    /// When its file cannot be written, or an item is too large.
    pub fn insert(&self, queue: &QueueName, items: &[String]) -> Result<Inserted, QueueError> {
        if let Some(large) = items.iter().find(|item| item.len() > ITEM_BYTES_MAX) {
            return Err(QueueError::TooLarge { bytes: large.len() });
        }
        let Some(mut connection) = self.open(queue, Opening::Create)? else {
            return Ok(Inserted::All);
        };
        let fails = |source| failed(queue, source);
        let transaction = connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(fails)?;
        let mut outcome = Inserted::All;
        {
            let insert = format!("INSERT INTO {}(name) VALUES(?1)", queue.quoted());
            let mut statement = transaction.prepare(&insert).map_err(fails)?;
            for item in items {
                match statement.execute(params![item]) {
                    Ok(_) => {}
                    Err(error)
                        if error.sqlite_error_code() == Some(ErrorCode::ConstraintViolation) =>
                    {
                        let why = format!("UNIQUE constraint failed: {queue}.name");
                        outcome = Inserted::Known { why };
                        break;
                    }
                    Err(error) => return Err(fails(error)),
                }
            }
        }
        transaction.commit().map_err(fails)?;
        Ok(outcome)
    }

    /// Takes items out, wherever they are in the queue; those that are not in
    /// it do not matter.
    ///
    /// # Errors
    /// When its file cannot be written.
    pub fn delete(&self, queue: &QueueName, items: &[String]) -> Result<(), QueueError> {
        let Some(mut connection) = self.open(queue, Opening::Existing)? else {
            return Ok(());
        };
        let fails = |source| failed(queue, source);
        let transaction = connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(fails)?;
        for item in items {
            let delete = format!("DELETE FROM {} WHERE name = ?1", queue.quoted());
            transaction.execute(&delete, params![item]).map_err(fails)?;
        }
        transaction.commit().map_err(fails)
    }

    /// Takes the oldest items out, `None` for all of them. Two that do so at
    /// once never get the same item.
    ///
    /// # Errors
    /// When its file cannot be written.
    pub fn pop(&self, queue: &QueueName, quantity: Option<u64>) -> Result<Vec<String>, QueueError> {
        let Some(mut connection) = self.open(queue, Opening::Existing)? else {
            return Ok(Vec::new());
        };
        let fails = |source| failed(queue, source);
        let transaction = connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(fails)?;
        let items = first(&transaction, queue, quantity)?;
        {
            let delete = format!("DELETE FROM {} WHERE name = ?1", queue.quoted());
            let mut statement = transaction.prepare(&delete).map_err(fails)?;
            for item in &items {
                statement.execute(params![item]).map_err(fails)?;
            }
        }
        transaction.commit().map_err(fails)?;
        Ok(items)
    }

    /// The file of a queue with its table; `None` where there is none and none
    /// is to be made.
    fn open(&self, queue: &QueueName, how: Opening) -> Result<Option<Connection>, QueueError> {
        let path = self.dir.join(format!("{queue}{SUFFIX}"));
        match how {
            Opening::Existing if !path.exists() => return Ok(None),
            Opening::Existing => {}
            Opening::Create => {
                fs::create_dir_all(&self.dir).map_err(|error| self.unusable(&self.dir, error))?;
                // sqlite would make it readable for everybody.
                let made = fs::OpenOptions::new()
                    .append(true)
                    .create(true)
                    .mode(MODE)
                    .open(&path);
                made.map_err(|error| self.unusable(&path, error))?;
            }
        }
        let fails = |source| failed(queue, source);
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(&path, flags).map_err(fails)?;
        connection.busy_timeout(BUSY_TIME_MAX).map_err(fails)?;
        let page_bytes: u64 = connection
            .query_row("PRAGMA page_size", [], |row| row.get::<_, i64>(0))
            .map_err(fails)?
            .unsigned_abs();
        let pages = QUEUE_BYTES_MAX / page_bytes.max(1);
        connection
            .query_row(&format!("PRAGMA max_page_count = {pages}"), [], |_| Ok(()))
            .map_err(fails)?;
        // Salt leaves an empty file behind where a name has gone wrong.
        let table = format!(
            "CREATE TABLE IF NOT EXISTS {}(id INTEGER PRIMARY KEY, name TEXT UNIQUE)",
            queue.quoted()
        );
        connection.execute(&table, []).map_err(fails)?;
        Ok(Some(connection))
    }

    fn unusable(&self, path: &Path, source: io::Error) -> QueueError {
        QueueError::Directory {
            path: path.to_owned(),
            source,
        }
    }
}

/// Whether a file may be made.
#[derive(Clone, Copy, Debug)]
enum Opening {
    Existing,
    Create,
}

fn failed(queue: &QueueName, source: rusqlite::Error) -> QueueError {
    QueueError::Sqlite {
        queue: queue.to_string(),
        source,
    }
}

/// The oldest items.
fn first(
    connection: &Connection,
    queue: &QueueName,
    quantity: Option<u64>,
) -> Result<Vec<String>, QueueError> {
    let fails = |source| failed(queue, source);
    let select = format!("SELECT name FROM {} ORDER BY id LIMIT ?1", queue.quoted());
    // A negative limit is none.
    let limit = quantity.map_or(-1, |quantity| i64::try_from(quantity).unwrap_or(i64::MAX));
    let mut statement = connection.prepare(&select).map_err(fails)?;
    let rows = statement
        .query_map([limit], |row| row.get::<_, String>(0))
        .map_err(fails)?;
    rows.collect::<Result<_, _>>().map_err(fails)
}

#[cfg(test)]
mod tests;
