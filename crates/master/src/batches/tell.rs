//! The events about a job in batches, under `salt/batch/<jid>`.

use std::time::Duration;

use halite_proto::Value;

use super::{Batches, Course, Job, count};

/// Why a job ended before its time, in Salt's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Halt {
    /// A minion has failed, and that ends it.
    Failhard,
    /// It was stopped.
    Stop,
    /// It cannot continue.
    Error,
}

impl Halt {
    /// The word for it.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Failhard => "failhard",
            Self::Stop => "stop",
            Self::Error => "error",
        }
    }
}

impl Job {
    /// It begins.
    pub(super) fn tell_new(&self, batches: &Batches) {
        let course = self.course().clone();
        let data = [
            ("total_minions", count(course.total).into()),
            ("batch_size", count(course.batch_size).into()),
            ("driver", "master".into()),
            ("created", self.created_s.into()),
        ];
        self.tell(batches, "new", data);
    }

    /// It goes on.
    pub(super) fn tell_progress(&self, batches: &Batches) {
        let course = self.course().clone();
        let data = [
            ("total", count(course.total).into()),
            ("completed", count(course.completed).into()),
            ("active", count(course.active).into()),
            ("pending", count(course.pending).into()),
            ("failed", count(course.failed).into()),
            ("iter", Value::Nil),
            ("last_progress", course.last_progress_s.into()),
        ];
        self.tell(batches, "progress", data);
    }

    /// All have had it.
    pub(super) fn tell_complete(&self, batches: &Batches, took: Duration) {
        let Course {
            total,
            completed,
            failed,
            ..
        } = self.course().clone();
        let data = [
            ("total_minions", count(total).into()),
            ("completed", count(completed).into()),
            ("failed", count(failed).into()),
            ("duration", took.as_secs_f64().into()),
        ];
        self.tell(batches, "complete", data);
    }

    /// It has ended before its time.
    pub(super) fn tell_halted(
        &self,
        batches: &Batches,
        halt: Halt,
        active: Vec<String>,
        left: Vec<String>,
        took: Duration,
    ) {
        let Course {
            completed, failed, ..
        } = self.course().clone();
        let list = |ids: Vec<String>| Value::List(ids.into_iter().map(Value::from).collect());
        let data = [
            ("reason", halt.word().into()),
            ("completed", count(completed).into()),
            ("failed", count(failed).into()),
            ("abandoned_active", list(active)),
            ("abandoned_pending", list(left)),
            ("duration", took.as_secs_f64().into()),
        ];
        self.tell(batches, "halted", data);
    }

    fn tell<const N: usize>(&self, batches: &Batches, what: &str, data: [(&str, Value); N]) {
        let mut told = self.about();
        told.insert("user", self.user());
        told.extend(data.map(|(name, value)| (Value::from(name), value)));
        let jid = &self.jid;
        batches.bus.fire(&format!("salt/batch/{jid}/{what}"), told);
    }
}
