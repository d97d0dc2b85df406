//! The steps after a result: the event for the master, and the results of states
//! within the state (`sub_state_run`).

use halite_proto::{Map, Value};

use super::effect::Effect;
use super::machine::Machine;
use super::record;
use crate::chunk::Chunk;

impl Machine {
    /// After a result: the event, and the results of states within the state.
    pub(super) async fn after_result(&mut self, chunk: &Chunk, tag: &str) {
        let Some(record) = self.results.get_mut(tag) else {
            return;
        };
        let inner = record.remove("sub_state_run");
        if let Some(record) = self.results.get(tag) {
            self.fire(chunk, record).await;
        }
        for inner in inner.as_ref().and_then(Value::as_list).unwrap_or_default() {
            self.inner_result(chunk, inner);
        }
    }

    fn inner_result(&mut self, outer: &Chunk, inner: &Value) {
        let Some(low) = inner.get("low").and_then(Value::as_map) else {
            return;
        };
        let chunk = Chunk::new(low.clone());
        let own = |key: &str| inner.get(key).cloned();
        self.number += 1;
        let mut record = Map::from([
            ("name", chunk.name().clone()),
            ("changes", own("changes").unwrap_or_default()),
            ("result", own("result").unwrap_or_default()),
            ("duration", own("duration").unwrap_or_else(|| 0.0.into())),
            (
                "start_time",
                own("start_time").unwrap_or_else(|| self.port.now().time_of_day().into()),
            ),
            ("comment", own("comment").unwrap_or_else(|| "".into())),
            ("__state_ran__", true.into()),
            ("__run_num__", record::count(self.number)),
        ]);
        record::identify(&mut record, outer);
        self.results.insert(chunk.tag(), record);
    }

    async fn fire(&self, chunk: &Chunk, record: &Map) {
        let wanted = chunk.get("fire_event").filter(|value| value.is_true());
        let Some(jid) = &self.options.jid else {
            return;
        };
        if !self.options.has_master || !(self.options.events || wanted.is_some()) {
            return;
        }
        let minion = &self.options.minion;
        let text = |key| record.get(key).map(halite_proto::python::str);
        let mut data = Map::from([("ret", record.clone())]);
        let tag = match wanted {
            Some(Value::Str(word)) => format!("salt/state_result/{jid}/{minion}/{word}"),
            Some(_) => {
                let name = text("name").unwrap_or_default();
                format!("salt/state_result/{jid}/{minion}/{name}")
            }
            None => {
                data.insert("len", self.length);
                let number = text("__run_num__").unwrap_or_default();
                format!("salt/job/{jid}/prog/{minion}/{number}")
            }
        };
        self.port.tell(Effect::Fire { tag, data }).await;
    }
}
